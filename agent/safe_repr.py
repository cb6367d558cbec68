# A value as text without running code of the program: no __repr__, no property. A
# later part of the core (dispatch.py, need).


def safe_repr(value, depth=2, limit=200):
    """A bounded repr: builtin types are shown, exact ones with what is in them to
    that depth; arrays by their metadata; enum members by name; all others as
    <module.Class object at 0x...>. limit: characters of a string."""
    kind = type(value)
    if kind is int and value.bit_length() > 2000:
        return "<int of %d bits>" % value.bit_length()
    if id(kind) in _PLAIN:
        return repr(value)
    if kind is str or kind is bytes or kind is bytearray:
        return repr(value[:limit]) + ("..." if len(value) > limit else "")
    if id(kind) in _BRACKETS:
        return _container_repr(value, kind, depth, min(limit, 200))
    if issubclass(kind, type):
        return "<class '%s.%s'>" % (type_module(value), type_name(value, True))
    if kind is _FUNCTION:
        return "<function %s at 0x%x>" % (value.__qualname__, id(value))
    if kind is type(sys):
        name = dict.get(instance_dict(value), "__name__")
        return "<module %s>" % safe_repr(name if type(name) is str else "?")
    return (_array_repr(value, kind) or _enum_repr(value, kind) or _derived_repr(value, kind, limit)
            or "<%s.%s object at 0x%x>" % (type_module(kind), type_name(kind, True), id(value)))


def array_metadata(value, kind):
    """[(attribute, value)] of a numpy array or a tensor, none of which waits for
    a GPU; else []. Exact types: a class derived from them may compute anything."""
    if "torch" in sys.modules:
        need("tensors")
        if is_plain_tensor(kind):
            return [(name, getattr(value, name)) for name in
                    ("shape", "dtype", "device", "requires_grad")]
    if kind is numpy_type("ndarray"):
        return [("shape", value.shape), ("dtype", value.dtype)]
    return []


def numpy_type(name):
    names = getattr(sys.modules.get("numpy"), "__dict__", {})
    return names.get(name, UNKNOWN)


def is_enum_member(kind):
    # Not the metaclass's __instancecheck__, nor an import of enum.
    enum = getattr(sys.modules.get("enum"), "__dict__", {}).get("Enum")
    return any(base is enum for base in mro_of(kind)) and enum is not None


# By id: to hash or compare a class may run its metaclass's code.
_PLAIN = frozenset(map(id, [type(None), bool, int, float, complex, range,
                            type(NotImplemented), type(Ellipsis)]))
_BRACKETS = {id(list): ("[", "]"), id(tuple): ("(", ")"), id(dict): ("{", "}"),
             id(set): ("{", "}"), id(frozenset): ("frozenset({", "})")}
_FUNCTION = type(safe_repr)
need("attributes")


def _container_repr(value, kind, depth, limit):
    if not value:
        return repr(value)
    opening, closing = _BRACKETS[id(kind)]
    shown = []
    size = 0
    try:
        for item in value.items() if kind is dict else value:
            if len(shown) == 20 or size > 1000 or depth == 0:
                shown.append("...")
                break
            if kind is dict:
                shown.append("%s: %s" % (safe_repr(item[0], depth - 1, limit),
                                         safe_repr(item[1], depth - 1, limit)))
            else:
                shown.append(safe_repr(item, depth - 1, limit))
            size += len(shown[-1])
    except RuntimeError:  # its thread changes it meanwhile
        shown.append("...")
    if kind is tuple and len(value) == 1:
        closing = ",)"
    return opening + ", ".join(shown) + closing


def _array_repr(value, kind):
    metadata = array_metadata(value, kind)
    return metadata and "<%s %s>" % (type_name(kind), " ".join(
        ["%s=%s" % (name, _metadata_text(item)) for name, item in metadata]))


def _metadata_text(item):
    if issubclass(type(item), tuple):  # torch.Size is one
        return safe_repr(tuple(item))
    if type_module(type(item)) in ("numpy", "numpy.dtypes"):
        # numpy's own text of a dtype is made by Python code, which it may have to
        # import.
        word = {"i": "int", "u": "uint", "f": "float", "c": "complex"}.get(item.kind)
        return "%s%d" % (word, item.itemsize * 8) if word else item.str
    return str(item)


def _enum_repr(value, kind):
    if is_enum_member(kind):
        names = instance_dict(value)
        name = names.get("_name_")
        if type(name) is str:
            return "<%s.%s: %s>" % (type_name(kind), name, safe_repr(names.get("_value_"), 1))


def _derived_repr(value, kind, limit):
    """Of a string or number of a class of the program's: as what it is derived
    from."""
    generic = numpy_type("generic")
    if generic is not UNKNOWN and type_module(kind) == "numpy" and any(
            base is generic for base in mro_of(kind)):
        item = value.item()
        return None if type(item) is kind else safe_repr(item, 1, limit)
    for base in (str, bytes, int, float):
        if issubclass(kind, base):
            plain, = base.__getnewargs__(value)
            return "%s(%s)" % (type_name(kind), safe_repr(plain, 1, limit))
