# Runs the user's code in a frame. Plain expressions are evaluated here; all else,
# errors, output and torch need the later parts of those names (dispatch.py,
# need).
#
# User code runs only inside _run_cancellable, and whatever it raises, SystemExit
# too, becomes a Failure.


class Cancelled(BaseException):
    """Raised in our thread by the bootstrap to end an evaluation."""


def evaluate(session, arguments):
    context = field(arguments, "context", str, "")
    if context == "hover":
        need("variables")
        return hover(session, arguments)
    limit = max(field(arguments, "hangdbg/limit", int, _LIMITS.get(context, 1000000)), 0)
    width = field(arguments, "hangdbg/pretty", int, 0)
    expands = context in ("watch", "repl", "variables")
    if expands:
        need("variables")
    if width > 0 and "pretty" not in globals():
        raise Failure("bad-message", "hangdbg/pretty needs objects.py loaded")

    def describe(value, statement):
        text = pretty(value, width) if width > 0 else repr(value)
        body = {"result": text[:limit], "type": type_name(type(value)),
                "variablesReference": 0,
                "hangdbg": {"statement": statement, "none": value is None,
                            "truncated": max(len(text) - limit, 0)}}
        if expands:
            if statement and value is None:
                body["result"] = ""  # as at a prompt
            text = arguments["expression"].strip()
            body.update(expandable(session, arguments.get("frameId", 0), value,
                                   text if is_chain(text) else "", {}))
        return body

    return run_in_frame(session, arguments, describe)


# Characters of a repr, by what the client wants it for.
_LIMITS = {"watch": 10000, "variables": 10000, "clipboard": 16000000}


def run_in_frame(session, arguments, use):
    """use(value, is_statement) for the value of arguments["expression"] in the
    frame frameId, or in __main__ without one. Failure expression-failed or
    cancelled."""
    text = field(arguments, "expression", str).strip()
    forget_extras(session)
    place = None
    extra = {}
    if arguments.get("frameId") is not None:
        place = find_frame(session, arguments)
        extra = session.extras.get(session.keys[arguments["frameId"]], extra)
        session.asked = session.keys[arguments["frameId"]][0]
    try:
        keep = field(arguments, "hangdbg/keep", bool, False)
        return run_user_code(
            session, lambda: _show(use, *_run(session, place, text, extra, keep)))
    finally:
        if extra:
            session.extras[session.keys[arguments["frameId"]]] = extra


def run_user_code(session, work):
    """work(), in which code of the program runs, on our thread. Failure
    expression-failed or cancelled."""
    session.stacks = None  # frames of others, which may outlive them
    outcome = []

    def run():
        # A failure leaves as a tuple: an exception that we kept would hold this
        # frame, and this frame it.
        try:
            if "torch" in sys.modules:
                need("tensors")
                take_device(session)
            outcome[:] = [None, work()]
        except Cancelled:
            raise
        except BaseException as error:
            outcome[:] = [_show(told, error, "expression-failed")]
            forget_our_frames(error)

    ident = _thread.get_ident()
    known = ident in _active_threads()
    printed = []  # its Output, once there is some
    streams = redirect(lambda name: _sink(session, printed, name), run_user_code.__code__)
    try:
        _run_cancellable(run)
    except Cancelled:
        outcome[:] = [("cancelled", "cancelled")]
    finally:
        put_back(streams)
        for work in _at_end.pop(ident, ()):
            work()
    if not known:
        # Code that asks for current_thread() enters a _DummyThread for us.
        _active_threads().pop(ident, None)
    if printed:
        printed[0].end()
    if len(outcome) == 1:
        raise Failure(*outcome[0])
    return outcome[1]


def forget_our_frames(error):
    """An exception of the program's own that was raised again lives on: leaves
    on it the traceback that it had, not our frames and the names in them."""
    trace = error.__traceback__
    try:
        while trace and is_made_here(trace.tb_frame.f_code):
            trace = trace.tb_next
    except BaseException:  # an audit hook forbids us to see whose they are
        trace = None
    error.__traceback__ = trace


# What is to be done after a thread's evaluation: inside it, Cancelled may come a
# second time.
_at_end = {}


