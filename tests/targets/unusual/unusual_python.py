"""What a program may have done to its own Python, for unusual.py: each function does
it, yields what is to count meanwhile (None: as ever), undoes it, and yields what it
has seen."""

import builtins
import collections
import faulthandler
import gc
import os
import sys
import threading
import time
import traceback
import tracemalloc


class Broken(Exception):
    pass


def refuse(*arguments, **more):
    raise Broken("nobody was to call this")


class Refuses:
    """Raises at whatever is asked of it."""

    __getattribute__ = __setattr__ = __call__ = __repr__ = refuse


def replaced(owner, names, value):
    kept = {name: getattr(owner, name) for name in names if hasattr(owner, name)}
    for name in kept:
        setattr(owner, name, value)
    return kept


def put_back(owner, kept):
    for name in kept:
        setattr(owner, name, kept[name])


# ---- what everybody relies on

FUNCTIONS = [name for name in dir(builtins)
             if name.islower() and name[0] != "_" and callable(getattr(builtins, name))]


def builtins_raise():
    """All functions and types that a program can name; and import."""
    put = vars(builtins).update
    kept = {name: getattr(builtins, name) for name in ["__import__", *FUNCTIONS]}
    put(dict.fromkeys(kept, refuse))
    yield
    put(kept)


def builtins_are_gone():
    names = vars(builtins)
    kept = dict(names)
    names.clear()
    yield
    names.update(kept)


def no_builtins_here():
    """The code that counts runs where exec was told of none."""
    yield lambda words, place: run_in({"__builtins__": {}}, words, place)


def names_that_raise():
    """The code that counts runs in a mapping that knows its names, and no others."""

    class Names(dict):
        def __missing__(self, name):
            raise Broken(name)

    yield lambda words, place: run_in({}, words, place, Names())


TOP_LEVEL = """
answer, value = 41, 1
while not words[0]:
    value = (value * 31 + answer) % 1000003
    words[place] += 1
    sleep(0.002)
"""


def run_in(names, words, place, locals_=None):
    inside = names if locals_ is None else locals_
    inside.update(words=words, place=place, sleep=time.sleep)
    exec(compile(TOP_LEVEL, "count", "exec"), names, inside)
    sys.modules["__main__"].results[place] = inside["value"]
    return inside["answer"]


def no_main_module():
    main = sys.modules.pop("__main__")
    yield
    sys.modules["__main__"] = main


def main_module_raises():
    main = sys.modules["__main__"]
    sys.modules["__main__"] = Refuses()
    yield
    sys.modules["__main__"] = main


def no_module_works():
    kept = dict(sys.modules)
    for name in kept:
        sys.modules[name] = None
    yield
    sys.modules.update(kept)


def modules_raise():
    kept = dict(sys.modules)
    for name in kept:
        sys.modules[name] = Refuses()
    yield
    sys.modules.update(kept)


def sys_without_modules():
    kept = sys.modules
    del sys.modules
    yield
    sys.modules = kept


def another_modules():
    """What sys.modules says is not what import goes by."""
    kept = sys.modules
    sys.modules = {}
    yield
    sys.modules = kept


def two_threadings():
    """The second knows nothing of the first one's threads."""
    first = sys.modules.pop("threading")
    import threading as second

    yield
    sys.modules["threading"] = first
    yield {"known": [thread.name for thread in second.enumerate()]}


def no_streams():
    kept = replaced(sys, STREAMS, None)
    yield
    put_back(sys, kept)


def streams_raise():
    kept = replaced(sys, STREAMS, Refuses())
    yield
    put_back(sys, kept)


STREAMS = ["stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__"]


def hooks():
    """All of them, and what they are called with: nothing of ours."""
    seen = []
    names = ["excepthook", "displayhook", "unraisablehook", "breakpointhook"]
    kept = replaced(sys, names, lambda *arguments: seen.append(repr(arguments)))
    yield
    put_back(sys, kept)
    yield {"hooks": seen}


# ---- imports


class RefusesImports:
    find_spec = find_module = refuse


def imports_raise():
    sys.meta_path.insert(0, RefusesImports())
    sys.path_hooks.insert(0, refuse)
    kept, sys.path[:] = list(sys.path), []
    sys.path_importer_cache.clear()
    yield
    del sys.meta_path[0], sys.path_hooks[0]
    sys.path[:] = kept


