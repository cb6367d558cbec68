# The requests setVariable and setExpression. A later part of the core (dispatch.py,
# need).


def set_variable(session, arguments):
    kind, owner, expression, frame = references_of(session).find(session, arguments)
    name = field(arguments, "name", str)
    if kind == "lazy":
        owner = owner.owner
    assign = (settable(owner, name) if kind in ("value", "lazy") else
              _scope_setter(session, frame, kind, name))
    if assign is None:
        raise Failure("bad-message", "%s cannot be given another value" % name[:100])

    def use(value, statement):
        assign(value)
        return (value,)

    value, = run_in_frame(session, {
        "expression": _in_brackets(field(arguments, "value", str)),
        **({"frameId": frame} if frame else {})}, use)
    return describe_value(session, frame, value, "", {})


def set_expression(session, arguments):
    target = field(arguments, "expression", str).strip()
    _require_target(target)
    text = "%s = %s\n%s" % (target, _in_brackets(field(arguments, "value", str)), target)
    frame = arguments.get("frameId")
    value, = run_in_frame(session, {**arguments, "expression": text},
                          lambda value, statement: (value,))
    return describe_value(session, frame or 0, value, target, {})


need("statements")
need("variables")
handlers.update({"setVariable": set_variable, "setExpression": set_expression})


def _in_brackets(text):
    # So that what is no expression fails before anything is run.
    if not text.strip():
        raise Failure("expression-failed", "an expression is missing")
    return "(%s\n)" % text.strip()


def _scope_setter(session, frame, scope, name):
    place = find_frame(session, {"frameId": frame})
    if scope == "Return value":
        return None
    if scope == "Globals":
        def assign(value):
            place[3][name] = value
    elif _has_place(place, name):
        def assign(value):
            _bind_local(place, name, value)
    else:
        extra = session.extras.get(session.keys[frame], {})

        def assign(value):
            extra[name] = value
    return assign if name in names_in(session, place, frame, scope) else None


def _require_target(text):
    try:
        node, = _read(text)
        kind = type(getattr(node, "value", None)).__name__
    except (SyntaxError, ValueError):
        kind = ""
    if kind not in ("Name", "Attribute", "Subscript") or "\n" in text:
        raise Failure("expression-failed", "%s cannot be assigned to" % text[:100])
