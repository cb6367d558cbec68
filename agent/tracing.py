# How lines come to be reported up to 3.11: by a trace function in C
# (bootstrap/trace.c), in frames whose code has breakpoints (bootstrap/breaks.c) and
# in threads that are stepped. It asks only about lines that have one, and about the
# one frame that counts for a step.


def watch():
    """Plans or breakpoints have changed."""
    if _breakpoints or _halts():
        _break_lines(_lines_wanted, _on_line)
    else:
        _break_lines(None, None)


def _halts():
    """The plans of threads that run and are to stop at their next line: each line of
    the code on their stacks is a breakpoint for them, and no other thread's."""
    return [plan for plan in list(_plans.values()) if plan.reason == "pause"]


def report(code):
    """That code has breakpoints: it is asked about when it is run."""


def can_watch_exceptions():
    return False


def plan_made(plan, innermost):
    """On the thread itself."""
    _trace(_on_event, None if plan.frames is None else innermost)


def halt_planned(ident, plan):
    watch()


def plan_ended(plan):
    """On the thread itself."""
    if plan.reason == "pause":
        watch()
    else:
        _trace(None, None)


def plan_dropped(ident, plan):
    """On another thread."""
    if plan.reason != "pause":
        _untrace(ident)


def jump_in(frame, line):
    """Only a frame that has a trace function may (Objects/frameobject.c)."""
    before = frame.f_trace
    frame.f_trace = jump_in
    try:
        frame.f_lineno = line
    finally:
        frame.f_trace = before


def _lines_wanted(code):
    """Once for each code object, before it is run: a tuple, or None."""
    try:
        if any(id(code) in plan.codes for plan in _halts()):
            return tuple(lines_in(code))
        return tuple(lines_of(code)) or None if _breakpoints else None
    except BaseException as error:
        if is_programs(error):
            raise


def _on_line(frame):
    at_line(frame, frame.f_lineno)


def _on_event(frame, what):
    """From C: 2 a line, 3 a return; of other frames than the one that was given to
    _trace only if that was None."""
    if what == 2:
        at_line(frame, frame.f_lineno)
        return
    try:
        ident = _ident()
        plan = _plans.get(ident)
        if what == 3 and plan is not None and plan.frames is not None:
            caller = frame.f_back
            if caller is None:
                _end(ident, plan)
            else:
                _trace(_on_event, caller)
    except BaseException as error:
        if is_programs(error):
            raise
