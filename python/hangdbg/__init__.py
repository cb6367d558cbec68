"""Lets a program wait for a debugger, at a place of its own choice.

    breakpoint()                # with PYTHONBREAKPOINT=hangdbg.breakpoint
    hangdbg.breakpoint(rank=3)  # of a parallel job that one; also several, (0, 3)
    hangdbg.wait(60)            # or go on after a minute
    hangdbg.post_mortem()       # in an except clause

The thread says which command to type, and waits; `hangdbg attach PID` opens its
prompt in the function that has called. There `s`, `n` and all the others work; `c`,
or leaving, returns from the call. Under `hangdbg run` the prompt opens at once.

Nothing is opened, and nothing listens. The agent that `hangdbg attach` brings finds
what it needs in this module: `_waiting`, and `_ended`; its own way in is in sys.
"""
import os
import sys
from _thread import allocate_lock

__all__ = ["breakpoint", "post_mortem", "set_trace", "wait", "wait_for_debugger"]
__hangdbg__ = True  # frames with these globals are not the program's

_waiting = {}  # the lock at which a thread waits -> the process that it is in
_ended = None  # the agent's, while a debugger is in: called with a SystemExit that ends us
_watched = []  # files: a process that waits for its editor goes on when one is gone
_held = 0  # the process that has waited so
_caller = None  # (its pid, ours, seconds, signal): who has started us, and comes if called


def breakpoint(*, rank: "int | typing.Iterable[int] | None" = None) -> None:
    """Waits for a debugger, and stops here for it; on these ranks of a parallel job
    alone, if they are named. What is no job is rank 0."""
    if rank is None or _rank() in ((rank,) if isinstance(rank, int) else tuple(rank)):
        _wait("breakpoint", None, None)


def wait(timeout: "float | None" = None) -> bool:
    """Like breakpoint(), for so many seconds at most. Whether a debugger has come."""
    return _wait("breakpoint", None, timeout)


wait_for_debugger = wait


def set_trace() -> None:
    """breakpoint(), as in pdb."""
    _wait("breakpoint", None, None)


def post_mortem(error: "BaseException | None" = None) -> None:
    """Waits for a debugger, and shows it the functions that an exception has left:
    that one, or the one that is handled, or the last one that nobody has caught."""
    if error is None:
        error = sys.exc_info()[1] or getattr(sys, "last_value", None)
    if error is None or error.__traceback__ is None:
        raise ValueError("there is no exception that has left a function")
    _wait("exception", error, None)


def _rank():
    """As torch says, or by what launchers set (inspector/ranks/rank_identity.cpp)."""
    torch = sys.modules.get("torch.distributed")
    if torch is not None and torch.is_available() and torch.is_initialized():
        return torch.get_rank()
    for name in "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID":
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0


def _wait(reason, error, timeout):
    stood, raised = _stand_for(reason, error)
    if not stood:
        _call_for_one(timeout)
        stood, raised = _stand_for(reason, error)
    if raised is not None:
        raise raised
    return stood


def _stand_for(reason, error):
    """(Whether there was a debugger for it, what it wants to be raised)."""
    stand = _debugger()
    if stand is None:
        return False, None
    try:
        return stand(reason, error)
    except NameError:  # it has left just now, and all its names with it
        return False, None


def _tell_end(error):
    """A debugger that is in may want to stop for the SystemExit that ends the program."""
    ended = _ended
    if ended is not None:
        try:
            ended(error)
        except NameError:  # it has left just now
            pass


def _debugger():
    """The agent's, while a debugger is in: (reason, error) -> see _stand_for. With the
    process that this is true of, and not what that forks."""
    pid, stand = getattr(sys, "__hangdbg_stand_1__", (0, None))
    return stand if pid == os.getpid() else None


def _call_for_one(timeout):
    lock = _new_lock()
    lock.acquire()
    _waiting[lock] = os.getpid()
    try:
        if _caller is not None and _caller[:2] == (os.getppid(), os.getpid()):
            # Whatever keeps it from coming: the program goes on.
            if _caller[3]:
                os.kill(_caller[0], _caller[3])
            lock.acquire(True, _caller[2])
            return
        allowed = _allow_tracers(True)
        try:
            sys.stderr.write("pid %d waits: hangdbg attach %d\n" % (os.getpid(), os.getpid()))
            sys.stderr.flush()
            lock.acquire(True, -1 if timeout is None else max(0, timeout))
        finally:
            if allowed:
                _allow_tracers(False)
    finally:
        del _waiting[lock]


def _hold_fork(patience):
    """In a process that was forked: until the editor that debugs its parent has set its
    breakpoints here. Not in one that is about to become another program."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "_execute_child":
        frame = frame.f_back
    if frame is None and getattr(sys, "__hangdbg_stand_1__", (0,))[0] == os.getppid():
        _hold(patience, _watched)


def _hold(patience, watched):
    """Until a debugger is in and resumes it, so many seconds at most, and as long as all
    these files are there. Once a process."""
    global _held
    if _held == os.getpid():
        return
    _held = os.getpid()
    lock = _new_lock()
    lock.acquire()
    _waiting[lock] = os.getpid()
    try:
        for _ in range(10 * patience):
            if _debugger() is not None or not all(map(_exists, watched)) or (
                    lock.acquire(True, 0.1)):
                break
    finally:
        del _waiting[lock]


def _exists(path):
    try:
        return bool(os.stat(path))
    except (OSError, ValueError):
        return False


def _new_lock():
    """A thread waits at it, not a greenlet."""
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None:
        return monkey.get_original("_thread", "allocate_lock")()
    return allocate_lock()


def _allow_tracers(allowed):
    """Where Yama lets a process be traced by its ancestors only (1): by others of its
    user, or by these no more. Whether it was so."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            scope = int(file.read())
        if scope != 1:
            return False
        import ctypes
        set_ptracer = 0x59616D61  # PR_SET_PTRACER, linux/prctl.h
        anybody = ctypes.c_ulong(-1 if allowed else 0)
        return ctypes.CDLL(None).prctl(set_ptracer, anybody, 0, 0, 0) == 0
    except (OSError, ValueError, ImportError, AttributeError):
        return False
