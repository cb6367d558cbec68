# The request completions. Runs no code of the program, no __dir__ either
# (attributes.py). Loaded by hangdbg/load.

need("variables")


def completions(session, arguments):
    whole = field(arguments, "text", str)
    line = whole.split("\n")[:max(field(arguments, "line", int, 1), 1)]
    before = sum([_units(above) + 1 for above in line[:-1]])
    text = _first_units(line[-1], max(field(arguments, "column", int) - 1, 0))
    owner = None
    if means_more(session, text + "a"):  # as one that continues
        scopes, owner = visible_names(session, arguments)
    else:
        scopes = frame_names(session, arguments)

    key = _open_key(text)
    if key is not None:
        start = key + 2
        found = _keys(_resolved(text[_chain_start(text, key):key], scopes, owner), text[key + 1])
    else:
        start = len(text)
        while start > 0 and in_name(text[start - 1]):
            start -= 1
        if text[:start].endswith("."):
            end = start - 1
            found = _attributes(_resolved(text[_chain_start(text, end):end], scopes, owner))
            private = private_name("__a", owner[0])[:-1] if owner else ""
            found += [(name[len(private) - 2:], kind) for name, kind in found
                      if private and name.startswith(private)]
        else:
            found = [(word, "keyword") for word in KEYWORDS]
            for scope in reversed(scopes):
                found += [(name, _kind(scope[name])) for name in list(scope)
                          if type(name) is str and name in scope]
    word = text[start:]
    labels = {label: kind for label, kind in found if _begins(label, word) and
              (not label.startswith("_") or word.startswith("_") or key is not None)}
    start = before + _units(text[:start])
    return {"targets": [
        {"label": label, "type": labels[label], "start": start, "length": _units(word)}
        for label in sorted(labels)[:1000]]}


def _resolved(chain, scopes, owner):
    return resolve(in_class(chain, owner) if owner else chain, scopes)


def _begins(label, word):
    # In whatever case, unless some are capitals.
    return label.startswith(word) or word.islower() and label.lower().startswith(word)


# DAP counts text in UTF-16 code units. (The codec "utf-16-le" would be imported;
# the one of this name is built in, and begins with a byte order mark.)


def _units(text):
    return len(text.encode("utf-16", "replace")) // 2 - 1


def _first_units(text, count):
    return text.encode("utf-16", "replace")[:2 * count + 2].decode("utf-16", "replace")


def _open_key(text):
    """The place of the [ of a dict key whose string is not closed, or None."""
    for at in range(len(text) - 2, -1, -1):
        if text[at] == "[" and text[at + 1] in "'\"":
            return None if text[at + 1] in text[at + 2:] else at
    return None


def _chain_start(text, end):
    """Where the chain of names, attributes and items begins that ends at end."""
    start = end
    while start > 0:
        if in_name(text[start - 1]) or text[start - 1] == ".":
            start -= 1
        elif text[start - 1] == "]" and "[" in text[:start]:
            start = text.rindex("[", 0, start)
        else:
            break
    return start


# By id: to hash or compare a class may run its metaclass's code.
_FUNCTIONS = frozenset(map(id, [type(resolve), type(len), type([].append),
                                type(resolve.__get__(0)), type(str.join), classmethod,
                                type(object().__str__), type(object.__str__), staticmethod]))


def _keys(owner, quote):
    if not issubclass(type(owner), dict):
        return []
    return [(key, "variable") for key in list(dict.keys(owner))
            if type(key) is str and quote not in key and "\\" not in key]


def _attributes(value):
    if value is UNKNOWN:
        return []
    found = []
    is_class = issubclass(type(value), type)
    for kind in reversed(mro_of(value if is_class else type(value))):
        for name, item in list(dict_of_class(kind).items()):
            label = _kind(item)
            found.append((name, "method" if label == "function" else
                          label if label == "class" else "property"))
    if not is_class:
        names = instance_dict(value)
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
