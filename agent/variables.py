# What is in a frame and in its values. A later part of the core (dispatch.py,
# need).
#
# Nothing of the program's code runs for it, but a property's that the client asks
# for. What can be expanded gets a number, and is kept alive for as long as the
# number is good: until its frame moves or 100,000 others came. A frame is never
# kept (frames.py). docs/decisions/0040


def scopes(session, arguments):
    place = find_frame(session, arguments)
    code = place[1]
    frame = arguments["frameId"]
    lines = {"source": source_of(code), "line": code.co_firstlineno, "endLine": last_line(code)}
    found = [{"name": "Locals", "presentationHint": "locals", "expensive": False, **lines}]
    if names_in(session, place, frame, "Return value"):
        found.append({"name": "Return value", "presentationHint": "returnValue",
                      "expensive": False})
    if of_function(place) and code.co_freevars:
        found.append({"name": "Closure", "expensive": False})
    found.append({"name": "Globals", "expensive": True})
    references = references_of(session)
    references.forget(lambda frame: not is_live(session, session.keys.get(frame)))
    for scope in found:
        scope["variablesReference"] = references.add(scope["name"], None, "", frame)
        scope["namedVariables"] = len(names_in(session, place, frame, scope["name"]))
    return {"scopes": found}


def variables(session, arguments):
    show_integers(wants_hex(arguments))
    try:
        return _variables(session, arguments)
    finally:
        show_integers(False)


def _variables(session, arguments):
    kind, value, expression, frame = references_of(session).find(session, arguments)
    if kind == "lazy":
        return {"variables": [_computed(session, value, expression, frame)]}
    start = max(field(arguments, "start", int, 0), 0)
    asked = field(arguments, "count", int, 0)
    stop = start + (asked if 0 < asked < _AT_ONCE else _AT_ONCE)
    wanted = arguments.get("filter")
    classes = {}
    named = []
    if wanted != "indexed":
        named = (attributes(value, expression, classes) if kind == "value" else
                 _in_scope(session, frame, kind))
    # Elements come before attributes.
    total = element_count(value) if kind == "value" and wanted != "named" else 0
    children = elements(value, expression, start, min(stop, total)) if start < total else []
    children += named[max(start - total, 0):max(stop - total, 0)]
    found = [describe_child(session, frame, child, classes) for child in children]
    left = total + len(named) - stop
    if left > 0 and stop - start != asked:
        found.append({"name": "...", "value": "%d more" % left, "variablesReference": 0})
    return {"variables": found}


# What an answer holds at most: it is made with the program's GIL held.
_AT_ONCE = 20000


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


def hover(session, arguments):
    """evaluate, for what the mouse happens to be over: so it runs nothing."""
    text = field(arguments, "expression", str).strip()
    if means_more(session, text):
        scopes, owner = visible_names(session, arguments)
        value = resolve(in_class(text, owner), scopes)
    else:
        scopes = frame_names(session, arguments)
        value = resolve(text, scopes)
    if value is UNKNOWN:
        name = text.partition(".")[0].partition("[")[0]
        raise Failure("expression-failed", "name %r is not defined" % name if (
            name.isidentifier() and resolve(name, scopes) is UNKNOWN) else
            "only names, attributes and items are shown here")
    described = describe_value(session, arguments.get("frameId") or 0, value, text, {})
    return {"result": described.pop("value"), **described, "hangdbg": {
        "statement": False, "none": value is None,
        "truncated": described.get("hangdbg", {}).get("truncated", 0)}}


def frame_names(session, arguments):
    """The dicts in which a name of the frame frameId, or of __main__, is looked up, one
    after another."""
    if arguments.get("frameId") is None:
        return [sys.modules["__main__"].__dict__, __builtins__]
    place = find_frame(session, arguments)
    extra = session.extras.get(session.keys[arguments["frameId"]], {})
    return [{**locals_of(place), **extra}, place[3], __builtins__]


def names_in(session, place, frame, scope):
    """A dict of its own with what one of a frame's scopes holds."""
    if scope == "Globals":
        return {name: place[3][name] for name in list(place[3])
                if type(name) is str and name != "__builtins__" and name in place[3]}
    if scope == "Return value":
        return _returned(session, frame)
    names = {**locals_of(place), **session.extras.get(session.keys[frame], {})}
    free = place[1].co_freevars if of_function(place) else ()
    return {name: names[name] for name in names
            if type(name) is str and (name in free) == (scope == "Closure")}


def _returned(session, frame):
    """What the function has given that the frame's thread was stepped out of, or those
    that its last line has called; shown where that came to."""
    ident, depth, _ = session.keys[frame]
    standing, found = session.standing.get(ident), {}
    if standing is None or depth != len(_stack(session, ident)[0]) - 1:
        return found
    for name, value in standing.returned:
        label, count = "(return) " + name, 1
        while label in found:
            count += 1
            label = "(return) %s, call %d" % (name, count)
        found[label] = value
    return found


