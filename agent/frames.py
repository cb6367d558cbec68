# What runs: the threads and their frames, and the numbers by which the client
# knows frames. Runs no code of the program.
#
# A frame is known to the client by a small number. We keep no frame between
# requests (a kept frame keeps its locals alive), only a fingerprint, and look
# the frame up again. The fingerprint covers the frame and where each of its
# callers stands: a new call of the same function by the same instruction
# cannot be told from the old one and counts as the same frame.
import sys
import _thread


def list_threads(session, arguments):
    threads = []
    main = main_thread_id()
    for ident, frame in _other_frames().items():
        if not _is_ours(frame):
            thread = _thread_id(ident)
            threads.append({"id": thread, "name": _thread_name(ident, thread)})
    threads.sort(key=lambda thread: (thread["id"] != main, thread["id"]))
    return {"threads": threads}


def stack_trace(session, arguments):
    ident = _ident_of(field(arguments, "threadId", int))
    start = max(field(arguments, "startFrame", int, 0), 0)
    levels = field(arguments, "levels", int, 0)
    frames, prints = _stack(ident)
    total = len(frames)
    # Ours run outermost first, the client's innermost first.
    wanted = range(total)[::-1][start:start + levels if levels > 0 else total]
    return {"totalFrames": total,
            "stackFrames": [_stack_frame(session, (ident, depth, prints[depth]),
                                         frames[depth]) for depth in wanted]}


def find_frame(session, arguments):
    """The frame that frameId names. Failure no-such-frame if its thread has
    gone on since."""
    number = field(arguments, "frameId", int)
    ident, depth, fingerprint = session.keys.get(number, (0, 0, 0))
    frames, prints = _stack(ident)
    if depth >= len(frames) or prints[depth] != fingerprint:
        raise Failure("no-such-frame",
                      "frame has returned: the thread has moved on; type w")
    return frames[depth]


def forget_extras(session):
    """Drops the names that expressions bound in frames which have returned."""
    for ident, depth, fingerprint in list(session.extras):
        prints = _stack(ident)[1]
        if depth >= len(prints) or prints[depth] != fingerprint:
            del session.extras[ident, depth, fingerprint]


# A metaclass may define __name__ and the others: these ask type itself.
_NAME = type.__dict__["__name__"].__get__
_QUALNAME = type.__dict__["__qualname__"].__get__
_MODULE = type.__dict__["__module__"].__get__


def type_name(kind, qualified=False):
    return (_QUALNAME if qualified else _NAME)(kind)


def type_module(kind):
    try:
        module = _MODULE(kind)
    except AttributeError:
        module = None
    return module if type(module) is str else "?"


def _stack(ident):
    """A thread's frames, outermost first, and the fingerprint of each."""
    frames = []
    frame = _other_frames().get(ident)
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    frames.reverse()
    prints = []
    callers = 0
    for frame in frames:
        own = hash((callers, id(frame), id(frame.f_code)))
        prints.append(own)
        callers = hash((own, frame.f_lasti))
    return frames, prints


def _stack_frame(session, key, frame):
    code = frame.f_code
    module = dict.get(frame.f_globals, "__name__")
    return {"id": session.frame_number(key), "name": code.co_name,
            "source": source_of(code), "line": frame.f_lineno or 0, "column": 0,
            "hangdbg": {"qualname": getattr(code, "co_qualname", code.co_name),
                        "module": module if type(module) is str else "",
                        "firstLine": code.co_firstlineno}}


def locals_of(frame):
    """A dict of its own with the frame's locals."""
    if frame.f_code.co_flags & 0x01 and sys.version_info < (3, 13):  # CO_OPTIMIZED
        return _locals_of(frame)
    return dict(frame.f_locals)


def source_of(code):
    path = code.co_filename
    return {"name": path[path.rfind("/") + 1:], "path": path}


def _other_frames():
    # Not our own: a frame that holds itself is a cycle, and lives on. (It is not
    # found by get_ident, which gevent replaces.)
    own = id(sys._getframe())
    return {ident: frame
            for ident, frame in (_current_frames() or sys._current_frames()).items()
            if id(frame) != own}


def _is_ours(frame):
    while frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename == "<hangdbg>"


def _thread_id(ident):
    return _tid_of(ident) or ident


def _ident_of(thread):
    for ident in _other_frames():
        if thread == _thread_id(ident):
            return ident
    raise Failure("bad-message", "no Python thread %d" % thread)


def main_thread_id():
    pid = process_id()
    return pid if any(_tid_of(ident) == pid for ident in
                      _current_frames() or sys._current_frames()) else 0


def process_id():
    return _tid_of(0)


def _thread_name(ident, thread):
    # Read past threading's lock and past what a Thread subclass may define.
    try:
        active = sys.modules["threading"].__dict__["_active"]
        name = object.__getattribute__(active[ident], "__dict__")["_name"]
    except Exception:
        name = None
    if type(name) is str:
        return name
    return "MainThread" if thread == process_id() else "Thread-%d" % thread
