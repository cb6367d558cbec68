# What runs: the threads and their frames, and the numbers by which the client
# knows frames. Runs no code of the program.
#
# A frame is known to the client by a small number. We keep no frame between
# requests (a kept frame keeps its locals alive), only a fingerprint, and look
# the frame up again. The fingerprint covers the frame and where each of its
# callers is: a new call of the same function by the same instruction
# cannot be told from the old one and counts as the same frame.
#
# Without a GIL a frame of a thread that runs may not be touched but by the
# bootstrap (pause.c): what is to be known of one is fetched with it, as a place:
# (frame, code, lasti, globals).
if "sys" not in globals():  # else the bootstrap has given it (give_module, python.c)
    import sys
if "_thread" not in globals():
    import _thread


def list_threads(session, arguments):
    threads = []
    main = main_thread_id(session)
    for ident in _other_frames(session):
        thread = _thread_id(ident)
        threads.append({"id": thread, "name": _thread_name(ident, thread)})
    threads.sort(key=lambda thread: (thread["id"] != main, thread["id"]))
    return {"threads": threads}


def stack_trace(session, arguments):
    ident = _ident_of(session, field(arguments, "threadId", int))
    start = max(field(arguments, "startFrame", int, 0), 0)
    levels = field(arguments, "levels", int, 0)
    dims = field(arguments, "hangdbg/justMyCode", bool, False)
    places, prints = _stack(session, ident)
    total = len(places)
    # Ours run outermost first, the client's innermost first.
    wanted = range(total)[::-1][start:start + levels if levels > 0 else total]
    return {"totalFrames": total,
            "stackFrames": [_stack_frame(session, dims, (ident, depth, prints[depth]),
                                         *places[depth]) for depth in wanted]}


def find_frame(session, arguments):
    """The place of the frame that frameId names. Failure no-such-frame if its
    thread has gone on since."""
    number = field(arguments, "frameId", int)
    ident, depth, fingerprint = session.keys.get(number, (0, 0, 0))
    places, prints = _stack(session, ident)
    if depth >= len(places) or prints[depth] != fingerprint:
        raise Failure("no-such-frame",
                      "frame has returned: the thread has moved on; type w")
    return places[depth]


def is_live(session, key):
    """Whether the frame with that key is still where it was."""
    ident, depth, fingerprint = key or (0, 0, 0)
    prints = _stack(session, ident)[1]
    return depth < len(prints) and prints[depth] == fingerprint


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


def _stack(session, ident):
    """The places of a thread's frames, outermost first, and the fingerprint of
    each."""
    places = [place for place in _places(_other_frames(session).get(ident))
              if place[1].co_filename != "<hangdbg>"]
    prints = []
    callers = 0
    for frame, code, lasti, _ in places:
        own = hash((callers, id(frame), id(code)))
        prints.append(own)
        callers = hash((own, lasti))
    return places, prints


def _places(frame):
    """Of the frame and of its callers, outermost first."""
    places = frame
    if type(frame) is not list:
        places = []
        while frame is not None:
            places.append((frame, frame.f_code, frame.f_lasti, frame.f_globals))
            frame = frame.f_back
    places = places[::-1]
    # Below a script `hangdbg run` has the file that it is in itself, and functions.
    below = 1
    while below < len(places) and places[below][1].co_filename == "<hangdbg run>":
        below += 1
    return places[below if below > 1 else 0:]


def _stack_frame(session, dims, key, frame, code, lasti, names):
    module = dict.get(names, "__name__")
    hint = {"presentationHint": "subtle"} if dims and is_library(code) else {}
    return {"id": session.frame_number(key), "name": code.co_name,
            "source": source_of(code), "line": _line(frame, code, lasti), "column": 0,
            "hangdbg": {"qualname": getattr(code, "co_qualname", code.co_name),
                        "module": module if type(module) is str else "",
                        "firstLine": code.co_firstlineno}, **hint}


def is_library(code):
    """Python's own, or installed; or no file."""
    name = code.co_filename
    own = (getattr(sys.modules.get("os"), "__file__", None) or "").rpartition("/")[0]
    return name.startswith("<") or own != "" and name.startswith(own + "/") or any(
        part in name for part in ("/site-packages/", "/dist-packages/", "/lib/python3",
                                  "/lib64/python3"))


