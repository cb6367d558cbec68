# Stepping: a held thread resumes and is stopped again, at a line of its
# own; and halting one that runs. A frame is known by its id while it is on the
# stack: none is kept.


class Plan:
    """At which line a thread is to be stopped: at the next one of these frames (by
    id), or of any (None); in the innermost of them not before `line`."""

    def __init__(self, session, frames, codes, innermost, line, reason):
        self.session = session
        self.frames = frames
        self.call = None  # for None: also in what a call makes (step_targets.py)
        self.codes = codes  # id -> code, of what is on its stack
        self.innermost = innermost
        self.leaves = None  # the code of the one that is stepped out of
        self.line = line
        self.reason = reason
        self.returned = None  # (name, value) of the last of them that has returned
        self.leaves_it = False  # the innermost is not to be stopped in
        self.suspended = None  # the frame, by id, that has to resume or to end first
        self.events = None  # what it stops for besides lines (pdb_stops.py)

    def yields(self, frame):
        """A generator or coroutine suspends itself. Whether the step stays with it: what
        runs meanwhile, an event loop or the consumer of what it yields, is not stopped."""
        if self.suspended is not None or self.reason != "step":
            return self.suspended == id(frame)
        is_first = id(frame) == self.innermost
        if self.frames is None and not (is_first and frame.f_code.co_flags & 0x180) or (
                self.frames is not None and not is_first and id(frame) not in self.frames):
            return False  # 0x180: what awaits, Include/code.h
        self.suspended = id(frame)
        self.call = None
        self.frames = set() if is_first and self.leaves_it else {id(frame)}
        self.codes = {id(frame.f_code): frame.f_code}
        return True

    def ends(self, frame):
        """It returns, or an exception leaves it. Whether the step continues in its callers."""
        if self.suspended is None or self.suspended != id(frame):
            return False
        self.suspended = None
        self.frames, self.codes = _callers(frame.f_back)
        return True

    def returns(self, frame, value):
        if id(frame) == self.innermost or self.frames and id(frame) in self.frames:
            self.returned = frame.f_code.co_name, value

    def wants(self, frame, line):
        if is_our_code(frame) or self._passes_by(frame.f_code):
            return False
        if self.reason == "entry" and not (frame.f_code.co_name == "<module>" and
                                           frame.f_globals.get("__name__") == "__main__"):
            return False
        if self.call is not None:
            return self._wants_of_call(frame, line, *self.call)
        if self.events is not None and self.events.was_typed_at(frame, line):
            return False
        return self.frames is None or id(frame) in self.frames and not (
            id(frame) == self.innermost and line < self.line)

    def _wants_of_call(self, frame, line, frames, offsets, first, last):
        caller = frame.f_back
        if id(caller) == self.innermost and caller.f_lasti in offsets:
            return True
        return id(frame) in frames and not (
            id(frame) == self.innermost and first <= line <= last)

    def _passes_by(self, code):
        return self.session.just_my_code and (
            self.reason == "step" and self.call is None and is_library(code))


def step(session, ident, kind, line, call=None, events=False):
    """On the thread, which resumes now: "next", "stepIn" (into a call: offsets of its
    instructions, first and last line of its statement), "stepOut", "until"."""
    innermost = _programs(sys._getframe())
    is_over = events and is_returning(ident, innermost)
    outermost = innermost.f_back if kind == "stepOut" or is_over else innermost
    if is_over and (outermost is None or outermost.f_code.co_filename == "<hangdbg run>"):
        return  # it was the program's last
    frames, codes = _callers(outermost)
    is_anywhere = kind == "stepIn" or is_over and kind != "stepOut"
    if is_over:
        innermost, line = outermost, 0
    plan = _plans[ident] = Plan(session, None if is_anywhere else frames, codes,
                                id(innermost), line, "step")
    plan.leaves = innermost.f_code
    plan.leaves_it = kind == "stepOut" and not is_over
    plan.call = call and (frames, *call)
    if events:
        plan.events = Events(plan, kind, innermost, is_over)
    plan_made(plan, innermost)


def plan_entry(session, ident):
    """On the thread, which resumes: to the first line of the program (start.py)."""
    if ident not in _plans:
        plan = _plans[ident] = Plan(session, None, {}, 0, 0, "entry")
        plan_made(plan, None)


def halt(session, arguments):
    """A thread that runs: at its next line, whichever that is."""
    if is_dormant(session):
        raise Failure("not-permitted", DORMANT)
    ident = _ident_of(session, field(arguments, "threadId", int))
    other = _plans.get(ident)
    standing = session.standing.get(ident)
    if standing is not None and not standing.leaves or (
            other is not None and other.session is not session):
        raise Failure("held-already", "the thread is already suspended")
    stack = _other_frames(session).get(ident)
    codes = {id(code): code for _, code, _, _ in _places(stack)}
    plan = _plans[ident] = Plan(session, None, codes, 0, 0, "pause")
    try:
        halt_planned(ident, plan)
    except BaseException:
        del _plans[ident]
        raise
    return {}


def go_on(session, arguments):
    """Lets it go, and gives up what it was to stop for."""
    ident = _ident_of(session, field(arguments, "threadId", int))
    plan = _plans.get(ident)
    if plan is not None and plan.session is session:
        del _plans[ident]
        plan_dropped(ident, plan)
        watch()
    return let_go(session, arguments)


def _callers(frame):
    """The ids of a frame and its callers, and their code by id."""
    frames, codes = set(), {}
    while frame is not None:
        frames.add(id(frame))
        codes[id(frame.f_code)] = frame.f_code
        frame = frame.f_back
    return frames, codes


def _go(kind):
    def go(session, arguments):
        ident = _ident_of(session, field(arguments, "threadId", int))
        standing = session.standing.get(ident)
        if standing is None:
            raise Failure("bad-message", "the thread is not suspended")
        call = None
        if arguments.get("targetId") is not None:
            call = standing.calls.get(field(arguments, "targetId", int))
            if call is None:
                raise Failure("bad-message", "no such target: the thread has gone on since")
        events = field(arguments, "hangdbg/events", bool, False)
        standing.plan = kind, field(arguments, "line", int, 0), call, events
        goes_on(session, ident)
        return {}
    return go


def just_my_code(session, arguments):
    session.just_my_code = True
    return {}


def goto_targets(session, arguments):
    line = field(arguments, "line", int)
    return {"targets": [{"id": line, "label": "line %d" % line, "line": line}]}


def goto(session, arguments):
    """Its innermost function continues at another line, if Python allows that."""
    ident = _ident_of(session, field(arguments, "threadId", int))
    line = field(arguments, "targetId", int)
    standing = session.standing.get(ident)
    if standing is None:
        raise Failure("bad-message", "the thread is not suspended")

    def jump(session, arguments):
        frame = _programs(sys._getframe())
        try:
            jump_in(frame, line)
        except ValueError as error:
            raise Failure("expression-failed", str(error) if not standing.in_call else
                          "a jump starts where the thread has stopped at a line, and it is "
                          "still inside a call: n first")
        tell(session, "stopped", reason="goto", threadId=_thread_id(ident),
             allThreadsStopped=False)
        return {}

    return standing.run(jump, session, arguments)


handlers.update({"continue": go_on, "hangdbg/halt": halt, "goto": goto, "gotoTargets": goto_targets})
handlers.update({kind: _go(kind) for kind in ("next", "stepIn", "stepOut")})
handlers.update({"hangdbg/until": _go("until"), "hangdbg/justMyCode": just_my_code})
