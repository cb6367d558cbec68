# reload: functions of a file that was changed get the code that is in it now.
#
# The client reads the file, and nothing of it is run: the code of functions that are there
# is replaced, by their names. Who is in one of them leaves it in the old code.

_old_codes = {}  # id -> code that was replaced, or is inside one


def reload(session, arguments):
    path, text = field(arguments, "path", str), arguments.get("content")
    if "t" in getattr(sys, "abiflags", ""):
        raise Failure("not-permitted", "without a GIL other threads may call a function while "
                      "its code is replaced")
    functions = [one for one in _functions_of_modules(lambda file: is_same_file(file, path))
                 if is_same_file(one.__code__.co_filename, path)]
    if not functions:
        raise Failure("expression-failed", "no function of %s is in a module" % path[:1000])
    path = functions[0].__code__.co_filename
    if text is None:
        return {"path": path}
    try:
        new = compile(text, path, "exec", 0, True)
    except (SyntaxError, ValueError) as error:
        raise Failure("expression-failed", told(error, "expression-failed")[1])
    olds, news = {}, {}
    _by_name(new, "", news)
    for function in functions:
        code = function.__code__
        if code.co_filename == path:  # one code may be that of several functions
            same = olds.setdefault(_own_name(function, news), {})
            same.setdefault(id(code), (code, []))[1].append(function)
    changed, moved, kept = [], 0, []
    for name, same in olds.items():
        codes = news.get(name, [])
        # A property's functions have one name, and so have the branches of an `if`.
        same = sorted(same.values(), key=lambda one: one[0].co_firstlineno)
        if len(codes) != len(same):
            kept.append({"name": name, "why": "it is not in the file any more" if not codes else
                         "the file has %d of that name, the program %d" % (
                             len(codes), len(same))})
            continue
        for (old, owners), code in zip(same, codes):
            if _lines_of_all(old) == _lines_of_all(code) and old == code:
                continue
            if old.co_freevars != code.co_freevars:
                kept.append({"name": name, "why": "it uses other variables of its outer function"})
                continue
            _old_codes.update((id(inner), inner) for inner in _nested(old))
            for function in owners:
                function.__code__ = code
            if _runs_as(old, code):
                moved += 1
            else:
                changed.append(name)
    return {"path": path, "changed": changed, "moved": moved, "kept": kept,
            "missing": [name for name, codes in news.items() if name not in olds and (
                codes[0].co_flags & 1 and "<" not in name)],
            "running": _still_in_old_code(session, path)}


def _own_name(function, news):
    """Of its code. Up to 3.10 that has no qualified one, and functools.wraps gives the
    function that of another."""
    code = function.__code__
    name = getattr(code, "co_qualname", None) or function.__qualname__
    if name.rpartition(".")[2] == code.co_name:
        return name
    found = [one for one in news if one.rpartition(".")[2] == code.co_name]
    return found[0] if len(found) == 1 else name + ", a " + code.co_name


def _by_name(code, prefix, found):
    """{qualified name: codes, in the order of the file} of what is inside."""
    for inner in code.co_consts:
        if type(inner) is type(code):
            name = getattr(inner, "co_qualname", prefix + inner.co_name)
            found.setdefault(name, []).append(inner)
            _by_name(inner, name + (".<locals>." if inner.co_flags & 1 else "."), found)


def _lines_of_all(code):
    return [lines_in(inner) for inner in _nested(code)]


def _runs_as(old, new):
    """Whether only lines are others."""
    olds, news = list(_nested(old)), list(_nested(new))
    return len(olds) == len(news) and all(
        a.co_code == b.co_code and a.co_names == b.co_names and a.co_varnames == b.co_varnames and
        _plain(a) == _plain(b) for a, b in zip(olds, news))


def _plain(code):
    """Its constants; True is not 1."""
    return [(type(one), one) for one in code.co_consts if type(one) is not type(code)]


def _still_in_old_code(session, path):
    return [{"threadId": _thread_id(ident), "name": code.co_name}
            for ident, stack in _other_frames(session).items()
            for _, code, _, _ in _places(stack)
            if id(code) in _old_codes and code.co_filename == path]


handlers["hangdbg/reload"] = reload
