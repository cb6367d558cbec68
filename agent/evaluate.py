# Runs the user's code in a frame. Plain expressions are evaluated here; all else,
# errors, output and torch need the later parts of those names (dispatch.py,
# need), names that are not the frame's a part that the client sends (meanings.py).
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
            add_children(session, arguments, value, body)
        return body

    return run_in_frame(session, arguments, describe)


# Characters of a repr, by what the client wants it for.
_LIMITS = {"watch": 10000, "variables": 10000, "clipboard": 16000000}


def run_in_frame(session, arguments, use):
    """use(value, is_statement) for the value of arguments["expression"] in the
    frame frameId, or in __main__ without one. Failure expression-failed or
    cancelled."""
    text = field(arguments, "expression", str).strip()
    keep = arguments.get("hangdbg/keep")
    run = run_with_meanings if means_more(session, text, keep) else _run
    place, extra = None, {}
    if arguments.get("frameId") is not None:
        place = find_frame(session, arguments)
        extra = session.extras.get(session.keys[arguments["frameId"]], extra)
    try:
        return run_user_code(session, lambda: _show(use, *run(session, place, text, extra, keep)))
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
        except Cancelled as error:
            if ident not in session.standing:
                _release_left(error.__traceback__)
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


def _release_left(trace):
    """Cancelled may have come between the taking of a lock and the `try` that gives it
    back (injector/bootstrap/cancel.c): where our thread, which ends, is its owner, and a
    function on the way that the program has names it, it is released. The program's
    thread would wait for ever."""
    while trace:
        frame, trace = trace.tb_frame, trace.tb_next
        try:
            names = frame.f_code.co_names
            if frame.f_code.co_filename == "<expression>":
                continue
            found = [frame.f_globals.get(name) for name in names]
            for value in list(frame.f_locals.values()):
                found += _own_values(value, names)
            for one in found:
                while type(one) is _thread.RLock and one._is_owned():
                    one.release()
        except Exception:  # of an audit hook
            pass


def _own_values(value, names):
    """Its own, without calling what the program may have in place of a look-up."""
    try:
        inner = object.__getattribute__(value, "__dict__")
    except Exception:
        inner = None
    return [inner.get(name) for name in names] if type(inner) is dict else []


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


def _run(session, place, text, extra, keep):
    """(value, whether text is a statement). extra: the names that expressions
    bound in this frame before, and its function has no place for."""
    try:
        code = compile(text, "<expression>", "eval", 0, True)
    except SyntaxError:
        code = None
    if place is None or _is_module(place):
        local = names = sys.modules["__main__"].__dict__ if place is None else place[3]
        place = None
    else:
        local, names = {**locals_of(place), **extra}, place[3]
    if code is not None and (place is None or ":=" not in text and not has_functions(code)):
        return eval(code, names, local), False
    need("statements")
    return execute(_read(text), place, names, local, extra)


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
