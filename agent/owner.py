# The class in whose body a frame's function stands: with it code that is typed there means
# by `self.__name` and by `super()` what the function's own would. A later part of the core
# (dispatch.py, need). Runs no code of the program.


def is_private(name):
    """Whether Python adds the class's name to it where it stands in a class."""
    return name.startswith("__") and not name.endswith("__") and "." not in name


def owner_of(place, local):
    """(its name for private names, the class or None, the function's first argument in a
    tuple); None: the function stands in no class. local: a dict of the frame's locals."""
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
    first = code.co_varnames[:1] if code.co_argcount else ()
    return name or type_name(kind), kind, tuple(local[one] for one in first if one in local)


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
