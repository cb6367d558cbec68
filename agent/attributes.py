# Attributes and items of objects, read without running code of the program: from
# the __dict__s of the object and of its classes, and from the slots that C reads;
# no property, no __getattr__. A later part of the core (dispatch.py, need).


def resolve(chain, scopes):
    """The object that a chain like a.b[0]["k"] names, or UNKNOWN."""
    at = 0
    while at < len(chain) and in_name(chain[at]):
        at += 1
    value = UNKNOWN
    for scope in scopes:
        if chain[:at] in scope:
            value = scope[chain[:at]]
            break
    while at < len(chain) and value is not UNKNOWN:
        end = at + 1
        if chain[at] == ".":
            while end < len(chain) and in_name(chain[end]):
                end += 1
            value = attribute(value, chain[at + 1:end])
        else:
            end = chain.find("]", at) + 1
            if chain[at] != "[" or end == 0:
                return UNKNOWN
            value = _item(value, chain[at + 1:end - 1].strip())
        at = end
    return value


def is_chain(text):
    """Whether a text that is an expression is nothing but such a chain."""
    return not text.startswith(("[", "'", '"')) and all(
        [in_name(sign) or sign in ".[]'\"" for sign in text])


def in_name(sign):
    return sign == "_" or sign.isalnum()


def attribute(value, name):
    if issubclass(type(value), type):
        return class_attribute(value, name)
    found = class_attribute(type(value), name)
    if type(found) is MEMBER:
        try:
            return found.__get__(value, type(value))
        except AttributeError:
            return UNKNOWN
    names = instance_dict(value)
    if name in names:
        return names[name]
    if id(type(found)) in _COMPUTED:
        return UNKNOWN
    return found


def class_attribute(kind, name):
    """What a class and its bases have by that name, unevaluated."""
    for base in mro_of(kind):
        names = dict_of_class(base)
        if name in names:
            return names[name]
    return UNKNOWN


def instance_dict(value):
    # A class may define __dict__ as a property: only C's own will do.
    descriptor = class_attribute(type(value), "__dict__")
    if type(descriptor) is MEMBER or type(descriptor) is _GETSET:
        names = descriptor.__get__(value, type(value))
        if type(names) is dict:
            return names
    return {}


UNKNOWN = object()
KEYWORDS = (
    "False None True and as assert async await break class continue def del elif "
    "else except finally for from global if import in is lambda nonlocal not or "
    "pass raise return try while with yield").split()
MEMBER = type(type(sys).__dict__["__dict__"])  # member_descriptor
_GETSET = type(type.__dict__["__dict__"])  # getset_descriptor
# By id: to hash or compare a class may run its metaclass's code.
_COMPUTED = frozenset(map(id, [property, classmethod, staticmethod, _GETSET]))
mro_of = type.__dict__["__mro__"].__get__
dict_of_class = type.__dict__["__dict__"].__get__


def _item(value, text):
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        index = text[1:-1]
    elif text.isdigit() and len(text) < 19:
        index = int(text)
    else:
        return UNKNOWN
    try:
        if issubclass(type(value), dict):
            return dict.get(value, index, UNKNOWN)
        for kind in (list, tuple):
            if issubclass(type(value), kind):
                return kind.__getitem__(value, index)
    except (IndexError, TypeError):
        pass
    return UNKNOWN