def _run(session, place, text, extra, keep=False):
    """(value, whether text is a statement). extra: the names that expressions
    bound in this frame before, and its function has no place for. keep: those
    that this one binds are there in later sessions."""
    given = {}
    if "$_" in text:
        for word, (name, value) in convenience_variables(session, place).items():
            if word in text:
                text = text.replace(word, name)
                given[name] = value
    try:
        code = compile(text, "<expression>", "eval", 0, True)
    except SyntaxError:
        code = None
    names = sys.modules["__main__"].__dict__ if place is None else place[3]
    others = names_elsewhere(session, names)
    if place is None or _is_module(place):
        place = None
        uses = code is not None and any(name in others for name in code.co_names)
        local = {**others, **given} if uses or code is not None and given else names
    else:
        local = {**others, **locals_of(place), **extra, **given}
    if code is not None and (place is None or not (
            ":=" in text or has_functions(code) or _is_of_class(place, code))):
        return eval(code, names, local), False
    need("statements")
    if place is None:
        return execute(text, place, names, local, extra)
    mine = {**others, **extra}
    try:
        return execute(text, place, names, local, mine)
    finally:
        _remember(session, others, extra, mine, keep)


def convenience_variables(session, place):
    """pdb's, and by what name each goes in Python: those that there are now."""
    found = {}
    if place is not None:
        found["$_frame"] = "__frame__", place[0]
    for ident, standing in list(session.standing.items()):
        if ident == session.asked:
            if standing.error is not None:
                found["$_exception"] = "__exception__", standing.error[0]
            if standing.returned is not None:
                found["$_retval"] = "__return__", standing.returned[1]
    return found


def names_elsewhere(session, names):
    """What only expressions bound: in other frames of this session, or to be kept by an
    earlier one. It hides no global, none of the frame's names."""
    builtin = sys.modules["builtins"].__dict__
    known = {**sys.__dict__.get(_KEPT_NAMES, {}), **session.names}
    for extra in list(session.extras.values()):
        known.update(extra)
    return {name: known[name] for name in known if name not in names and name not in builtin}


_KEPT_NAMES = "__hangdbg_names_1__"  # of sys; outlives us, which is what is asked for


def _remember(session, others, extra, mine, keep):
    """mine: what others and extra hold, after code has run in the frame."""
    kept = dict(sys.__dict__.get(_KEPT_NAMES, {}))
    for name, value in mine.items():
        if name in extra and extra[name] is value or (
                name not in extra and others.get(name, extra) is value):
            continue
        extra[name] = value
        session.names.pop(name, None)
        if _holds_nothing(value):
            session.names[name] = value
        for elsewhere in list(session.extras.values()):
            if name in elsewhere:
                elsewhere[name] = value
        if keep:
            kept[name] = value
    for name in {**others, **extra}:
        if name not in mine:
            extra.pop(name, None)
            session.names.pop(name, None)
            for elsewhere in list(session.extras.values()):
                elsewhere.pop(name, None)
            if keep:
                kept.pop(name, None)
    if keep and kept:
        sys.__dict__[_KEPT_NAMES] = kept
    elif keep:
        sys.__dict__.pop(_KEPT_NAMES, None)


def _holds_nothing(value):
    """Whether to keep it keeps no object of the program alive: what else an expression
    bound goes when its frame returns."""
    kind = type(value)
    if kind is type(_remember):
        return value.__closure__ is None is value.__defaults__ and (
            value.__code__.co_filename == "<expression>" and not value.__kwdefaults__)
    return any(kind is one for one in (type(None), bool, int, float, str, bytes, type(sys)))


def _is_of_class(place, code):
    """Whether it may mean something else inside of a class: self.__name, super()."""
    return of_function(place) and any(
        name == "super" or name == "__class__" or name[:2] == "__" and name[-2:] != "__"
        for name in code.co_names)


def has_functions(code):
    """Whether there are functions in it: lambdas, generator expressions, ..."""
    return any(type(const) is type(code) for const in code.co_consts)


def _show(show, *arguments):
    """show(*arguments), which may call the program's __repr__ and __str__."""
    if "torch" not in sys.modules:
        return show(*arguments)
    need("tensors")
    return with_metadata_only(show, *arguments)


def _is_module(place):
    # To read a function's f_locals would leave a snapshot there.
    return not of_function(place) and _f_locals(place[0]) is place[3]


def _active_threads():
    return getattr(sys.modules.get("threading"), "_active", {})


def _sink(session, printed, name):
    def write(text):
        if not printed:
            need("output")
            printed.append(Output(session))
        return printed[0].write(name, text)
    return write
