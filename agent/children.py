# What is in a value: its elements and its attributes, read without running code of
# the program. A later part of the core (dispatch.py, need).
#
# A child is (label, expression, value). The expression gives the same object where
# it is evaluated; it is made from that of the parent, and "" where there is none.


def element_count(value):
    kind = type(value)
    if kind is loaded("numpy", "ndarray"):
        return value.shape[0] if value.shape else 0
    if kind is loaded("array", "array"):
        return kind.__len__(value)
    base = container_of(kind)
    return 0 if base is None or _field_names(value, kind) else base.__len__(value)


def elements(value, expression, start, stop):
    """Some of the elements of a list, tuple, dict, set, deque or array."""
    kind = type(value)
    if kind is loaded("numpy", "ndarray") or kind is loaded("array", "array"):
        return [("%d" % at, _then(expression, "[%d]" % at), kind.__getitem__(value, at))
                for at in range(start, min(stop, element_count(value)))]
    base = container_of(kind)
    if base is None or _field_names(value, kind):
        return []
    if base is list or base is tuple:
        found = base.__getitem__(value, slice(start, stop))
    else:
        found = _slice(base.items(value) if base in MAPPINGS else base.__iter__(value),
                       start, stop)
    if base in MAPPINGS:
        return [(safe_repr(key, 1, 100), _dict_item(expression, kind, base, key), item)
                for key, item in found]
    return [("%d" % at, _element_name(expression, kind, base, at), item)
            for at, item in enumerate(found, start)]


def attributes(value, expression, classes):
    """The attributes. A property is there as a Lazy. classes: a dict, the same for
    one whole request."""
    kind = type(value)
    if id(kind) in _LEAVES:
        return []
    found = [(name, _then(expression, "." + name), item)
             for name, item in array_metadata(value, kind)]
    fields = _field_names(value, kind)
    for at, name in enumerate(fields):
        found.append((name, _then(expression, "[%d]" % at), tuple.__getitem__(value, at)))
    if issubclass(kind, BaseException):
        for name in ("args", "__cause__", "__context__"):
            item = BaseException.__dict__[name].__get__(value)
            if item is not None:
                found.append((name, _then(expression, "." + name), item))
    if issubclass(kind, type):
        return found + _class_names(value, expression)
    slots, lazies, taken = _described(kind, classes)
    names = instance_dict(value)
    hide_special = kind is type(sys)
    for name in list(names):
        if type(name) is str and name in names and not (hide_special and name[:2] == "__"):
            found.append((name, _attribute_name(expression, name, name not in taken),
                          names[name]))
    for name, slot in slots:
        try:
            found.append((name, _then(expression, "." + name), slot.__get__(value, kind)))
        except AttributeError:  # not set
            pass
    return found + [(name, _then(expression, "." + name), Lazy(value, name))
                    for name in lazies if name not in names and name not in fields]


def settable(value, label):
    """A function that gives the child of that label another value, as the program
    itself would; None if there is no such child, or it cannot be changed."""
    kind = type(value)
    base = container_of(kind)
    if base is dict:
        for key in list(dict.keys(value)):
            if safe_repr(key, 1, 100) == label:
                return _item_setter(value, key)
    elif label.isdecimal() and len(label) < 19 and int(label) < element_count(value):
        if base is tuple or base is set or base is frozenset or base in MAPPINGS:
            return None
        return _item_setter(value, int(label))
    if label in _field_names(value, kind):
        return None
    if any(name == label for name, _, _ in attributes(value, "", {})):
        return lambda item: setattr(value, label, item)
    return None


class Lazy:
    """A property that has not been computed."""

    def __init__(self, owner, name):
        self.owner = owner
        self.name = name


def is_name(label):
    return label.isidentifier() and label not in KEYWORDS


need("safe_repr")
_LEAVES = frozenset(map(id, [type(None), bool, int, float, complex, str, bytes, bytearray,
                             list, tuple, *MAPPINGS, set, frozenset,
                             type(sys._getframe()),
                             type(NotImplemented), type(Ellipsis), range, FUNCTION,
                             type(len)]))


def _field_names(value, kind):
    """Of a named tuple."""
    if kind is not tuple and issubclass(kind, tuple):
        names = class_attribute(kind, "_fields")
        if type(names) is tuple and len(names) == tuple.__len__(value) and all(
                [type(name) is str for name in names]):
            return names
    return ()


def _slice(items, start, stop):
    found = []
    try:
        for at, item in enumerate(items):
            if at >= stop:
                break
            if at >= start:
                found.append(item)
    except RuntimeError:  # its thread changes it meanwhile
        pass
    return found


def _item_setter(value, key):
    def set_item(item):
        value[key] = item
    return set_item


def _then(expression, rest):
    return expression and expression + rest


def _element_name(expression, kind, base, at):
    if not expression or base is set or base is frozenset:
        return ""
    if kind is base:
        return "%s[%d]" % (expression, at)
    # Its class may have another idea of [].
    return "%s.__getitem__(%s, %d)" % (base.__name__, expression, at) if (
        base is list or base is tuple) else ""


def _dict_item(expression, kind, base, key):
    if not expression or not _has_exact_repr(key):
        return ""
    return "%s[%r]" % (expression, key) if kind is base else (
        "%s.__getitem__(%s, %r)" % (base.__name__, expression, key))


def _has_exact_repr(key):
    kind = type(key)
    if kind is tuple:
        return len(key) < 5 and all([_has_exact_repr(item) for item in key])
    if kind is str or kind is bytes:
        return len(key) < 1000
    return key is None or kind is bool or kind is int and key.bit_length() < 1000


def _attribute_name(expression, name, is_free):
    """is_free: nothing in the class shadows the instance's own."""
    if is_free and is_name(name):
        return _then(expression, "." + name)
    return _then(expression, ".__dict__[%r]" % name)


def _class_names(value, expression):
    names = dict_of_class(value)
    return [(name, _attribute_name(expression, name, type(item) is FUNCTION or
                                   class_attribute(type(item), "__get__") is UNKNOWN), item)
            for name, item in list(names.items())
            if type(name) is str and name[:2] != "__" and type(item) is not MEMBER]


def _described(kind, classes):
    """What instances of a class have by it: (slots, names of properties, names for
    which the class comes before the instance)."""
    known = classes.get(id(kind))
    if known is not None and known[0] is kind:
        return known[1]
    slots, lazies, taken, seen = [], [], set(), set()
    cached = loaded("functools", "cached_property")
    for base in mro_of(kind):
        for name, item in list(dict_of_class(base).items()):
            if name in seen or type(name) is not str:
                continue
            seen.add(name)
            if issubclass(type(item), property):
                taken.add(name)
                if name[:2] != "__":
                    lazies.append(name)
            elif type(item) is cached:
                lazies.append(name)
            elif type(item) is MEMBER and name[:2] != "__":
                slots.append((name, item))
            elif class_attribute(type(item), "__set__") is not UNKNOWN:
                taken.add(name)
    described = slots, lazies, taken
    classes[id(kind)] = kind, described
    return described
