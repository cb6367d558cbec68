"""Takes its own fingerprint before it hangs and after: fingerprint.py

Its main thread has a trace and a profile function and traces its own frame, so
that a debugger which sets such things, or runs its code where they see it, is
seen. The last line says what differs.
"""

import atexit
import decimal
import faulthandler
import gc
import linecache
import os
import random
import sys
import threading
import time
import warnings

from common import finish, on_sigusr1, ready

seen = []  # files whose code our trace and profile functions were called for


def trace(frame, event, argument):
    seen.append(frame.f_code.co_filename)
    return trace


def profile(frame, event, argument):
    seen.append(frame.f_code.co_filename)


def fingerprint(frame):
    """What nobody but the program itself may change."""
    monitoring = getattr(sys, "monitoring", None)
    return {
        "modules": sorted((name, id(module)) for name, module in sys.modules.items()),
        "builtins": sorted((name, id(value)) for name, value in vars(__builtins__).items()
                           if name != "_"),
        "trace": id(sys.gettrace()),
        "profile": id(sys.getprofile()),
        "f_trace": id(frame.f_trace),
        "f_trace_lines": [frame.f_trace_lines, frame.f_trace_opcodes],
        "threading": [repr(getattr(threading, name, None))
                      for name in ("_trace_hook", "_profile_hook")],
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "monitoring": monitoring and [monitoring.get_tool(i) for i in range(6)],
        "directory": os.getcwd(),
        "umask": (lambda mask: (os.umask(mask), mask)[1])(os.umask(0)),
        "environment": dict(os.environ),
        "hooks": [id(getattr(sys, name, None)) for name in (
            "excepthook", "unraisablehook", "displayhook", "breakpointhook")],
        "streams": [id(sys.stdin), id(sys.stdout), id(sys.stderr)],
        "paths": [list(sys.path), repr(sys.meta_path), repr(sys.path_hooks),
                  sorted(sys.path_importer_cache)],
        "warnings": [repr(warnings.filters), repr(warnings.showwarning)],
        "flags": repr(sys.flags),
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), sys.getdlopenflags()],
        "gc": [gc.isenabled(), gc.get_threshold(), gc.callbacks, gc.get_debug()],
        "random": hash(random.getstate()),
        "decimal": repr(decimal.getcontext()),
        "exit": atexit._ncallbacks(),
        "faulthandler": faulthandler.is_enabled(),
        "lines": sorted(linecache.cache),
        "exception": repr(sys.exc_info()),
    }


def objects():
    """How many there are that the collector knows, but for what stays for good: what
    has stood in for sys.stdout and sys.stderr."""
    gc.collect()
    known = {id(thing) for thing in gc.get_objects()}
    return len(known.difference(map(id, lasting())))


def lasting():
    streams = getattr(sys, "__hangdbg_streams_1__", [])
    found = [streams]
    for stream in streams:
        kind = type(stream)
        found += [stream, stream._sinks, stream._original]
    if streams:
        found += [kind, kind.__mro__, kind.__bases__]
        for value in vars(kind).values():
            found += [value, getattr(value, "__defaults__", None)]
        found.append(kind.write.__globals__)
    return found


def hang():
    answer = 41
    sys.settrace(trace)
    sys.setprofile(profile)
    frame = sys._getframe()
    frame.f_trace = trace
    before = fingerprint(frame)
    count = objects()
    del seen[:]
    ready("hang", ["futex"])
    lock.acquire()
    after = fingerprint(frame)
    files = set(seen)
    sys.settrace(None)
    sys.setprofile(None)
    changed = [what for what in before if before[what] != after[what]]
    del after
    return answer, changed, files, objects() - count


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
answer, changed, files, more = hang()
finish(answer=answer, changed=changed, more_objects=more,
       streams=len(getattr(sys, "__hangdbg_streams_1__", [])),
       kept_globals=len(lasting()[-1]),
       traced=sorted(name for name in files if "<hangdbg" in name))
