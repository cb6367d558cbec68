# How lines come to be reported from 3.12 on: by sys.monitoring, in the code that is
# stepped or has breakpoints, and in no other. With breakpoints each code object is
# looked at once, when it is run for the first time; after that it runs at full
# speed again, and so does each line that has none (DISABLE).

_monitoring = sys.monitoring
_tool = None  # our number, while we have one
_had_tool = False
_reported = {}  # id -> (code of which something is reported, those events)


def was_watching():
    return _had_tool


def watch_for(codes):
    events = _monitoring.events
    if _tool is None and (_plans or _breakpoints or _filters):
        _take_tool()
    if _tool is None:
        return
    wanted = {}

    def want(code, kinds):
        wanted[id(code)] = code, kinds | wanted.get(id(code), (code, 0))[1]

    for plan in list(_plans.values()):
        for code in list(plan.codes.values()):
            want(code, _LINES)
        if plan.leaves is not None:
            want(plan.leaves, _LINES | events.CALL * (plan.calls is not None))
        for code in list((plan.calls or {}).values()):
            want(code, events.PY_RETURN)
    if _breakpoints:
        for code in [*[code for code, _ in _reported.values()], *codes]:
            if lines_of(code):
                want(code, _LINES)
    for number in [number for number in _reported if number not in wanted]:
        _monitoring.set_local_events(_tool, _reported.pop(number)[0], 0)
    for code, kinds in wanted.values():
        _report(code, kinds)
    starts = bool(_breakpoints) or _steps_in()
    _monitoring.set_events(_tool, (events.PY_START | events.PY_RESUME) * starts |
                           _exception_events())
    if _plans or _breakpoints:
        _monitoring.restart_events()
    elif not _filters:
        _give_tool_back()


def cost_of_exceptions(kind):
    return None


def _exception_events():
    events, kinds = _monitoring.events, set().union(*_filters.values())
    stops = any(plan.events is not None for plan in list(_plans.values()))
    return (events.RAISE * ("raised" in kinds or stops) |
            events.PY_UNWIND * ("uncaught" in kinds or "userUnhandled" in kinds or stops or
                                _waits_for_end()) |
            events.EXCEPTION_HANDLED * ("uncaught" in kinds) | events.PY_THROW * stops)


def _waits_for_end():
    """An exception may end what a step stays with; where, no code object can say."""
    return any(plan.suspended is not None for plan in list(_plans.values()))


def plan_made(plan, innermost):
    watch()


def halt_planned(ident, plan):
    watch()


def plan_ended(plan):
    watch()


def plan_dropped(ident, plan):
    pass


def jump_in(frame, line):
    frame.f_lineno = line


def _take_tool():
    global _tool, _had_tool
    _tool = next((tool for tool in (4, 3, 5) if _monitoring.get_tool(tool) is None), None)
    if _tool is None:
        raise Failure("bad-message", "other tools have all numbers of sys.monitoring")
    _monitoring.use_tool_id(_tool, "hangdbg")
    _had_tool = True
    for event, function in _callbacks():
        _monitoring.register_callback(_tool, event, function)


def _callbacks():
    events = _monitoring.events
    return ((events.LINE, _on_line), (events.PY_START, _on_start),
            (events.PY_RESUME, _on_start), (events.PY_RETURN, _on_return),
            (events.PY_YIELD, _on_yield), (events.RAISE, _on_raise),
            (events.PY_UNWIND, _on_unwind), (events.EXCEPTION_HANDLED, _on_handled),
            (events.PY_THROW, _on_start), (events.JUMP, _on_jump), (events.CALL, _on_call))


def _give_tool_back():
    global _tool
    for event, _ in _callbacks():
        _monitoring.register_callback(_tool, event, None)
    _monitoring.free_tool_id(_tool)
    _tool = None
    _reported.clear()


def _steps_in():
    return any(plan.frames is None for plan in list(_plans.values()))


_LINES = (_monitoring.events.LINE | _monitoring.events.PY_RETURN |
          _monitoring.events.PY_YIELD | _monitoring.events.JUMP)


def report(code):
    _report(code, _LINES | _reported.get(id(code), (code, 0))[1])


def _report(code, kinds):
    if _reported.get(id(code), (code, 0))[1] != kinds:
        _reported[id(code)] = code, kinds
        _monitoring.set_local_events(_tool, code, kinds)


_IN_PYTHON, _METHOD = type(report), type(report.__get__(0))  # functions, methods


