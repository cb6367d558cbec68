# What pdb stops for besides lines, for a prompt's steps: a function begins (--Call--), one
# returns (--Return--), and an exception passes. Each by the rules of Python's own bdb; but
# a coroutine that only suspends itself has not returned: a step stays with it.

_CAN_SUSPEND = 0x20 | 0x80 | 0x100 | 0x200  # Include/code.h
_COROUTINES = 0x80 | 0x100 | 0x200
_returning = {}  # ident -> id of the frame that has just given its value


class Events:
    """For one plan. stop_frame: the frame, by id, in which it stops; None: in any."""

    def __init__(self, plan, kind, innermost, is_over):
        self.plan = plan
        self.first = None if is_over else id(innermost)
        self.line = plan.line
        self.typed_at = None if is_over or kind == "stepOut" else (
            id(innermost), innermost.f_lineno)
        if is_over:  # innermost is the caller
            self.stop_frame = id(innermost) if kind == "stepOut" else None
        elif kind == "stepIn":
            self.stop_frame = None
        elif kind == "stepOut" and innermost.f_code.co_flags & _CAN_SUSPEND:
            self.stop_frame = 0  # lines alone: its caller gets StopIteration
        else:
            self.stop_frame = id(innermost.f_back if kind == "stepOut" else innermost)

    def was_typed_at(self, frame, line):
        """From 3.14 on a line that continues in itself is no new one."""
        return sys.version_info >= (3, 14) and self.typed_at == (id(frame), line)

    def on_call(self, frame):
        """What a function that begins, or a generator that resumes, raises in the program."""
        if self.stop_frame is None and not is_our_code(frame):
            return self._stand(frame, "--Call--")

    def on_return(self, frame, value, suspends=False):
        flags = frame.f_code.co_flags
        if is_our_code(frame) or suspends and flags & _COROUTINES:
            return None
        if self.stop_frame is not None and (
                flags & _CAN_SUSPEND or id(frame) not in (self.stop_frame, self.first)):
            return None
        return self._stand(frame, "--Return--", value)

    def on_raise(self, frame, error, trace):
        if is_our_code(frame) or self.plan.suspended not in (None, id(frame)) or (
                self.stop_frame is not None and (
                    id(frame) != self.stop_frame or frame.f_lineno < self.line)):
            return None
        is_internal = isinstance(error, StopIteration) and trace is None
        if is_internal and frame.f_code.co_flags & _CAN_SUSPEND:
            return None
        return self._stand(frame, ("Internal " if is_internal else "") +
                           told(error, "expression-failed")[1], error=error)

    def _stand(self, frame, what, *value, error=None):
        ident, more, returned = _ident(), {}, []
        _end(ident, self.plan)
        try:
            if value:
                _returning[ident] = id(frame)
                returned = [(frame.f_code.co_name, value[0])]
                more["text"] = _value_text(value[0])
            raised = stand_here(self.plan.session, ident, "step", description=what,
                                returned=returned, error=error and (error, "raised"), **more)
        finally:
            _returning.pop(ident, None)
        plan = _plans.get(ident)
        if plan is not None and plan.session is self.plan.session and not plan.returned:
            plan.returned = returned  # $_retval, once known
        return raised


def _value_text(value):
    need("safe_repr")
    return _show(safe_repr, value)


def is_returning(ident, frame):
    return _returning.get(ident) == id(frame)
