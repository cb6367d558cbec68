# Where threads of the program stop by themselves: at the next line of one
# that is stepped (stepping.py), at breakpoints (breakpoints.py) and exceptions
# (exceptions.py). What is reported at all is up to monitoring.py, or before 3.12 to
# tracing.py.

_plans = {}  # ident of a thread -> its Plan
_breakpoints = []  # those of all sessions
_filters = {}  # session -> {kind of exception: condition} (exceptions.py)
_lines = {}  # id of a code object that has some -> (it, {line: [breakpoint]})
_watcher = {}  # the thread that changes what is watched: None -> (ident,)


def watch(codes=()):
    """Plans, breakpoints or filters have changed. `codes` run on without a start or a
    resume that we would see. One thread at a time: what the first is about to watch
    may be over for the second. (A lock of Python's may be gevent's.)"""
    mine = (_ident(),)
    try:
        for _ in range(5000):
            # By its ident: a signal's handler may come here in the middle of it.
            if _watcher.setdefault(None, mine) == mine:
                break
            _nap()
        else:  # its setter has not deleted it
            _watcher[None] = mine
        watch_for(codes)
    finally:
        if _watcher.get(None) is mine:
            del _watcher[None]


def at_line(frame, line):
    """On a thread that is about to run that line. What it raises is the program's.
    A hot loop may come through here: the way on is short."""
    raised = None
    try:
        hits = reached(frame, line) if _breakpoints else None
        if hits or _plans:
            raised = _stand_at(frame, line, hits or {})
    except BaseException as error:
        if is_programs(error):
            raise
    if raised is not None:
        raise raised


def _stand_at(frame, line, hits):
    """For one client after another; what the program is to raise then, or None."""
    ident = _ident()
    plan = _plans.get(ident)
    if plan is not None and (plan.session in hits or plan.wants(frame, line)):
        _end(ident, plan)
        hits.setdefault(plan.session, [])
    raised = None
    for session, ids in hits.items():
        if raised is None:
            own = plan if plan is not None and plan.session is session else None
            reason = reason_of(ids) if ids else plan.reason
            if own and own.watch is not None and not ids:
                reason, ids = own.watch.reason, own.watch.hits
            raised = stand_here(session, ident, reason,
                                returned=own.returned if own else (), **(
                                    {"hitBreakpointIds": ids} if ids else {}), **(
                                    {"description": own.description}
                                    if own and own.description else {}))
    return raised


def stand_here(session, ident, reason, **more):
    number = _come(session.index)
    if number is None:
        return None
    try:
        return keep_standing(session, number, ident, reason, **more)
    finally:
        _gone(number)


def lines_in(code):
    """The lines at which something of it begins, in the order of its bytecode."""
    if hasattr(code, "co_lines"):
        return [line for _, _, line in code.co_lines() if line is not None]
    lines, line = [code.co_firstlineno], code.co_firstlineno
    for step, change in zip(code.co_lnotab[::2], code.co_lnotab[1::2]):
        line += change - 256 * (change > 127)
        if step or change:
            lines.append(line)
    return lines


def speak(session, event, **body):
    """To its client, from any thread. What finds no room is lost."""
    ident = _ident()
    if ident != session.ident and ident not in session.standing:
        tell_aside(session, event, **body)
    elif _has_room(session.index):
        tell(session, event, **body)


def is_ours(ident):
    """Whether it is an executor, or suspended: what it runs was requested."""
    for session in list(_sessions.values()):
        if ident == session.ident or ident in session.standing or (
                ident in session.given_up):
            return True
    return False


def _end(ident, plan):
    """On the thread itself."""
    if _plans.get(ident) is plan:
        del _plans[ident]
        plan_ended(plan)


def end_stops(session):
    """The session ends, and so does what it had set, in whatever threads."""
    end_plans(session)
    if "end_waits" in globals():
        end_waits(session)
    end_breakpoints(session)
    # The last one takes all that is here with it. Lines are no longer reported: a thread
    # that is not in our code now does not get into it.
    calls_us = was_watching() or "end_waits" in globals()
    while not _sessions and calls_us and any(map(_runs_our_code, _stacks())):
        _nap()


def end_plans(session):
    for ident, plan in list(_plans.items()):
        if plan.session is session:
            del _plans[ident]
            plan_dropped(ident, plan)


def end_breakpoints(session):
    _breakpoints[:] = [one for one in _breakpoints if one.session is not session]
    session.data_breakpoints = []
    _filters.pop(session, None)
    _lines.clear()
    watch()


def _stacks():
    """Of all threads; without a GIL from a pause of the program."""
    stacks = _current_frames()
    return (sys._current_frames() if stacks is None else stacks).values()


def _runs_our_code(stack):
    """Whether it is a thread of the program, with ours on top."""
    ours = [code.co_filename == "<hangdbg>" for _, code, _, _ in _places(stack)]
    return any(ours) and not ours[0]


def codes_on_stacks(session):
    """{id: code} of all that the program runs."""
    return {id(code): code for stack in _other_frames(session).values()
            for _, code, _, _ in _places(stack)}
