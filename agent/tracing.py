# How lines and exceptions come to be reported up to 3.11: by a trace function in C
# (bootstrap/trace.c), in frames whose code has breakpoints (bootstrap/breaks.c) and
# in threads that are stepped. It asks only about lines that have one, and about the
# one frame that counts for a step. Where exceptions are raised is seen only by
# tracing all threads; that one was not caught, by the hooks that Python calls then.

_GENERATORS = 0x20 | 0x80 | 0x200  # Include/code.h: coroutines too
_YIELD_FROM, _YIELD_VALUE = 72, 86  # Include/opcode.h
_hooks = []  # (the dict of sys or of threading, our Hook in it)

# Before an excepthook. The program may keep it for longer than we are here, and its
# own may hang: so it uses nothing but itself, and is not taken for code of ours.
_HOOK = """
class Hook:
    __slots__ = ("before", "tell")

    def __init__(self, before, tell):
        self.before = before
        self.tell = tell

    def __call__(self, *arguments):
        if self.tell is not None:
            self.tell(*arguments)
        return self.before(*arguments)
"""
exec(compile(_HOOK, "<excepthook of hangdbg>", "exec"), globals())


def watch_for(codes):
    kinds = set().union(*_filters.values())
    on_error = _on_error if any(map(cost_of_exceptions, kinds)) else None
    if _breakpoints or on_error or _halts():
        _break_lines(_lines_wanted, _on_line, on_error)
    else:
        _break_lines(None, None, None)
    if "uncaught" in kinds or "userUnhandled" in kinds:
        _set_hooks()
    else:
        _unset_hooks()


def _halts():
    """The plans of threads that run and are to stop at their next line: each line of
    the code on their stacks is a breakpoint for them, and no other thread's."""
    return [plan for plan in list(_plans.values()) if plan.reason == "pause"]


def report(code):
    """That code has breakpoints: it is asked about when it is run."""


def was_watching():
    return True


def cost_of_exceptions(kind):
    if kind == "uncaught" and sys.version_info >= (3, 8):
        return None
    return "before Python 3.12 all that runs is traced for it, at some times the cost"


def plan_made(plan, innermost):
    """On the thread itself."""
    is_one = plan.frames is not None
    _trace(_on_event, innermost if is_one else None, plan.calls)


def halt_planned(ident, plan):
    watch()


def plan_ended(plan):
    """On the thread itself."""
    if plan.reason == "pause":
        watch()
    else:
        _trace(None, None, None)


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


def _on_error(frame, raised):
    """In each function that it passes; in the first it has no more of a traceback."""
    try:
        error, trace = raised[1], raised[2]
        if is_usual(error):
            return
        error.__traceback__ = trace
        inner = trace.tb_next
    except BaseException as failure:
        if is_programs(failure):
            raise
        return
    at_exception("raised", frame, error)
    if inner is None:
        return
    if sys.version_info < (3, 8) and frame.f_code.co_name == "_bootstrap_inner":
        at_exception("uncaught", frame, error)  # which has no hook there
    elif is_library(frame.f_code) and not is_library(inner.tb_frame.f_code):
        at_exception("userUnhandled", frame, error)


def _set_hooks():
    for name in ("sys", "threading"):
        module = sys.modules.get(name)
        names = module.__dict__ if type(module) is type(sys) else {}
        if "excepthook" in names and all(names is not of for of, _ in _hooks):
            hook = Hook(names["excepthook"], _on_uncaught)
            names["excepthook"] = hook
            _hooks.append((names, hook))


def _unset_hooks():
    """One that the program has put its own before stays, and passes on."""
    for names, hook in _hooks:
        hook.tell = None
        if names["excepthook"] is hook:
            names["excepthook"] = hook.before
    del _hooks[:]


def _on_uncaught(*arguments):
    """As sys.excepthook, or as threading.excepthook (3.8 on)."""
    try:
        error = arguments[0].exc_value if len(arguments) == 1 else arguments[1]
        trace = error.__traceback__
    except BaseException as failure:
        if is_programs(failure):
            raise
        return
    if trace is not None:
        at_exception("uncaught", trace.tb_frame, error)
        if not is_library(trace.tb_frame.f_code):
            at_exception("userUnhandled", trace.tb_frame, error)


def _on_event(frame, returned):
    """From C: None at a line; where it returns, a tuple with the value, or an empty one
    for an exception; a number where it begins; (type, exception, traceback) where one is
    raised. Of other frames than the one that was given to _trace only if that was None, or
    what that one calls returns."""
    if returned is None:
        at_line(frame, frame.f_lineno)
        return
    raised = None
    try:
        ident = _ident()
        plan = _plans.get(ident)
        if plan is None:
            return
        events = plan.events
        if type(returned) is int or len(returned) == 3:
            if events is not None and type(returned) is not int:
                raised = events.on_raise(frame, *returned[1:])
            elif events is not None and plan.suspended is None:
                raised = events.on_call(frame)
        elif returned and _yields(frame):
            if plan.yields(frame):
                _trace(_on_event, frame, None)
            elif events is not None:
                raised = events.on_return(frame, returned[0], True)
        else:
            if returned:
                plan.returns(frame, returned[0])
            if plan.is_called(frame):
                return
            plan.ends(frame)
            if returned and events is None:
                raised = comes_back(plan, frame)
            if plan.frames is not None and _plans.get(ident) is plan:
                caller = frame.f_back
                if caller is None:
                    _end(ident, plan)
                else:
                    _trace(_on_event, caller, None)
            if events is not None:
                raised = events.on_return(frame, returned[0] if returned else None)
    except BaseException as error:
        if is_programs(error):
            raise
    if raised is not None:
        raise raised


def _yields(frame):
    """Whether what looks like a return is none. (Up to 3.10 a frame that waits for
    another one is before the instruction by which it does.)"""
    if not frame.f_code.co_flags & _GENERATORS:
        return False
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at] == _YIELD_VALUE or (
        sys.version_info < (3, 11) and code[at + 2:at + 3] == bytes([_YIELD_FROM]))