def describe_child(session, frame, child, classes):
    label, expression, value = child
    variable = {"name": label}
    if expression:
        variable["evaluateName"] = expression
    if type(value) is Lazy:
        variable.update({
            "value": "", "type": "property", "presentationHint": {"kind": "property", "lazy": True},
            "variablesReference": references_of(session).add("lazy", value, expression, frame)})
        return variable
    try:
        variable.update(describe_value(session, frame, value, expression, classes))
    except Exception as error:  # of C code that keeps the value; the others are well
        variable.update({"value": "<unreadable: %s>" % type_name(type(error)),
                         "variablesReference": 0})
    return variable


def describe_value(session, frame, value, expression, classes):
    """What a Variable and an answer have in common."""
    kind = type(value)
    described = {"value": safe_repr(value, 2, 1000), "type": type_name(kind)}
    described.update(expandable(session, frame, value, expression, classes))
    if (kind is str or kind is bytes or kind is bytearray) and len(value) > 1000:
        described["hangdbg"] = {"truncated": len(value) - 1000}
    return described


def add_children(session, arguments, value, body):
    """What an editor's or the prompt's evaluate answers besides."""
    if body["hangdbg"]["statement"] and value is None:
        body["result"] = ""  # as at a prompt
    if type(value) is int and wants_hex(arguments):
        body["result"] = hex(value)
    text = arguments["expression"].strip()
    body.update(expandable(session, arguments.get("frameId", 0), value,
                           text if is_chain(text) else "", {}))


def expandable(session, frame, value, expression, classes):
    """The number by which the client may ask what is in a value, and how much is;
    0 if nothing is."""
    indexed = element_count(value)
    named = len(attributes(value, "", classes))
    if not indexed and not named:
        return {"variablesReference": 0}
    found = {"variablesReference": references_of(session).add("value", value, expression, frame)}
    if indexed:
        found["indexedVariables"] = indexed
    found["namedVariables"] = named
    return found


def references_of(session):
    if session.references is None:
        session.references = References()
    return session.references


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


class References:
    """What the client may expand, by number. An entry: ("value", it, an expression
    for it or "", the number of its frame or 0), or "lazy" and a Lazy, or a scope's
    name and None."""

    MOST = 100000

    def __init__(self):
        self.entries = {}  # number -> entry
        self.numbers = {}  # the same entry with the id of its value -> number
        self.oldest = self.next = 1

    def add(self, kind, value, expression, frame):
        key = self._key(kind, value, expression, frame)
        number = self.numbers.get(key)
        if number is None:
            number = self.next
            self.next += 1
            self.entries[number] = kind, value, expression, frame
            self.numbers[key] = number  # last: Cancelled may come between
            while len(self.entries) > self.MOST:
                self._drop(self.oldest)
                self.oldest += 1
        return number

    def find(self, session, arguments):
        """The entry that variablesReference names. Failure no-such-frame if its
        frame has moved."""
        number = field(arguments, "variablesReference", int)
        if number not in self.entries:
            raise Failure("no-such-frame",
                          "no value has this number any more: ask for scopes again")
        frame = self.entries[number][3]
        if frame:
            find_frame(session, {"frameId": frame})
        return self.entries[number]

    def forget(self, is_dead):
        """Drops what belongs to frames of which is_dead(number of it) holds."""
        dead = {}
        for number, entry in list(self.entries.items()):
            frame = entry[3]
            if frame and frame not in dead:
                dead[frame] = is_dead(frame)
            if frame and dead[frame]:
                self._drop(number)

    def _drop(self, number):
        entry = self.entries.pop(number, None)
        if entry is not None:
            self.numbers.pop(self._key(*entry), None)

    @staticmethod
    def _key(kind, value, expression, frame):
        if kind == "lazy":
            return kind, id(value.owner), value.name, frame
        return kind, id(value), expression, frame


need("children")
handlers.update({"scopes": scopes, "variables": variables, "hangdbg/arguments": list_arguments})


def _in_scope(session, frame, scope):
    place = find_frame(session, {"frameId": frame})
    names = names_in(session, place, frame, scope)
    local = names_in(session, place, frame, "Locals") if scope == "Globals" else names
    return [(name, "" if not is_name(name) else name if local.get(name, value) is value else
             "globals()[%r]" % name, value) for name, value in names.items()]


def _computed(session, lazy, expression, frame):
    """The property, now that it is asked for."""
    variable = {"name": lazy.name, "value": "", "type": "", "variablesReference": 0}
    try:
        value, = run_user_code(session, lambda: (getattr(lazy.owner, lazy.name),))
    except Failure as failure:
        id, text, kind, _ = failure.args + ("", "")[:4 - len(failure.args)]
        if id == "cancelled":
            raise
        return {**variable, "value": "<%s>" % text[:1000], "type": kind}
    return describe_child(session, frame, (lazy.name, expression, value), {})
