# The class whose body contains a frame's function: with it code that is typed there means
# by `self.__name` and by `super()` what the function's own would. Sent when the first text
# needs it (means_more in dispatch.py). Runs no code of the program.


def is_private(name):
    """Whether Python adds the class's name to it where it is in a class."""
    return name.startswith("__") and not name.endswith("__") and "." not in name


def owner_of(place, local):
    """(its name for private names, the class or None, the name of the function's first
    argument or ""); None: the function is in no class. local: a dict of the frame's
    locals."""
    if not of_function(place):
        return None
    code = place[1]
    kind = local.get("__class__") if "__class__" in code.co_freevars else None
    if not issubclass(type(kind), type):
        kind = _class_with(code, local)
    name = _class_name(code)
    if kind is None and name:
        kind = _class_named(code, place[3])
    if kind is None and not name:
        return None
    first = code.co_varnames[0] if code.co_argcount else "self"
    if first == ".0":  # a comprehension
        first = "self"
    return name or type_name(kind), kind, first if first in local else ""


def put_in_class(body, owner, local, names):
    """Makes of the statements what they mean in a class of that owner_of(); and a dict of
    the names that they need for it. local, names: the frame's."""
    name, kind, first = owner
    is_ours = "super" not in local and "super" not in names
    needs_class, left = False, [(node, True) for node in body]
    while left:
        node, outer = left.pop()
        syntax = type(node).__name__
        if syntax == "Name":
            needs_class = needs_class or node.id in ("super", "__class__")
        if outer and is_ours and kind is not None and first and _is_bare_super(node):
            node.args = _tree("__class__, %s" % first).body[0].value.elts
        for name_field in _IDENTIFIERS.get(syntax, ()):
            value = getattr(node, name_field, None)
            if type(value) is list:
                setattr(node, name_field, [private_name(one, name) for one in value])
            elif value is not None:
                setattr(node, name_field, private_name(value, name))
        if syntax == "alias" and is_private(node.asname or node.name):
            node.asname = private_name(node.asname or node.name, name)
        if syntax in ("FunctionDef", "AsyncFunctionDef"):
            outer = False  # has a first argument of its own
        for child_field in getattr(node, "_fields", ()):
            child = getattr(node, child_field, None)
            if child_field != "body" or syntax != "ClassDef":  # which is a class of its own
                left += [(one, outer) for one in (child if type(child) is list else [child])]
    return {"__class__": kind} if needs_class and kind is not None else {}


# Of syntax, what Python adds the class's name to.
_IDENTIFIERS = {
    "Name": ("id",), "Attribute": ("attr",), "arg": ("arg",), "FunctionDef": ("name",),
    "AsyncFunctionDef": ("name",), "ClassDef": ("name",), "ExceptHandler": ("name",),
    "Global": ("names",), "Nonlocal": ("names",), "MatchAs": ("name",), "MatchStar": ("name",),
    "MatchMapping": ("rest",), "TypeVar": ("name",), "ParamSpec": ("name",),
    "TypeVarTuple": ("name",)}


def _is_bare_super(node):
    return type(node).__name__ == "Call" and not node.args and not node.keywords and (
        type(node.func).__name__ == "Name" and node.func.id == "super")


def in_class(text, owner):
    """A chain of names (attributes.py) as it reads in a class of that owner_of()."""
    if owner is None or "__" not in text:
        return text
    parts, at = [], 0
    while at < len(text):
        end = at
        while end < len(text) and in_name(text[end]):
            end += 1
        parts.append(private_name(text[at:end], owner[0]) if end > at else text[at])
        at = max(end, at + 1)
    return "".join(parts)


def private_name(name, of):
    of = of.lstrip("_")
    return "_%s%s" % (of, name) if of and is_private(name) else name


def _class_name(code):
    """Of the innermost class around it, by its qualified name; "" up to 3.10."""
    for part in reversed(getattr(code, "co_qualname", "").split(".<locals>.")):
        if "." in part:
            return part.split(".")[-2]
    return ""


def _class_with(code, local):
    """The class of `self`, or a base of it, that has the code."""
    first = code.co_varnames[:1] if code.co_argcount else ()
    for name in first + ("self", "cls"):
        value = local.get(name, UNKNOWN)
        kinds = [] if value is UNKNOWN else [type(value)]
        if kinds and issubclass(kinds[0], type):
            kinds.insert(0, value)
        for kind in kinds:
            for base in mro_of(kind):
                if any(_has_code(item, code) for item in list(dict_of_class(base).values())):
                    return base
    return None


def _class_named(code, names):
    """Of a static method, or what else knows no instance."""
    if "<locals>" in code.co_qualname:
        return None
    found = resolve(code.co_qualname.rpartition(".")[0], [names])
    return found if issubclass(type(found), type) and any(
        _has_code(item, code) for item in list(dict_of_class(found).values())) else None


def _has_code(item, code):
    """Whether a function in a class's dict, or what is wrapped in it, is of that code."""
    left, seen = [item], 0
    while left and seen < 50:
        seen += 1
        item = left.pop()
        kind = type(item)
        if kind is _FUNCTION:
            if _is_inside(item.__code__, code):
                return True
            left += [item.__dict__.get("__wrapped__")]
        elif kind is staticmethod or kind is classmethod:
            left.append(item.__func__)
        elif kind is property:
            left += [item.fget, item.fset, item.fdel]
        elif item is not None:
            # functools.cached_property, partialmethod, cache: what they keep.
            names = instance_dict(item)
            left += [names.get("func"), names.get("__wrapped__")]
    return False


def _is_inside(outer, code):
    codes = [outer]
    while codes:
        one = codes.pop()
        if one is code:
            return True
        codes += [const for const in one.co_consts if type(const) is type(code)]
    return False


need("attributes")
_FUNCTION = type(owner_of)
