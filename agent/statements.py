# Runs in a frame what is more than a plain expression: statements, := , await,
# and code with functions in it (a lambda, a generator expression, a def). A later
# part of the core (dispatch.py, need).
#
# Code runs as a class body does: with the frame's globals as its globals and a
# dict of the frame's locals as its locals. Functions in a class body do not see
# its locals. So code that has some becomes the body of a function itself, where
# each local is a cell that it shares with them; code that awaits, the body of a
# coroutine function. What it bound is carried back to the frame.


def execute(text, place, names, local, extra):
    """(value of the last expression or None, whether more than an expression).
    names: the frame's globals; local: a dict of the frame's locals and extra.
    place None: local is names itself, and nothing has to be carried back."""
    body = _read(text)
    last = body.pop() if body and type(body[-1]).__name__ == "Expr" else None
    owner = None
    if place is not None and ("__" in text or "super" in text):
        need("owner")
        owner = owner_of(place, local)
    before = dict(local)
    try:
        for part, end in _parts(body, last):
            value = _run_part(part, end, place, names, local, owner)
    finally:
        # What the code bound before it failed stays bound, as at a prompt.
        if place is not None:
            _carry_back(place, before, local, extra)
    return value, bool(body) or last is None


def _parts(body, last):
    """[(statements, last expression or None)], to be run one after another: no function
    may import *, so such an import is a part of its own."""
    parts, rest = [], []
    for node in body:
        if _imports_all(node):
            parts += [(rest, None), ([node], None)]
            rest = []
        else:
            rest.append(node)
    if parts and not _outer_scope(body + [last])[0] & _AWAITS:
        _compile(body, last)  # a SyntaxError comes before anything is run
    return parts + [(rest, last)]


def _imports_all(node):
    return type(node).__name__ == "ImportFrom" and node.names[0].name == "*"


def _run_part(body, last, place, names, local, owner):
    kinds, declared, annotated = _outer_scope(body + [last])
    if any(map(_imports_all, body)) or kinds & _OF_FUNCTIONS or not (  # a SyntaxError
            owner or _needs_function(kinds, body, last, place)):
        return _run_as_class_body(body, last, names, local)
    for node in annotated:  # `x: int` may not be nonlocal, `(x): int` may
        node.simple = 0
    return _run_as_function(body, last, kinds, names, None if place is None else local,
                            declared, owner)


def _read(text):
    if sys.version_info[:2] == (3, 9) and "_ast" not in sys.modules:
        # 3.9's compile() imports this builtin module (Python/Python-ast.c).
        if sys.modules["_imp"].lock_held():
            raise ImportError("a statement needs _ast, and the import lock is held")
    return _tree(text).body


def _tree(text):
    return compile(text, "<expression>", "exec", 0x400, True)  # PyCF_ONLY_AST


def _outer_scope(nodes):
    """Outside of functions and classes: the kinds of syntax, the names that are
    declared global, and the annotated assignments."""
    kinds, declared, annotated = set(), set(), []
    while nodes:
        node = nodes.pop()
        kind = type(node).__name__
        kinds.add(kind)
        if kind == "Global":
            declared.update(node.names)
        elif kind == "AnnAssign":
            annotated.append(node)
        elif kind == "comprehension" and node.is_async:
            kinds.add("AsyncFor")
        if kind not in ("FunctionDef", "AsyncFunctionDef", "ClassDef", "Lambda"):
            for name in getattr(node, "_fields", ()):
                child = getattr(node, name, None)
                nodes += child if type(child) is list else [child]
    return kinds, declared, annotated


_AWAITS = frozenset(["Await", "AsyncFor", "AsyncWith"])
_OF_FUNCTIONS = frozenset(["Return", "Yield", "YieldFrom"])


def _needs_function(kinds, body, last, place):
    if kinds & _AWAITS:
        return True
    try:
        codes = _compile(body, last)
    except SyntaxError:  # nonlocal, perhaps
        return True
    return place is not None and any(map(has_functions, filter(None, codes)))


def _compile(body, last):
    """Code objects of the statements and of the last expression; None if there
    are none."""
    # From trees that compile() made: the module ast cannot be imported.
    code = None
    if body:
        tree = _tree("")
        tree.body = body
        code = compile(tree, "<expression>", "exec", 0, True)
    if last is not None:
        tree = compile("0", "<expression>", "eval", 0x400, True)
        tree.body = last.value
        last = compile(tree, "<expression>", "eval", 0, True)
    return code, last


def _run_as_class_body(body, last, names, local):
    code, last = _compile(body, last)
    if code is not None:
        eval(code, names, local)
    return None if last is None else eval(last, names, local)


