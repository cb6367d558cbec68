# Threads of the program that wait for a debugger by the package hangdbg (python/hangdbg)
# or by breakpoint(), and the end of those that `hangdbg run` watches: they call us, and
# are suspended for the clients that have said that they want them.

_takers = {}  # session -> whether the program stops for it at its first line
_packages = []  # the names of the package, where it calls us at the program's end
_hooks_of_breakpoint = []  # ours, while it is in sys

# In place of sys.breakpointhook. The program may keep it for longer than we are here, and
# fork with it: so it uses nothing but itself.
_BREAKPOINT_HOOK = """
class Hook:
    __slots__ = ("before", "stand", "pid", "getpid")

    def __call__(self, *arguments, **words):
        stand = self.stand
        if stand is not None and self.pid == self.getpid():
            try:
                stood, raised = stand("breakpoint", None)
            except BaseException:
                if self.stand is not None:
                    raise
                stood, raised = False, None  # its agent went when we were on our way in
            if raised is not None:
                raise raised
            if stood:
                return None
        return self.before(*arguments, **words)
"""


def take_waiting(session, arguments):
    """Those that wait, and from now on those that would."""
    if is_dormant(session):  # they continue to wait
        raise Failure("not-permitted", DORMANT)
    _takers[session] = field(arguments, "entry", bool, True)
    sys.__dict__[_STAND] = process_id(), stand_for_debugger
    _take_breakpoint()
    names = _package()
    if names is not None:
        names["_ended"] = program_ends
        _packages[:] = [names]  # where it was only waited, it is in no list of modules then
    for lock in list(names["_waiting"]) if names is not None else ():
        try:
            lock.release()
        except RuntimeError:  # another client has done so
            pass
    return {}


_STAND = "__hangdbg_stand_1__"  # of sys: where the package looks


def _package():
    """What is in the program's module hangdbg; None: it has not imported ours."""
    module = sys.modules.get("hangdbg")
    names = module.__dict__ if type(module) is type(sys) else {}
    return names if names.get("__hangdbg__") is True else None


def _take_breakpoint():
    """Unless the program, or its starter, wants another debugger."""
    builtin = sys.__dict__.get("__breakpointhook__")
    if builtin is None or sys.breakpointhook is not builtin or _named_by_environment():
        return
    space = {"__hangdbg__": True, "__name__": "hangdbg"}
    exec(compile(_BREAKPOINT_HOOK, "<breakpointhook of hangdbg>", "exec"), space)
    hook = space["Hook"]()
    hook.before, hook.stand = builtin, stand_for_debugger
    hook.getpid = sys.modules["posix"].getpid
    hook.pid = hook.getpid()
    sys.breakpointhook = hook
    _hooks_of_breakpoint[:] = [hook]


def _named_by_environment():
    try:
        return b"PYTHONBREAKPOINT" in sys.modules["os"].environ._data
    except Exception:
        return True


def _give_breakpoint_back():
    for hook in _hooks_of_breakpoint:
        hook.stand = None
        if sys.breakpointhook is hook:
            sys.breakpointhook = hook.before
    del _hooks_of_breakpoint[:]


def program_ends(error):
    """By SystemExit, of which up to 3.11 no hook tells (start.py)."""
    if sys.version_info < (3, 12) and error.__traceback__ is not None:
        at_exception("uncaught", error.__traceback__.tb_frame, error, True)


def stand_for_debugger(reason, error):
    """On the thread. (Whether it was suspended, what the program is to raise then)."""
    stood, raised = False, None
    try:
        ident = _ident()
        for session in list(_takers):
            if is_ours(ident) or raised is not None:
                break
            if reason == "entry":
                if _takers[session]:
                    plan_entry(session, ident)
                stood = True
                continue
            number = _come(session.index)
            if number is not None:
                stood = True
                try:
                    raised = keep_standing(session, number, ident, reason,
                                           **_about(error))
                finally:
                    _gone(number)
    except BaseException as failure:
        if is_programs(failure):
            raised = failure
    return stood, raised


def _about(error):
    if error is None:
        return {}
    need("errors")
    return {"error": (error, "uncaught"), "description": explain(error)[1],
            "text": type_name(type(error))}


def end_waits(session):
    if session in _takers:
        del _takers[session]
        if not _takers:
            sys.__dict__.pop(_STAND, None)
            _give_breakpoint_back()
            for names in _packages:
                names["_ended"] = None
            del _packages[:]


handlers["hangdbg/takeWaiting"] = take_waiting
