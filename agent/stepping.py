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
        self.returned = []  # (name, value) of the last of them that has returned
        self.calls = None  # where values are shown: id -> code of what it calls
        self.leaves_it = False  # the innermost is not to be stopped in
        self.suspended = None  # the frame, by id, that has to resume or to end first
        self.events = None  # what it stops for besides lines (pdb_stops.py)
        self.watch = None  # what is to change: a Watch, or several
        self.description = None  # what has, where it stops

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
            self.returned = [(frame.f_code.co_name, value)]
        elif self.is_called(frame) and not frame.f_code.co_flags & 0x220:  # no generator
            self.returned = self.returned[-99:] + [(frame.f_code.co_name, value)]

    def is_called(self, frame):
        """By the line that is stepped over, where the values of its calls are shown."""
        return self.calls is not None and id(frame.f_back) == self.innermost

    def wants(self, frame, line):
        if is_our_code(frame) or self.passes_by(frame.f_code):
            return False
        if self.reason == "entry" and not (frame.f_code.co_name == "<module>" and
                                           frame.f_globals.get("__name__") == "__main__"):
            return False
        if self.call is not None:
            return self._wants_of_call(frame, line, *self.call)
        if self.events is not None and self.events.was_typed_at(frame, line):
            return False
        if self.frames is not None and id(frame) not in self.frames:
            return False
        if self.watch is not None:
            self.description = self.watch.change(frame)
            return self.description is not None
        return self.frames is None or id(frame) != self.innermost or line >= self.line

    def _wants_of_call(self, frame, line, frames, offsets, first, last):
        caller = frame.f_back
        if id(caller) == self.innermost and caller.f_lasti in offsets:
            return True
        return id(frame) in frames and not (
            id(frame) == self.innermost and first <= line <= last)

    def passes_by(self, code):
        return self.session.just_my_code and (
            self.reason == "step" and self.call is None and is_library(code))


class Watch:
    """An expression in one frame of a thread, which is known by its id; and what was shown
    of its value: so a list changes that gets another element, and nothing of it is kept."""

    reason = "step"
    hits = ()  # breakpoints

    def __init__(self, text, frame):
        need("safe_repr")
        self.text = text
        self.value = expression(text, "<watch>")
        self.frame = id(frame)
        self.end = "is suspended, or has returned" if frame.f_code.co_flags & 0x2a0 else (
            "has returned")  # 0x2a0: generators and coroutines, Include/code.h
        self.shown = self._show(frame)

    def _show(self, frame):
        try:
            return safe_repr(self.value(frame), 2, 200)
        except Exception as error:
            return type_name(type(error))

    def change(self, frame):
        """In words; None: there is none."""
        frame = self.frame_above(frame)
        if frame is None:
            return "%s = %s, and its function %s" % (self.text, self.shown, self.end)
        before, self.shown = self.shown, self._show(frame)
        return None if self.shown == before else "%s = %s, was %s" % (
            self.text, self.shown, before)

    def frame_above(self, frame):
        """Its own, of that one and its callers; None: it is not there."""
        while frame is not None and id(frame) != self.frame:
            frame = frame.f_back
        return frame


def step(session, ident, left, kind, line, call=None, events=False, watched=None):
    """On the thread, which resumes now: "next", "stepIn" (into a call: offsets of its
    instructions, first and last line of its statement), "stepOut", "until"; `watched`: what
    makes a Watch of its frames, outermost first. `left`: the frame, by id, that has just
    returned."""
    innermost = _programs(sys._getframe())
    if id(innermost) == left:
        innermost = innermost.f_back
    is_over = events and is_returning(ident, innermost)
    outermost = innermost.f_back if kind == "stepOut" or is_over else innermost
    if is_over and (outermost is None or outermost.f_code.co_filename == "<hangdbg run>"):
        return  # it was the program's last
    frames, codes = _callers(outermost)
    is_anywhere = kind == "stepIn" or watched or is_over and kind != "stepOut"
    if is_over:
        innermost, line = outermost, 0
    plan = _plans[ident] = Plan(session, None if is_anywhere else frames, codes,
                                id(innermost), line, "step")
    plan.leaves = innermost.f_code
    plan.leaves_it = kind == "stepOut" and not is_over
    plan.call = call and (frames, *call)
    if kind == "next" and not events:
        plan.calls = {}
    if watched:
        plan.watch = watched([frame for frame, code, _, _ in _places(innermost)
                              if code.co_filename != "<hangdbg>"])
    elif events:
        plan.events = Events(plan, kind, innermost, is_over)
    plan_made(plan, innermost)


def comes_back(plan, frame):
    """An editor's stepOut: the function has returned, and its thread stops in the caller,
    whose line is not over: what that still calls can be stepped into. What this raises
    in the program."""
    caller = frame.f_back
    if not plan.leaves_it or plan.events is not None or caller is None or (
            id(frame) != plan.innermost and id(frame) not in plan.frames) or (
            is_our_code(caller) or plan.passes_by(caller.f_code)):
        return None
    ident = _ident()
    _end(ident, plan)
    return stand_here(plan.session, ident, "step", returned=plan.returned, left=id(frame))


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
    give_up_plan(session, _ident_of(session, field(arguments, "threadId", int)))
    return let_go(session, arguments)


def give_up_plan(session, ident):
    plan = _plans.get(ident)
    if plan is not None and plan.session is session:
        del _plans[ident]
        plan_dropped(ident, plan)
        watch()


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
        watched = None
        if arguments.get("hangdbg/watch") is not None:
            watched = _watched(arguments["hangdbg/watch"], field(arguments, "hangdbg/frame", int))
        standing.plan = kind, field(arguments, "line", int, 0), call, events, watched
        goes_on(session, ident)
        return {}
    return go


def _watched(text, number):
    """In which frame from the outermost on."""
    try:
        compile(text.strip(), "<watch>", "eval", 0, True)
    except SyntaxError as error:
        raise Failure("expression-failed", "SyntaxError: " + str(error.msg))
    return lambda shown: Watch(text, shown[min(number, len(shown)) - 1])


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
            if id(frame) == standing.left:
                raise Failure("expression-failed", "a jump starts at a line, and the thread "
                              "has stopped in the middle of one: n first")
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
