# Statements and := in a frame: code that binds names, which are carried back to
# the frame afterwards. A later part of the core (dispatch.py, need).


def execute(text, frame, names, local, extra):
    """(value of the last expression or None, whether more than an expression).
    names are the frame's globals and locals merged; frame None: names are the
    module's own dict, and nothing has to be carried back."""
    code, last, declared = _compile(text)
    if frame is not None:
        for name in declared:
            names.pop(name, None)
            if name in frame.f_globals:
                names[name] = frame.f_globals[name]
    # What the code bound before it failed stays bound, as at a prompt.
    before = dict(names)
    try:
        if code is not None:
            eval(code, names)
        return None if last is None else eval(last, names), code is not None
    finally:
        if frame is not None:
            _carry_back(frame, before, names, local, extra, declared)


def _compile(text):
    """(statements or None, last expression or None, names declared global)."""
    if sys.version_info[:2] == (3, 9) and "_ast" not in sys.modules:
        # 3.9's compile() imports this builtin module (Python/Python-ast.c).
        if sys.modules["_imp"].lock_held():
            raise ImportError("a statement needs _ast, and the import lock is held")
    tree = compile(text, "<expression>", "exec", 0x400, True)  # PyCF_ONLY_AST
    declared = set()
    nodes = [tree] if "global" in text else []
    while nodes:
        node = nodes.pop()
        if type(node).__name__ == "Global":
            declared.update(node.names)
        for name in getattr(node, "_fields", ()):
            child = getattr(node, name, None)
            nodes += child if type(child) is list else [child]
    last = None
    if tree.body and type(tree.body[-1]).__name__ == "Expr":
        # ast.Expression by its own compile: ast cannot be imported.
        wrapped = compile("0", "<expression>", "eval", 0x400, True)
        wrapped.body = tree.body.pop().value
        last = compile(wrapped, "<expression>", "eval", 0, True)
    if not tree.body:
        return None, last, declared
    return compile(tree, "<expression>", "exec", 0, True), last, declared


def _carry_back(frame, before, after, local, extra, declared):
    for name, value in after.items():
        if (type(name) is not str or name == "__builtins__" or
                before.get(name, _ABSENT) is value):
            continue
        if name in declared:
            frame.f_globals[name] = value
        elif _has_place(frame, name):
            _bind_local(frame, name, value)
        else:
            extra[name] = value
    for name in before:
        if type(name) is not str or name in after:
            continue
        if name in extra:
            del extra[name]
        elif name in declared or name not in local:
            frame.f_globals.pop(name, None)
        else:
            _bind_local(frame, name)


_ABSENT = object()


def _has_place(frame, name):
    """Whether the frame can hold the name: a function only those that it was
    compiled with. (f_locals would take others, and keep them for as long as
    the function runs.)"""
    code = frame.f_code
    return not code.co_flags & 0x01 or (  # CO_OPTIMIZED: else f_locals is real
        name in code.co_varnames + code.co_cellvars + code.co_freevars)


def _bind_local(frame, name, *value):
    is_variable = frame.f_code.co_flags & 0x01
    if is_variable and not value and sys.version_info >= (3, 12):
        # 3.12's PyFrame_LocalsToFast would bind None, 3.13's proxy refuses.
        raise TypeError("the local variable '%s' cannot be deleted from outside "
                        "on Python %d.%d" % ((name,) + sys.version_info[:2]))
    if is_variable and sys.version_info < (3, 13):
        _set_local(frame, name, *value)
    elif value:
        frame.f_locals[name] = value[0]
    else:
        del frame.f_locals[name]
