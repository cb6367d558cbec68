# Asks about an object: hangdbg/whatis, hangdbg/source, hangdbg/cachedSource, and
# pretty printing for evaluate. Loaded by hangdbg/load.


def whatis(session, arguments):
    """What pdb's whatis says of a value."""
    def describe(value, statement):
        if getattr(getattr(value, "__func__", None), "__code__", None):
            return {"text": "Method " + value.__name__}
        if getattr(value, "__code__", None):
            return {"text": "Function " + value.__name__}
        if issubclass(type(value), type):
            return {"text": "Class %s.%s" % (type_module(value), type_name(value, True))}
        return {"text": repr(type(value))}

    return run_in_frame(session, arguments, describe)


def source(session, arguments):
    """Where a function, method, class, module or code object is defined: path,
    first and last line; 0 where it is not known (a class before 3.13 keeps only
    the lines of its methods)."""
    def describe(value, statement):
        return dict(zip(("path", "line", "endLine"), _place(value)))

    need("variables")
    return run_in_frame(session, arguments, describe)


def cached_source(session, arguments):
    """What linecache has of a file: nothing is read, and no loader is asked."""
    path = field(arguments, "path", str)
    need("safe_repr")
    cache, typed = loaded("linecache", "cache"), loaded("linecache", "_interactive_cache")
    entry = cache.get(path) if type(cache) is dict else None
    # From 3.14 on what was typed at Python's own prompt. "<string>" may be any text.
    for key, one in list(typed.items()) if type(typed) is dict and path != "<string>" else ():
        if type(key) is tuple and key[:1] == (path,):
            entry = one
    lines = entry[2] if type(entry) is tuple and len(entry) == 4 else ()
    text = "".join([line for line in lines if type(line) is str]) if (
        type(lines) is list) else ""
    return {"content": text[:1000000]}


def pretty(value, width):
    """The repr, broken into lines of at most width where the builtin containers
    in it allow that."""
    return _pretty(value, max(width, 20), 0, ())


def _pretty(value, width, indent, parents):
    kind = type(value)
    if kind not in _PAIRS or not value or id(value) in parents or len(parents) > 40:
        return repr(value)
    text = repr(value)
    if len(text) <= width - indent and "\n" not in text:
        return text
    parents += (id(value),)
    opening, closing = _PAIRS[kind]
    lines = []
    if kind is dict:
        for key, item in list(value.items()):
            start = repr(key) + ": "
            lines.append(start + _pretty(
                item, width, indent + 1 + (len(start) if len(start) < width // 2 else 4),
                parents))
    else:
        for item in list(value):
            lines.append(_pretty(item, width, indent + len(opening), parents))
    if kind is tuple and len(lines) == 1:
        closing = ",)"
    return opening + (",\n" + " " * (indent + len(opening))).join(lines) + closing


_PAIRS = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}"), set: ("{", "}"),
          frozenset: ("frozenset({", "})")}


def _place(value):
    for _ in range(100):  # functools.wraps
        inner = getattr(value, "__wrapped__", None)
        if inner is None:
            break
        value = inner
    code = getattr(getattr(value, "__func__", value), "__code__", value)
    if type(code) is type(_place.__code__):
        return code.co_filename, code.co_firstlineno, last_line(code)
    if type(value) is type(sys):
        return _module_file(value), 1, 0
    if not issubclass(type(value), type):
        value = type(value)
    codes = [item.__code__ for item in value.__dict__.values()
             if type(item) is type(_place) and
             item.__qualname__.startswith(value.__qualname__ + ".")]
    path = codes[0].co_filename if codes else _module_file(sys.modules.get(type_module(value)))
    if not path:
        raise TypeError("%s is built in: it has no Python source" % type_name(value, True))
    first = value.__dict__.get("__firstlineno__", 0) or min(
        [code.co_firstlineno for code in codes], default=0)
    return path, first, max([last_line(code) for code in codes], default=0)


def _module_file(module):
    path = getattr(module, "__file__", None)
    if type(path) is not str:
        raise TypeError("built in: it has no Python source")
    return path


handlers["hangdbg/whatis"] = whatis
handlers["hangdbg/source"] = source
handlers["hangdbg/cachedSource"] = cached_source
