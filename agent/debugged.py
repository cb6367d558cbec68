# debug: what the client has typed runs in a suspended thread, and is stopped in from
# its first line on. Then the thread is suspended where it was.
#
# The thread is resumed for it: so the executor is free meanwhile, and its stops are
# like any other. On its stack what runs lies above our code, and that above the
# program's (frames.py, _programs).


def debug(session, arguments):
    """On the thread itself, whose frame is asked about."""
    ident = _ident_of(session, field(arguments, "threadId", int))
    text = field(arguments, "expression", str).strip()
    standing = session.standing.get(ident)
    if standing is None:
        raise Failure("bad-message", "the thread is not suspended")
    place = find_frame(session, arguments)
    run = run_with_meanings if means_more(session, text) else _run
    extra = session.extras.setdefault(session.keys[arguments["frameId"]], {})
    try:
        compile(text, "<expression>", "exec", 0, True)
    except SyntaxError as error:
        raise Failure(*told(error, "expression-failed"))
    standing.debugs = run, text, place, extra
    goes_on(session, ident)
    return {}


def debugged(session, number, ident, standing):
    """On the thread, until it resumes. What it is to raise then."""
    said = run_debugged(session, number, ident, *standing.debugs)
    return stand_here(session, ident, "step", text=said, error=standing.error,
                      in_call=standing.in_call)


def run_debugged(session, number, ident, run_text, text, place, extra):
    """How it ended, in one line."""
    outcome = []

    def run():
        plan = _plans[ident] = Plan(session, None, {}, 0, 0, "step")
        try:
            plan_made(plan, None)
            value, statement = run_text(session, place, text, extra, False)
            shown = not statement and value is not None
            outcome[:] = [": " + _show(repr, value)[:1000] if shown else ""]
        except Cancelled:
            raise
        except BaseException as error:
            outcome[:] = [" raised " + told(error, "expression-failed")[1]]
            forget_our_frames(error)
        finally:
            plan = _plans.get(ident)
            if plan is not None and plan.session is session:
                _end(ident, plan)

    streams = redirect(lambda name: _speaker(session, name), run_debugged.__code__)
    try:
        # In a trace function nothing is traced, but by this.
        _run_debugged(number, lambda: sys.call_tracing(run, ()))
    except Cancelled:
        pass
    finally:
        put_back(streams)
    return "debug has ended" + (outcome[0] if outcome else "")


def _speaker(session, name):
    def write(text):
        speak(session, "output", category=name, output=text)
        return len(text)
    return write


handlers["hangdbg/debug"] = debug