def imports_block():
    kept, builtins.__import__ = builtins.__import__, lambda *_, **__: time.sleep(1000)
    yield
    builtins.__import__ = kept


# ---- the collector and the memory


def collected_always():
    """At each object more; and what the collector tells of it is kept."""
    seen = collections.Counter()
    gc.callbacks.append(lambda phase, info: seen.update([phase]))
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(700, 10, 10)
    del gc.callbacks[:]
    yield {"collected": abs(seen["start"] - seen["stop"]) <= 1}


def collections_raise():
    """What the collector calls does; Python tells of it by a hook (from 3.8 on)."""
    seen = []
    kept = sys.unraisablehook
    sys.unraisablehook = lambda raised: seen.append(repr(raised.exc_value))
    gc.callbacks.append(refuse)
    yield
    del gc.callbacks[:]
    sys.unraisablehook = kept
    yield {"others": [text for text in seen if "Broken" not in text]}


def nothing_is_freed():
    """What the collector finds is kept in gc.garbage, and looked at by the program."""
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield
    gc.collect()
    gc.set_debug(0)
    names = [repr(thing)[:50] for thing in gc.garbage]
    del gc.garbage[:]
    gc.collect()
    yield {"garbage": len(names) < 2000}


def frozen():
    gc.disable()
    gc.freeze()
    count = gc.get_freeze_count()
    yield
    same = gc.get_freeze_count() <= count
    gc.unfreeze()
    yield {"frozen": same, "enabled": gc.isenabled()}


def allocations_traced():
    tracemalloc.start(25)
    yield
    gc.collect()
    ours = [str(trace.traceback) for trace in tracemalloc.take_snapshot().traces
            if "hangdbg" in str(trace.traceback)]
    tracemalloc.stop()
    yield {"allocated": len(ours) < 100}


# ---- limits of Python's own


def recursion_60():
    kept = sys.getrecursionlimit()
    sys.setrecursionlimit(60)
    yield
    sys.setrecursionlimit(kept)


def switches_always():
    sys.setswitchinterval(1e-6)
    yield


def switches_never():
    sys.setswitchinterval(1000)
    yield


def deep():
    """3,000 frames."""
    kept = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    yield lambda words, place: below(
        3000, lambda: sys.modules["__main__"].count(words, place))
    sys.setrecursionlimit(kept)


def below(frames, function):
    return below(frames - 1, function) if frames else function()


# ---- who looks


def monitored():
    """All tools are taken, and see all that runs (sys.monitoring, from 3.12 on)."""
    seen = collections.Counter()
    monitoring = sys.monitoring
    events = [event for name, event in vars(monitoring.events).items()
              if name.startswith("PY_") or name in ("LINE", "CALL", "RAISE")]

    def record(code, *arguments):
        seen[os.path.basename(code.co_filename)] += 1

    for tool in range(6):
        monitoring.use_tool_id(tool, "tool %d" % tool)
        for event in events:
            monitoring.register_callback(tool, event, record)
        monitoring.set_events(tool, sum(events))
    yield
    for tool in range(6):
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
    yield {"others": [name for name in seen if "hangdbg" in name]}


def all_threads_traced():
    """Again and again, in whatever thread there is (from 3.12 on)."""
    seen, ended = set(), []

    def trace(frame, event, argument):
        seen.add(frame.f_code.co_filename)
        return trace

    def loop():
        while not ended:
            threading.settrace_all_threads(trace)
            threading.setprofile_all_threads(trace)
            time.sleep(0.001)

    thread = threading.Thread(target=loop)
    thread.start()
    yield
    ended.append(True)
    thread.join()
    threading.settrace_all_threads(None)
    threading.setprofile_all_threads(None)


def stacks_told():
    """A thread walks the frames of all, as a watchdog does, and keeps them a while."""
    ended, kept = [], collections.deque(maxlen=50)

    def loop():
        while not ended:
            for frame in sys._current_frames().values():
                kept.append((frame, traceback.format_stack(frame)))
            time.sleep(0.001)

    thread = threading.Thread(target=loop)
    thread.start()
    yield
    ended.append(True)
    thread.join()


def stacks_dumped():
    """By faulthandler's own thread, which needs no GIL, as often as it can."""
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(0.001, repeat=True, file=nowhere)
        yield
        faulthandler.cancel_dump_traceback_later()
