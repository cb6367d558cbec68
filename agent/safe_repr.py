# A value as text without running code of the program: no __repr__, no property. A
# later part of the core (dispatch.py, need).


def safe_repr(value, depth=2, limit=200):
    """A bounded repr. What is derived from a builtin type is shown as that, in the
    brackets of its class; containers to that depth, strings up to limit; arrays by
    their metadata; all others as <module.Class object at 0x...>."""
    kind = type(value)
    if kind is int and value.bit_length() > 2000:
        return "<int of %d bits>" % value.bit_length()
    if id(kind) in _PLAIN:
        return hex(value) if kind is int and _in_hex else repr(value)
    if kind is str or kind is bytes or kind is bytearray:
        return repr(value[:limit]) + ("..." if len(value) > limit else "")
    if id(kind) in _BRACKETS:
        return _container_repr(value, kind, depth, min(limit, 200))
    if issubclass(kind, type):
        return "<class '%s'>" % _full_name(value)
    if kind is FUNCTION:
        return "<function %s at 0x%x>" % (value.__qualname__, id(value))
    if kind is type(sys):
        name = instance_dict(value).get("__name__")
        return "<module %s>" % safe_repr(name if type(name) is str else "?")
    return (_array_repr(value, kind) or _enum_repr(value, kind) or
            _derived_repr(value, kind, depth, limit) or _native_repr(value, kind) or
            "<%s.%s object at 0x%x>" % (type_module(kind), type_name(kind, True), id(value)))


def show_integers(in_hex):
    global _in_hex
    _in_hex = in_hex


_in_hex = False  # while a request is answered that wants it


def wants_hex(arguments):
    return field(field(arguments, "format", dict, {}), "hex", bool, False)


def array_metadata(value, kind):
    """[(attribute, value)] of a numpy array or a tensor, none of which waits for
    a GPU; else []. Exact types: a class derived from them may compute anything."""
    if "torch" in sys.modules:
        need("tensors")
        if is_plain_tensor(kind):
            return [(name, getattr(value, name)) for name in
                    ("shape", "dtype", "device", "requires_grad")]
    if kind is loaded("numpy", "ndarray"):
        return [("shape", value.shape), ("dtype", value.dtype)]
    return []


def loaded(module, name):
    """What a module has by that name, if it is imported; else UNKNOWN."""
    return getattr(sys.modules.get(module), "__dict__", {}).get(name, UNKNOWN)


def container_of(kind):
    """The container of C's that a class is, or is derived from; or None."""
    for base in (list, tuple, *MAPPINGS, set, frozenset, loaded("_collections", "deque")):
        if base is not UNKNOWN and issubclass(kind, base):
            return base


def _is_made_by_c(kind):
    return type(kind) is type and not kind.__flags__ & 1 << 9  # a heap type


need("attributes")
# dict, and from 3.15 on frozendict, which is not derived from it.
MAPPINGS = (dict, *filter(_is_made_by_c, [loaded("builtins", "frozendict")]))
# By id: to hash or compare a class may run its metaclass's code.
_PLAIN = frozenset(map(id, [type(None), bool, int, float, complex, range, type(len),
                            type(NotImplemented), type(Ellipsis),
                            type(safe_repr.__code__)]))
_BRACKETS = {id(list): ("[", "]"), id(tuple): ("(", ")"), id(dict): ("{", "}"),
             id(set): ("{", "}"), id(frozenset): ("frozenset({", "})"),
             **{id(base): ("frozendict({", "})") for base in MAPPINGS[1:]}}
FUNCTION = type(safe_repr)


def _container_repr(value, base, depth, limit):
    if not base.__len__(value) and (base is set or base is frozenset or base in MAPPINGS[1:]):
        return repr(base())
    opening, closing = _BRACKETS.get(id(base), ("[", "]"))
    shown = []
    size = 0
    try:
        for item in base.items(value) if base in MAPPINGS else base.__iter__(value):
            if len(shown) == 20 or size > 1000 or depth == 0:
                shown.append("...")
                break
            if base in MAPPINGS:
                shown.append("%s: %s" % (safe_repr(item[0], depth - 1, limit),
                                         safe_repr(item[1], depth - 1, limit)))
            else:
                shown.append(safe_repr(item, depth - 1, limit))
            size += len(shown[-1])
    except RuntimeError:  # its thread changes it meanwhile
        shown.append("...")
    if base is tuple and base.__len__(value) == 1:
        closing = ",)"
    return opening + ", ".join(shown) + closing


def _array_repr(value, kind):
    metadata = array_metadata(value, kind)
    return metadata and "<%s %s>" % (type_name(kind), " ".join(
        ["%s=%s" % (name, _metadata_text(item)) for name, item in metadata]))


def _metadata_text(item):
    # torch.Size is a tuple.
    return safe_repr(tuple(item)) if issubclass(type(item), tuple) else safe_repr(item)


def _enum_repr(value, kind):
    if _is_derived(kind, loaded("enum", "Enum")):
        names = instance_dict(value)
        name = names.get("_name_")
        if type(name) is str:
            return "<%s.%s: %s>" % (type_name(kind), name, safe_repr(names.get("_value_"), 1))


def _derived_repr(value, kind, depth, limit):
    if type_module(kind) == "numpy" and _is_derived(kind, loaded("numpy", "generic")):
        item = value.item()
        return None if type(item) is kind else safe_repr(item, depth, limit)
    for base in (str, bytes, int, float):
        if issubclass(kind, base):
            plain, = base.__getnewargs__(value)
            return "%s(%s)" % (type_name(kind), safe_repr(plain, depth, limit))
    base = container_of(kind)
    if base is not None:
        return "%s(%s)" % (type_name(kind), _container_repr(value, base, depth, min(limit, 200)))
    if issubclass(kind, BaseException):
        arguments = list(BaseException.__dict__["args"].__get__(value))
        return "%s(%s)" % (type_name(kind), safe_repr(arguments, depth, limit)[1:-1])


def _native_repr(value, kind):
    """Of what keeps its state in C, and whose text says all of that."""
    if type_module(kind) == "_thread" and type_name(kind) in ("lock", "RLock") or (
            kind is loaded("torch", "dtype") or kind is loaded("torch", "device")):
        if type(class_attribute(kind, "__repr__")) is type(object.__repr__):
            return str(value)
    if type_name(kind) in ("lazy_import", "sentinel") and _is_made_by_c(kind):
        return repr(value)
    if _is_derived(kind, loaded("numpy", "dtype")):
        # Its own text is made by Python code, which it may have to import.
        word = {"i": "int", "u": "uint", "f": "float", "c": "complex"}.get(value.kind)
        if word is not None:
            return "%s%d" % (word, value.itemsize * 8)
        return {"b": "bool", "O": "object"}.get(value.kind, value.str)


def _is_derived(kind, base):
    # Not by the metaclass's __instancecheck__.
    return any([it is base for it in mro_of(kind)])


def _full_name(kind):
    module = type_module(kind)
    name = type_name(kind, True)
    return name if module == "builtins" else "%s.%s" % (module, name)
