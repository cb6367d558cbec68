# Runs in a frame what is more than a plain expression: statements, := , await,
# and code with functions in it (a lambda, a generator expression, a def). A later
# part of the core (dispatch.py, need).
#
# Code runs as a class body does: with the frame's globals as its globals and a
# dict of the frame's locals as its locals. Functions in a class body do not see
# its locals. So code that has some becomes the body of a function itself, where
# each local is a cell that it shares with them; code that awaits, the body of a
# coroutine function. What it bound is carried back to the frame.


def execute(body, place, names, local, extra):
    """(value of the last expression or None, whether more than an expression).
    names: the frame's globals; local: a dict of the frame's locals and extra.
    place None: local is names itself, and nothing has to be carried back."""
    last = body.pop() if body and type(body[-1]).__name__ == "Expr" else None
    kinds, declared, annotated = _outer_scope(body + [last])
    before = dict(local)
    try:
        if _needs_function(kinds, body, last, place):
            for node in annotated:  # `x: int` may not be nonlocal, `(x): int` may
                node.simple = 0
            value = _run_as_function(body, last, kinds, names,
                                     None if place is None else local, declared)
        else:
            value = _run_as_class_body(body, last, names, local)
    finally:
        # What the code bound before it failed stays bound, as at a prompt.
        if place is not None:
            _carry_back(place, before, local, extra)
    return value, bool(body) or last is None


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
    if kinds & _OF_FUNCTIONS:
        return False  # and so a SyntaxError, as it should be
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


def _run_as_function(body, last, kinds, names, local, declared):
    """local None: the code is in a module, and what it binds is global."""
    kept = [name for name in local or () if type(name) is str and
            name.isidentifier() and name not in declared]
    code = _function_code(body, last, kinds, kept, [])
    # What it binds besides is to outlive it, too.
    new = [name for name in code.co_varnames + code.co_cellvars if name.isidentifier()]
    if local is None:
        code = _function_code(body, last, kinds, [], new)
    elif new:
        code = _function_code(body, last, kinds, kept + new, [])
    cells = [_cell(local[name]) if name in local else _cell() for name in code.co_freevars]
    function = type(_cell)(code, names, "<module>", None, tuple(cells))
    try:
        value = function()
        if kinds & _AWAITS:
            need("coroutines")
            value = run_coroutine(value)
        return value
    finally:
        for name, cell in zip(code.co_freevars, cells):
            try:
                local[name] = cell.cell_contents
            except ValueError:  # empty
                local.pop(name, None)


def _function_code(body, last, kinds, cells, globals):
    """The code of a function with that body, whose free variables are cells."""
    text = "def outer():\n"
    if cells:
        text += " %s = 0\n" % " = ".join(cells)
    text += " async def inner():\n" if kinds & _AWAITS else " def inner():\n"
    if cells:
        text += "  nonlocal %s\n" % ", ".join(cells)
    if globals:
        text += "  global %s\n" % ", ".join(globals)
    tree = _tree(text + "  return None\n")
    outer = tree.body[0]
    inner = outer.body[-1]
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
    for _ in range(2):
        code, = [const for const in code.co_consts if type(const) is type(code)]
    return code


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
