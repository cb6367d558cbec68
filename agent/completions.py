# The request completions. Runs no code of the program: attributes are read from
# the __dict__s of the object and of its classes; no property, no __getattr__,
# no __dir__. Loaded by hangdbg/load.


def completions(session, arguments):
    text = field(arguments, "text", str)
    text = text[:max(field(arguments, "column", int) - 1, 0)]
    if arguments.get("frameId") is None:
        scopes = [sys.modules["__main__"].__dict__]
    else:
        place = find_frame(session, arguments)
        scopes = [locals_of(place), place[3]]
    scopes.append(sys.modules["builtins"].__dict__)

    key = _open_key(text)
    if key is not None:
        start = key + 2
        owner = _resolve(text[_chain_start(text, key):key], scopes)
        found = _keys(owner, text[key + 1])
    else:
        start = len(text)
        while start > 0 and _in_name(text[start - 1]):
            start -= 1
        if text[:start].endswith("."):
            end = start - 1
            found = _attributes(_resolve(text[_chain_start(text, end):end], scopes))
        else:
            found = [(word, "keyword") for word in _KEYWORDS]
            for scope in reversed(scopes):
                found += [(name, _kind(scope[name])) for name in list(scope)
                          if type(name) is str and name in scope]
    word = text[start:]
    labels = {label: kind for label, kind in found if label.startswith(word) and
              (not label.startswith("_") or word.startswith("_") or key is not None)}
    return {"targets": [
        {"label": label, "type": labels[label], "start": start, "length": len(word)}
        for label in sorted(labels)[:1000]]}


_KEYWORDS = (
    "False None True and as assert async await break class continue def del elif "
    "else except finally for from global if import in is lambda nonlocal not or "
    "pass raise return try while with yield").split()


def _open_key(text):
    """Where the [ of a dict key stands whose string is not closed, or None."""
    for at in range(len(text) - 2, -1, -1):
        if text[at] == "[" and text[at + 1] in "'\"":
            return None if text[at + 1] in text[at + 2:] else at
    return None


def _chain_start(text, end):
    """Where the chain of names, attributes and items begins that ends at end."""
    start = end
    while start > 0:
        if _in_name(text[start - 1]) or text[start - 1] == ".":
            start -= 1
        elif text[start - 1] == "]" and "[" in text[:start]:
            start = text.rindex("[", 0, start)
        else:
            break
    return start


def _in_name(sign):
    return sign == "_" or sign.isalnum()


def _resolve(chain, scopes):
    """The object that a chain like a.b[0]["k"] names, or _UNKNOWN."""
    at = 0
    while at < len(chain) and _in_name(chain[at]):
        at += 1
    value = _UNKNOWN
    for scope in scopes:
        if chain[:at] in scope:
            value = scope[chain[:at]]
            break
    while at < len(chain) and value is not _UNKNOWN:
        end = at + 1
        if chain[at] == ".":
            while end < len(chain) and _in_name(chain[end]):
                end += 1
            value = _attribute(value, chain[at + 1:end])
        else:
            end = chain.find("]", at) + 1
            if chain[at] != "[" or end == 0:
                return _UNKNOWN
            value = _item(value, chain[at + 1:end - 1].strip())
        at = end
    return value


_UNKNOWN = object()
_MRO = type.__dict__["__mro__"].__get__
_CLASS_DICT = type.__dict__["__dict__"].__get__
_SLOT = type(type(sys).__dict__["__dict__"])  # member_descriptor
_GETSET = type(type.__dict__["__dict__"])  # getset_descriptor
# By id: to hash or compare a class may run its metaclass's code.
_COMPUTED = frozenset(map(id, [property, classmethod, staticmethod, _GETSET]))
_FUNCTIONS = frozenset(map(id, [type(_resolve), type(len), type([].append),
                                type(_resolve.__get__(0)), type(str.join), classmethod,
                                type(object().__str__), type(object.__str__), staticmethod]))


def _class_attribute(mro, name):
    for kind in mro:
        names = _CLASS_DICT(kind)
        if name in names:
            return names[name]
    return _UNKNOWN


def _instance_dict(value):
    # A class may define __dict__ as a property: only C's own will do.
    descriptor = _class_attribute(_MRO(type(value)), "__dict__")
    if type(descriptor) is _SLOT or type(descriptor) is _GETSET:
        names = descriptor.__get__(value, type(value))
        if type(names) is dict:
            return names
    return {}


def _attribute(value, name):
    if issubclass(type(value), type):
        return _class_attribute(_MRO(value), name)
    found = _class_attribute(_MRO(type(value)), name)
    if type(found) is _SLOT:
        try:
            return found.__get__(value, type(value))
        except AttributeError:
            return _UNKNOWN
    names = _instance_dict(value)
    if name in names:
        return names[name]
    if id(type(found)) in _COMPUTED:
        return _UNKNOWN
    return found


def _item(value, text):
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        index = text[1:-1]
    elif text.isdigit() and len(text) < 19:
        index = int(text)
    else:
        return _UNKNOWN
    try:
        if issubclass(type(value), dict):
            return dict.get(value, index, _UNKNOWN)
        for kind in (list, tuple):
            if issubclass(type(value), kind):
                return kind.__getitem__(value, index)
    except (IndexError, TypeError):
        pass
    return _UNKNOWN


def _keys(owner, quote):
    if not issubclass(type(owner), dict):
        return []
    return [(key, "variable") for key in list(dict.keys(owner))
            if type(key) is str and quote not in key and "\\" not in key]


def _attributes(value):
    if value is _UNKNOWN:
        return []
    found = []
    is_class = issubclass(type(value), type)
    for kind in reversed(_MRO(value if is_class else type(value))):
        for name, item in list(_CLASS_DICT(kind).items()):
            label = _kind(item)
            found.append((name, "method" if label == "function" else
                          label if label == "class" else "property"))
    if not is_class:
        names = _instance_dict(value)
        found += [(name, _kind(names[name])) for name in list(names) if name in names]
    return [(name, kind) for name, kind in found if type(name) is str]


def _kind(value):
    kind = type(value)
    if issubclass(kind, type):
        return "class"
    if issubclass(kind, type(sys)):
        return "module"
    return "function" if id(kind) in _FUNCTIONS else "variable"


handlers["completions"] = completions
