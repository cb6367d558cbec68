# A frame's scope and its arguments, by a repr that runs no code of the program.
# A later part of the core (dispatch.py, need).


def scopes(session, arguments):
    code = find_frame(session, arguments)[1]
    return {"scopes": [{
        "name": "Locals", "presentationHint": "locals", "expensive": False,
        "variablesReference": 0, "source": source_of(code),
        "line": code.co_firstlineno, "endLine": last_line(code)}]}


def list_arguments(session, arguments):
    place = find_frame(session, arguments)
    code = place[1]
    names = code.co_varnames
    plain, keyword_only = code.co_argcount, code.co_kwonlyargcount
    end = plain + keyword_only
    order = list(names[:plain])
    if code.co_flags & 0x04:  # *args
        order.append(names[end])
    order += names[plain:end]
    if code.co_flags & 0x08:  # **kwargs
        order.append(names[end + (1 if code.co_flags & 0x04 else 0)])
    values = locals_of(place)
    variables = []
    for name in order:
        variable = {"name": name, "value": "*** undefined ***", "type": "",
                    "variablesReference": 0}
        if name in values:
            value = values[name]
            variable["value"] = safe_repr(value)
            variable["type"] = type_name(type(value))
            del value
        variables.append(variable)
    return {"variables": variables}


def last_line(code):
    """The last line of a code object and of the functions inside it (co_lines
    of PEP 626, before 3.10 Objects/lnotab_notes.txt)."""
    last = code.co_firstlineno
    codes = [code]
    while codes:
        code = codes.pop()
        codes += [const for const in code.co_consts if type(const) is type(code)]
        if hasattr(code, "co_lines"):
            last = max([last] + [line or 0 for _, _, line in code.co_lines()])
        else:
            line = code.co_firstlineno
            for step in code.co_lnotab[1::2]:
                line += step - 256 if step > 127 else step
                last = max(last, line)
    return last


def safe_repr(value, depth=2):
    """A bounded repr that runs no code of the program: exact builtin types are
    shown, all others as <module.Class object at 0x...>."""
    kind = type(value)
    if kind is int and value.bit_length() > 2000:
        return "<int of %d bits>" % value.bit_length()
    if id(kind) in _PLAIN:
        return repr(value)
    if kind is str or kind is bytes or kind is bytearray:
        return repr(value[:200]) + ("..." if len(value) > 200 else "")
    if id(kind) not in _BRACKETS:
        return "<%s.%s object at 0x%x>" % (
            type_module(kind), type_name(kind, True), id(value))
    if not value:
        return repr(value)
    opening, closing = _BRACKETS[id(kind)]
    shown = []
    try:
        for item in value.items() if kind is dict else value:
            if len(shown) == 20 or depth == 0:
                shown.append("...")
                break
            if kind is dict:
                shown.append("%s: %s" % (safe_repr(item[0], depth - 1),
                                         safe_repr(item[1], depth - 1)))
            else:
                shown.append(safe_repr(item, depth - 1))
    except RuntimeError:  # its thread changes it meanwhile
        shown.append("...")
    if kind is tuple and len(value) == 1:
        closing = ",)"
    return opening + ", ".join(shown) + closing


# By id: to hash or compare a class may run its metaclass's code.
_PLAIN = frozenset(map(id, [type(None), bool, int, float, complex, range,
                            type(NotImplemented), type(Ellipsis)]))
_BRACKETS = {id(list): ("[", "]"), id(tuple): ("(", ")"), id(dict): ("{", "}"),
             id(set): ("{", "}"), id(frozenset): ("frozenset({", "})")}


handlers.update({"scopes": scopes, "hangdbg/arguments": list_arguments})