def _line(frame, code, lasti):
    """Of a frame that an exception has left and that resumes, where it was left."""
    if "t" not in getattr(sys, "abiflags", "") and lasti == frame.f_lasti:
        return frame.f_lineno or 0
    return line_at(code, lasti)


def line_at(code, offset):
    """Of the instruction there; 0: of none."""
    if hasattr(code, "co_lines"):
        return next((line or 0 for start, end, line in code.co_lines()
                     if start <= offset < end), code.co_firstlineno)
    line, at = code.co_firstlineno, 0
    for step, change in zip(code.co_lnotab[::2], code.co_lnotab[1::2]):
        at += step
        if at > offset:
            break
        line += change - 256 * (change > 127)
    return line


def locals_of(place):
    """A dict of its own with the frame's locals."""
    if of_function(place):
        return _locals_of(place[0])
    return dict(_f_locals(place[0]))


def of_function(place):
    return place[1].co_flags & 0x01  # CO_OPTIMIZED: its locals are no dict


def source_of(code):
    path = code.co_filename
    return {"name": path[path.rfind("/") + 1:], "path": path}


def _other_frames(session):
    """{ident: the innermost frame}; without a GIL {ident: places}, the same for
    the whole request: each look pauses the program."""
    if session.stacks:
        return session.stacks
    # Not our own: a frame that holds itself is a cycle, and lives on. (It is not
    # found by get_ident, which gevent replaces.)
    own = id(sys._getframe())
    frames = _current_frames()
    if frames is None:
        frames = sys._current_frames()
    frames = {ident: _programs(frame) for ident, frame in frames.items()
              if id(frame) != own or ident in session.standing}
    frames = {ident: frame for ident, frame in frames.items() if frame}
    for ident, standing in session.standing.items():
        if standing.error is not None and standing.error[1] != "raised":
            frames[ident] = places_of_error(standing.error[0], frames.get(ident))
        elif standing.left is not None and ident in frames:
            frames[ident] = _without(standing.left, frames[ident])
    if list in map(type, frames.values()):
        session.stacks = frames
    return frames


def _without(left, frame):
    """Without the innermost frame, if it is that one."""
    if type(frame) is list:
        return frame[1:] if frame and id(frame[0][0]) == left else frame
    return frame.f_back if id(frame) == left else frame


def _programs(frame):
    """Without what lies on top of it: a held thread runs our code and our requests;
    one that waits for a debugger, our package. What is debugged
    stays, although it runs on our code. None, or [], if all is ours."""
    if type(frame) is list:
        return frame[_count_on_top([(code, names) for _, code, _, names in frame]):]
    stack, at = [], frame
    while at is not None:
        stack.append((at.f_code, at.f_globals))
        at = at.f_back
    for _ in range(_count_on_top(stack)):
        frame = frame.f_back
    return frame


def _count_on_top(stack):
    """Of [(code, globals)], innermost first."""
    count, debugged, inside = 0, None, True
    for number, (code, names) in enumerate(stack):
        ours = _is_on_top(code, names)
        if ours and not inside:
            debugged = count  # if that is what lies on these
        if ours and debugged is not None and code.co_name == "run_debugged":
            return debugged
        inside = ours
        count = number + 1 if ours else count
    return count


def _is_on_top(code, names):
    return code.co_filename == "<hangdbg>" or dict.get(names, "__hangdbg__") is True


def is_our_code(frame):
    """Steps pass by it: also what `hangdbg run` has below a script."""
    return frame.f_code.co_filename == "<hangdbg run>" or (
        _is_on_top(frame.f_code, frame.f_globals))


def _thread_id(ident):
    return _tid_of(ident) or ident


def _ident_of(session, thread):
    for ident in _other_frames(session):
        if thread == _thread_id(ident):
            return ident
    raise Failure("bad-message", "no Python thread %d" % thread)


def main_thread_id(session):
    pid = process_id()
    return pid if any(_tid_of(ident) == pid for ident in _other_frames(session)) else 0


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
