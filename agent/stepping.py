# Stepping: a thread that was held goes on and is stopped again, at a line of its
# own. Sent when the first is to be stepped (dispatch.py, load).
#
# From 3.12 on by sys.monitoring, in the code of the frames that count and nowhere
# else; before that by a trace function in C (bootstrap/trace.c), in that thread
# alone. A frame is known by its id while it is on the stack: none is kept.


class Plan:
    """At which line a thread is to be stopped: at the next one of these frames (by
    id), or of any (None); in the innermost of them not before `line`."""

    def __init__(self, session, frames, codes, innermost, line, before):
        self.session = session
        self.frames = frames
        self.codes = codes
        self.innermost = innermost
        self.line = line
        self.before = before  # the thread's own trace function, up to 3.11

    def wants(self, frame, line):
        if self.frames is None:
            return frame.f_code.co_filename != "<hangdbg>"
        return id(frame) in self.frames and not (
            id(frame) == self.innermost and line < self.line)


_plans = {}  # ident of a thread -> its Plan


def step(session, ident, kind, line):
    """On the thread, which goes on now: "next", "stepIn", "stepOut", "until"."""
    frame = _programs(sys._getframe())
    innermost = frame
    if kind == "stepOut":
        frame = frame.f_back
    frames, codes = set(), set()
    while frame is not None:
        frames.add(id(frame))
        codes.add(frame.f_code)
        frame = frame.f_back
    plan = _plans[ident] = Plan(
        session, None if kind == "stepIn" else frames, codes, id(innermost), line,
        sys.gettrace() if _monitoring is None else None)
    if _monitoring is None:
        _trace(None, None)  # of a thread with the same ident that has ended
        _trace(_on_event, None if plan.frames is None else innermost)
    else:
        _watch()


def _stop(plan, ident):
    """The thread is where it was to be stopped. What it is to raise then, or
    None."""
    _end(ident, plan)
    number = _come(plan.session.index)
    if number is None:
        return None
    try:
        return keep_standing(plan.session, number, ident, "step", "step")
    finally:
        _gone(number)


def _end(ident, plan):
    """On the thread itself."""
    if _plans.get(ident) is not plan:
        return
    del _plans[ident]
    if _monitoring is not None:
        _watch()
        return
    _trace(None, None)
    if plan.before is not None:
        sys.settrace(plan.before)


def end_steps(session):
    """The session ends, and so do its plans; in whatever threads."""
    for ident, plan in list(_plans.items()):
        if plan.session is session:
            del _plans[ident]
            if _monitoring is None:
                _untrace(ident, plan.before)
    if _monitoring is not None:
        _watch()
    # The last one takes all that is here with it.
    while not _sessions and any(map(_runs_our_code, sys._current_frames().values())):
        _nap()


def _runs_our_code(frame):
    """Whether it is a thread of the program, with ours on top."""
    ours = False
    while frame is not None:
        outermost = frame.f_code.co_filename == "<hangdbg>"
        ours |= outermost
        frame = frame.f_back
    return ours and not outermost


# ---- up to 3.11

def _on_event(frame, what):
    """From C: 2 a line, 3 a return; of other frames than the one that was given to
    _trace only if that was None."""
    raised = None
    try:
        ident = _ident()
        plan = _plans.get(ident)
        if plan is None:
            return
        if what == 2 and plan.wants(frame, frame.f_lineno):
            raised = _stop(plan, ident)
        elif what == 3 and plan.frames is not None:
            caller = frame.f_back
            if caller is None:
                _end(ident, plan)
            else:
                _trace(_on_event, caller)
    except BaseException as error:
        if is_programs(error):
            raise
    if raised is not None:
        raise raised


# ---- from 3.12 on

_monitoring = getattr(sys, "monitoring", None)
_tool = None  # our number, while we have one
_watched = {}  # code -> 1


def _watch():
    """Has lines reported in the code that the plans want, and in no other."""
    global _tool
    events = _monitoring.events
    if _plans and _tool is None:
        _tool = next(tool for tool in (4, 3, 5) if _monitoring.get_tool(tool) is None)
        _monitoring.use_tool_id(_tool, "hangdbg")
        _monitoring.register_callback(_tool, events.LINE, _on_line)
        _monitoring.register_callback(_tool, events.PY_START, _on_start)
        _monitoring.register_callback(_tool, events.PY_RESUME, _on_start)
    if _tool is None:
        return
    wanted = set().union(*(plan.codes for plan in list(_plans.values())))
    for code in list(_watched):
        if code not in wanted:
            del _watched[code]
            _monitoring.set_local_events(_tool, code, 0)
    for code in wanted:
        if code not in _watched:
            _watched[code] = 1
            _monitoring.set_local_events(_tool, code, events.LINE)
    steps_in = any(plan.frames is None for plan in list(_plans.values()))
    _monitoring.set_events(_tool, (events.PY_START | events.PY_RESUME) * steps_in)
    if not _plans:
        for event in (events.LINE, events.PY_START, events.PY_RESUME):
            _monitoring.register_callback(_tool, event, None)
        _monitoring.free_tool_id(_tool)
        _tool = None


def _on_line(code, line):
    raised = None
    try:
        ident = _ident()
        plan = _plans.get(ident)
        if plan is not None and plan.wants(sys._getframe(1), line):
            raised = _stop(plan, ident)
    except BaseException as error:
        if is_programs(error):
            raise
    if raised is not None:
        raise raised


def _on_start(code, offset):
    """A function begins, or a generator goes on, in some thread."""
    try:
        plan = _plans.get(_ident())
        if plan is not None and plan.frames is None and code.co_filename != "<hangdbg>":
            plan.codes.add(code)
            _watch()
    except BaseException as error:
        if is_programs(error):
            raise


def _go(kind):
    def go(session, arguments):
        if "t" in getattr(sys, "abiflags", ""):
            # That no thread is in our code can't be seen without a GIL.
            raise Failure("bad-message", "threads without a GIL cannot be stepped yet")
        ident = _ident_of(session, field(arguments, "threadId", int))
        standing = session.standing.get(ident)
        if standing is None:
            raise Failure("bad-message", "the thread is not held")
        standing.plan = kind, field(arguments, "line", int, 0)
        goes_on(session, ident)
        return {}
    return go


handlers.update({kind: _go(kind) for kind in ("next", "stepIn", "stepOut")})
handlers["hangdbg/until"] = _go("until")