def _on_call(code, offset, function, argument):
    """A line that is stepped over calls something: if that is Python, its value counts."""
    if not _plans:
        return _monitoring.DISABLE
    try:
        plan = _plans.get(_ident())
        if plan is None or plan.calls is None or id(sys._getframe(1)) != plan.innermost:
            return None
        function = function.__func__ if type(function) is _METHOD else function
        if type(function) is _IN_PYTHON:
            called = function.__code__
            plan.calls[id(called)] = called
            _report(called, _monitoring.events.PY_RETURN |
                    _reported.get(id(called), (code, 0))[1])
    except BaseException as error:
        if is_programs(error):
            raise
    return None


def _on_line(code, line):
    found = _lines.get(id(code))
    if (found is None or line not in found[1]) and not _is_stepped(code):
        return _monitoring.DISABLE
    at_line(sys._getframe(1), line)


def _is_stepped(code):
    """Whether a line of it may be what a step goes to."""
    return bool(_plans) and any(plan.frames is None or id(code) in plan.codes
                                for plan in list(_plans.values()))


def _on_start(code, offset, thrown=None):
    """A function begins, or a generator resumes, also by what it is to raise; in some
    thread."""
    raised = None
    try:
        plan = _plans.get(_ident())
        if plan is not None and plan.frames is None and code.co_filename != "<hangdbg>":
            plan.codes[id(code)] = code
            report(code)
        if _breakpoints and lines_of(code):
            report(code)
        if plan is not None and plan.events is not None:
            raised = plan.events.on_call(sys._getframe(1))
        elif thrown is None and not _steps_in():
            return _monitoring.DISABLE
    except BaseException as error:
        if is_programs(error):
            raise
    if raised is not None:
        raise raised


def _on_jump(code, offset, to):
    """Back to the same line, which is not reported as one: for a step, it is."""
    if to > offset or not _plans:
        return _monitoring.DISABLE
    plan = _plans.get(_ident())
    if plan is None or plan.events is None:
        return None
    raised = None
    try:
        line = _line_of(code, offset)
        if line == _line_of(code, to):
            raised = _stand_at(sys._getframe(1), line, {})
    except Cancelled:  # what is debugged: a loop may be here most of its time
        raise
    except BaseException as error:
        if is_programs(error):
            raise
    if raised is not None:
        raise raised


def _line_of(code, offset):
    return next((line for start, end, line in code.co_lines() if start <= offset < end), None)


def _on_return(code, offset, value):
    if not _plans:
        return _monitoring.DISABLE
    raised = None
    try:
        plan = _plans.get(_ident())
        if plan is not None:
            frame = sys._getframe(1)
            plan.returns(frame, value)
            _goes_on_in_callers(plan, frame)
            if plan.events is not None:
                raised = plan.events.on_return(frame, value)
            else:
                raised = comes_back(plan, frame)
    except BaseException as error:
        if is_programs(error):
            raise
    if raised is not None:
        raise raised


def _on_yield(code, offset, value):
    if not _plans:
        return _monitoring.DISABLE
    raised = None
    try:
        plan = _plans.get(_ident())
        if plan is not None and plan.suspended is None:
            frame = sys._getframe(1)
            if plan.yields(frame):
                watch()
            elif plan.events is not None:
                raised = plan.events.on_return(frame, value, True)
    except BaseException as error:
        if is_programs(error):
            raise
    if raised is not None:
        raise raised


def _goes_on_in_callers(plan, frame):
    if plan.ends(frame):
        watch()


def _on_raise(code, offset, error):
    """In each function that it passes."""
    plan, raised = _plans.get(_ident()) if _plans else None, None
    if plan is not None and plan.events is not None:
        try:
            raised = plan.events.on_raise(sys._getframe(1), error, error.__traceback__)
        except BaseException as failure:
            if is_programs(failure):
                raise
    if raised is not None:
        raise raised
    if _filters and error.__traceback__ is not None:
        at_exception("raised", sys._getframe(1), error)


def _on_unwind(code, offset, error):
    """It leaves a function."""
    frame = sys._getframe(1)
    plan = _plans.get(_ident()) if _plans else None
    raised = None
    if plan is not None:
        try:
            if plan.suspended is not None:
                _goes_on_in_callers(plan, frame)
            elif plan.events is not None:
                raised = plan.events.on_return(frame, None)
        except BaseException as failure:
            if is_programs(failure):
                raise
    if raised is not None:
        raise raised
    if not _filters:
        return
    caller = frame.f_back
    if caller is None:
        at_exception("uncaught", frame, error, True)
    if not is_library(code) and (caller is None or is_library(caller.f_code)):
        at_exception("userUnhandled", frame, error)


def _on_handled(code, offset, error):
    """Of what is left of a thread's function, threading tells by its excepthook."""
    if code.co_name == "_bootstrap_inner" and code.co_filename.endswith("/threading.py"):
        at_exception("uncaught", sys._getframe(1), error)
