# What an evaluation prints is its own: a stand-in is sys.stdout and sys.stderr
# meanwhile.
#
# A thread of the program can be inside of the stand-in, or of a print() that has
# only borrowed it (CPython before 3.13.3, gh-130163), at any moment, and can keep
# it. So it is never freed and never replaces another stream: there is one for
# each that was ever found as sys.stdout or sys.stderr, used again by each later
# session, in sys.__hangdbg_streams_1__. It uses nothing of the agent and nothing of the
# bootstrap: no global, no builtin, only itself and the defaults of its methods.
if "_weakref" not in globals():  # as in frames.py
    import _weakref
if "posix" not in globals():
    import posix

_KEPT = "__hangdbg_streams_1__"


class _Stream:
    """What a thread writes that evaluates goes to its sink, all else to the stream
    that was there."""

    __slots__ = ("_name", "_original", "_held", "_sinks", "_lock")

    def _sink(self, getpid=posix.getpid, ident=_thread.get_ident, frame=sys._getframe,
              lost=len):
        """This thread's, if it evaluates."""
        pid, sink, code = self._sinks.get(ident(), (None, None, None))
        if pid is None or pid == getpid():
            return sink
        # A child of fork() has threads of the same numbers, and evaluates nothing. What
        # an evaluation prints after it has forked is lost there.
        place = frame()
        while place is not None and place.f_code is not code:
            place = place.f_back
        return None if place is None else lost

    def write(self, text):
        sink = self._sink()
        if sink is not None:
            return sink(text)
        original = self._original()
        if original is not None:
            return original.write(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        # Never the original's from a thread that evaluates: the hung one may hold
        # its lock.
        original = self._original()
        if original is not None and self._sink() is None:
            original.flush()

    def __getattr__(self, name, getattr=getattr):
        return getattr(self._original(), name)


def redirect(sink, code):
    """What this thread prints goes to sink("stdout") and sink("stderr"), until
    put_back() of what this returns. code: the caller's, which is meanwhile on this
    thread's stack."""
    redirected = []
    for name in ("stdout", "stderr"):
        stream = _stand_in(name, getattr(sys, name, None))
        redirected.append((name, stream, _alone(
            stream, _enter, name, (posix.getpid(), sink(name), code))))
    return redirected


def put_back(redirected):
    for name, stream, before in redirected:
        _alone(stream, _leave, name, before)


def _enter(stream, name, sink):
    for thread in list(stream._sinks):
        if stream._sinks[thread][0] != sink[0]:  # of the parent, which forked as it evaluated
            del stream._sinks[thread]
    before = stream._sinks.get(_thread.get_ident())
    stream._sinks[_thread.get_ident()] = sink
    current = getattr(sys, name, None)
    if current is not stream:
        stream._held = current
        setattr(sys, name, stream)
    return before


# Returns what it does not hold any more: that may be the last of it, whose end runs
# code of the program.
def _leave(stream, name, before):
    if before is not None:
        stream._sinks[_thread.get_ident()] = before
    else:
        stream._sinks.pop(_thread.get_ident(), None)
    if stream._sinks:
        return None
    if getattr(sys, name, None) is stream:
        setattr(sys, name, stream._original())
    held, stream._held = stream._held, None
    return held


def _alone(stream, work, name, what):
    # A child of fork() may have inherited the lock without an owner to release it.
    locked = stream._lock.acquire(True, 1)
    try:
        return work(stream, name, what)
    finally:
        if locked:
            stream._lock.release()


def _stand_in(name, current):
    """The one for that stream as sys.NAME; `current` itself if it is one."""
    kept = sys.__dict__.setdefault(_KEPT, [])
    for stream in kept:
        if stream._name == name and (current is stream or _stands_for(stream, current)):
            return stream
    stream = (type(kept[0]) if kept else _Stream)()
    stream._name = name
    try:
        # The program's, and not kept longer than the program does.
        stream._original = _weakref.ref(current)
    except TypeError:
        stream._original = lambda: current
    stream._held = None
    stream._sinks = {}
    stream._lock = _thread.allocate_lock()
    kept.append(stream)
    return stream


def _stands_for(stream, current):
    original = stream._original
    return original() is current and (
        current is not None or type(original) is not _weakref.ref)