def _run_as_function(body, last, kinds, names, local, declared, owner):
    """local None: the code stands in a module, and what it binds is global."""
    kept = [name for name in local or () if type(name) is str and
            name.isidentifier() and name not in declared and not (
                owner and (name == "__class__" or is_private(name)))]
    code = _function_code(body, last, kinds, kept, [], owner)
    # What it binds besides is to outlive it, too.
    new = [name for name in code.co_varnames + code.co_cellvars if name.isidentifier()]
    if local is None:
        code = _function_code(body, last, kinds, [], new, None)
    elif new:
        code = _function_code(body, last, kinds, kept + new, [], owner)
    cells = [_cell(local[name]) if name in local else _cell() for name in code.co_freevars]
    first = ()
    if owner:
        if "__class__" in code.co_freevars and owner[1] is not None:
            cells[code.co_freevars.index("__class__")] = _cell(owner[1])
        first = owner[2]
    function = type(_cell)(code, names, "<module>", None, tuple(cells))
    try:
        value = function(*first) if first else function()
        if kinds & _AWAITS:
            need("coroutines")
            value = run_coroutine(value)
        return value
    finally:
        for name, cell in zip(code.co_freevars, cells):
            if owner and name == "__class__":
                continue
            try:
                local[name] = cell.cell_contents
            except ValueError:  # empty
                local.pop(name, None)


def _function_code(body, last, kinds, cells, globals, owner):
    """The code of a function with that body, whose free variables are cells; in a class
    if it has an owner (owner.py)."""
    text = "def outer():\n"
    if cells:
        text += " %s = 0\n" % " = ".join(cells)
    text += " class owner:\n"
    text += "  async def inner(%s):\n" if kinds & _AWAITS else "  def inner(%s):\n"
    text %= "self" if owner and owner[2] else ""
    if cells:
        text += "   nonlocal %s\n" % ", ".join(cells)
    if globals:
        text += "   global %s\n" % ", ".join(globals)
    tree = _tree(text + "   return None\n")
    outer = tree.body[0]
    inner = outer.body[-1].body[-1]
    if owner:
        outer.body[-1].name = owner[0]
        if owner[2]:
            inner.args.args[0].arg = "<self>"  # whatever the function calls it
        if owner[0] not in cells:  # outside of the class it is the program's
            outer.body[:0] = _global(owner[0])
    else:
        outer.body[-1] = inner
    inner.name = "<module>"  # in tracebacks; and no name of the program's
    # No line of code may be before its first: CPython counts from that, and has -1 and
    # less for something else. (compute_line_delta in Python/instrumentation.c)
    outer.lineno = inner.lineno = 1
    result = inner.body.pop()
    inner.body += body
    if last is not None:
        result.value = last.value
        for name in last._attributes:  # where it begins and ends
            setattr(result, name, getattr(last, name))
        inner.body.append(result)
    code = compile(tree, "<expression>", "exec", 0, True)
    for _ in range(3 if owner else 2):
        code, = [const for const in code.co_consts if type(const) is type(code)]
    if code.co_flags & _CO_METHOD:
        code = code.replace(co_flags=code.co_flags & ~_CO_METHOD)
    return code


# From 3.14 on. Without a GIL a method, and what its cells hold, lives until the next
# garbage collection.
_CO_METHOD = 0x8000000


def _global(name):
    nodes = _tree("global owner").body
    nodes[0].names = [name]
    return nodes


def _cell(*value):
    if value:
        value, = value
    else:
        del value
    return (lambda: value).__closure__[0]


def _carry_back(place, before, after, extra):
    for name, value in after.items():
        if type(name) is not str or before.get(name, _ABSENT) is value:
            continue
        if _has_place(place, name):
            _bind_local(place, name, value)
        else:
            extra[name] = value
    for name in before:
        if type(name) is not str or name in after:
            continue
        if name in extra:
            del extra[name]
        else:
            _bind_local(place, name)


_ABSENT = object()


def _has_place(place, name):
    """Whether the frame can hold the name: a function only those that it was
    compiled with. (f_locals would take others, and keep them for as long as
    the function runs.)"""
    code = place[1]
    return not of_function(place) or (
        name in code.co_varnames + code.co_cellvars + code.co_freevars)


def _bind_local(place, name, *value):
    if of_function(place):
        if not value and sys.version_info >= (3, 12):
            # 3.12's PyFrame_LocalsToFast would bind None, 3.13's proxy refuses.
            raise TypeError("the local variable '%s' cannot be deleted from outside "
                            "on Python %d.%d" % ((name,) + sys.version_info[:2]))
        _set_local(place[0], name, *value)
    elif value:
        _f_locals(place[0])[name] = value[0]
    else:
        del _f_locals(place[0])[name]
