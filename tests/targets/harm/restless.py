"""Threads that do all the time what programs do: restless.py ROWS [ERRORS [quiet | paced]]

Each prints, logs, warns, formats tracebacks, imports, defines classes, collects garbage,
traces, is profiled, forks ... and looks whether what comes of it is right. ROWS is the
file in which each has a row: how often it has gone round, how often something was wrong.
Main waits in lock.acquire, interrupted 200 times a second by a signal with a handler in
Python; it goes on when the file's last byte is set. What it prints goes nowhere, or to
the file ERRORS, with what CPython itself has to say. If it is to be quiet, one thread
does some of it, and nothing while somebody has `resting`: so references can be counted.
If it is paced, each thread rests longer between two rounds: who asks waits less for the
GIL, and can ask ten times as often in the same time.
"""

import asyncio
import contextvars
import gc
import importlib
import json
import linecache
import locale
import logging
import logging.handlers
import mmap
import os
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
import warnings
import weakref

from common import descriptors, finish, ready_line

ROW = struct.Struct("QQ16s32x")  # rounds, wrong, name; of tests/integration/support/stress.py
EVERY = 0.005  # seconds, of the signal
REST = 0.15 if "paced" in sys.argv else 0.002  # seconds, between two rounds of a thread
stop = threading.Event()
kept = []  # what expressions want to keep
counts = {"alarms": 0, "audited": 0, "started": 0}


class Slow:
    def __str__(self):
        time.sleep(0.0005)
        return "slow"


class Base:
    pass


class Checked:
    """A stream that must be written what the logger says, and nothing else."""

    wrong = 0

    def write(self, text):
        Checked.wrong += text != "said slow\n"
        return len(text)

    def flush(self):
        pass


def printing():
    print("prints", Slow(), flush=True)
    print("more", file=sys.stderr)
    return True


def logs():
    logger.warning("said %s", Slow())
    logging.getLogger("of-the-root").error("said %s", Slow())
    return Checked.wrong == 0


def warns():
    warnings.warn("as ever", UserWarning)
    return True


def formats():
    linecache.checkcache()
    try:
        return divide(0)
    except ZeroDivisionError:
        text = traceback.format_exc()
    return "in divide" in text and len(traceback.format_stack()) > 1


def divide(by):
    return 1 / by


def imports():
    sys.modules.pop("colorsys", None)
    module = importlib.import_module("colorsys")
    return module.rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def classes():
    # No function of Python's is called with it: who looks at its frame keeps what is
    # in that for a moment.
    dead = []
    made = type("Made", (Base,), {"answer": 41})
    one = made()
    told = weakref.ref(one, dead.append)
    del one
    return (made.answer, dead) == (41, [told]) or (made.answer, dead)


def collects():
    gc.collect(counts["alarms"] % 3)
    return True


def three_lines():
    one = 1
    two = one + 1
    return two


def traces():
    seen = []

    def tracer(frame, event, _):
        if frame.f_code is three_lines.__code__:
            seen.append(event)
        return tracer
    sys.settrace(tracer)
    three_lines()
    mine = sys.gettrace()
    sys.settrace(None)
    return (seen, mine) == (["call", "line", "line", "line", "return"], tracer) or (
        seen, mine)


def profiles():
    seen = []

    def profiler(frame, event, _):
        if frame.f_code is three_lines.__code__:
            seen.append(event)
    sys.setprofile(profiler)
    three_lines()
    mine = sys.getprofile()
    sys.setprofile(None)
    return (seen, mine) == (["call", "return"], profiler) or (seen, mine)


def monitored():
    return 41


def monitors():
    before = counts["started"]
    monitored()
    return counts["started"] == before + 1


def audits():
    before = counts["audited"]
    sys.audit("restless.mark")
    return counts["audited"] == before + 1


def contexts():
    value = object()
    token = variable.set(value)
    seen = contextvars.copy_context().run(variable.get)
    variable.reset(token)
    return seen is value and variable.get() is None


async def twice(number):
    await asyncio.sleep(0)
    return 2 * await asyncio.wait_for(asyncio.shield(once(number)), 10)


async def once(number):
    await asyncio.sleep(0.0001)
    return number


def awaits():
    async def all_of_them():
        return await asyncio.gather(*[twice(number) for number in range(5)])
    return loop.run_until_complete(all_of_them()) == [0, 2, 4, 6, 8]


def starts():
    stop.wait(0.02)
    return subprocess.call(["true"]) == 0


def forks():
    stop.wait(0.02)
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    return os.waitpid(pid, 0)[1] == 7 << 8


def alarms():
    before = counts["alarms"]
    for _ in range(2000):
        if counts["alarms"] > before:
            return True
        stop.wait(0.005)
    return stop.is_set()


def generates():
    def generator():
        try:
            yield 1
        finally:
            closed.append(1)
    closed = []
    one = generator()
    first = next(one)
    del one
    return (first, closed) == (1, [1])


def waits():
    items = queue.Queue(1)
    thread = threading.Thread(target=items.put, args=(41,))
    thread.start()
    got = items.get(timeout=20)
    thread.join()
    with condition:
        condition.wait(0.001)
    return got == 41


def one_by_one():
    with resting:
        return all(check() is True for check in (imports, generates, alarms, waits))


WORK = [printing, logs, warns, formats, imports, classes, collects, traces, profiles,
        contexts, awaits, starts, forks, alarms, generates, waits]


def is_taken(error):
    """3.8 to 3.10 let one thread at a time do that, and hooks of sys.audit take their
    time: another, as one that is asked to, may just be at it."""
    return isinstance(error, RuntimeError) and "function while another" in str(error)


def work(check, index):
    rounds = wrong = 0
    while not stop.is_set():
        rounds += 1
        try:
            came = check()
            if came is not True:
                raise AssertionError(came)
        except BaseException as error:
            if not is_taken(error):
                os.write(errors, traceback.format_exc().encode())
                wrong += 1
        ROW.pack_into(rows, index * ROW.size, rounds, wrong, check.__name__.encode())
        stop.wait(REST)


def on_alarm(number, frame):
    counts["alarms"] += 1
    if rows[-1]:
        try:
            lock.release()
        except RuntimeError:  # it is released: the next signal comes in the middle of this
            pass


def count_audited(event, _):
    if event == "restless.mark":  # others come here at once
        counts["audited"] += 1


def count_started(code, offset):
    counts["started"] += 1


def begin():
    """What is there from this version on."""
    if hasattr(sys, "addaudithook"):
        sys.addaudithook(count_audited)
        WORK.append(audits)
    if hasattr(sys, "monitoring"):
        tool, events = 4, sys.monitoring.events
        sys.monitoring.use_tool_id(tool, "restless")
        sys.monitoring.register_callback(tool, events.PY_START, count_started)
        sys.monitoring.set_local_events(tool, monitored.__code__, events.PY_START)
        WORK.append(monitors)


def mappings():
    """Anonymous memory that can be executed: the debugger's, if anybody's."""
    with open("/proc/self/maps") as maps:
        return sum(1 for line in maps if line.split()[1:5:3] == ["r-xp", "0"])


def tasks():
    """The names of the kernel's threads."""
    names = []
    for number in os.listdir("/proc/self/task"):
        try:
            with open("/proc/self/task/%s/comm" % number) as comm:
                names.append(comm.read().strip())
        except OSError:
            pass
    return sorted(names)


def until_threads_have_ended():
    """For the kernel: Python's join() is over a moment before that."""
    for _ in range(1000):
        if len(tasks()) == 1:
            break
        time.sleep(0.01)


def left():
    mask = os.umask(0o77)
    os.umask(mask)
    hooks = [sys.excepthook, sys.displayhook, sys.stdout, sys.stderr, sys.stdin,
             sys.unraisablehook if hasattr(sys, "unraisablehook") else None,
             threading.excepthook if hasattr(threading, "excepthook") else None]
    return {
        "fds": descriptors(), "mappings": mappings(),
        "threads": tasks(),
        "known threads": len(threading._active), "cwd": os.getcwd(), "umask": mask,
        "environ": sorted(os.environ.items()), "locale": locale.setlocale(locale.LC_ALL),
        "hooks": [id(hook) for hook in hooks], "trace": str(sys.gettrace()),
        "profile": str(sys.getprofile()), "gc": [gc.isenabled(), gc.get_threshold()],
        "gc callbacks": len(gc.callbacks), "path": len(sys.path),
        "recursion": sys.getrecursionlimit(), "switch": sys.getswitchinterval(),
        "finders": len(sys.meta_path), "wakeup": signal.set_wakeup_fd(-1),
        "nice": os.nice(0), "ours": [name for name in sys.modules if "hangdbg" in name]}


def tell_anyway(kind, error, trace):
    """Of what ends it: standard error is elsewhere meanwhile."""
    os.write(errors, "".join(traceback.format_exception(kind, error, trace)).encode())


def wait_for_lock():
    answer = 41
    lock.acquire()
    return answer


answer = 41  # also where the signal's handler is the innermost frame
output, errors = os.dup(1), os.dup(2)
lock = threading.Lock()
lock.acquire()
resting = threading.Lock()
condition = threading.Condition()
variable = contextvars.ContextVar("variable", default=None)
for category in (DeprecationWarning, ResourceWarning):  # of a fork beside threads
    warnings.simplefilter("ignore", category)
warnings.simplefilter("always", UserWarning)
logger = logging.getLogger("of-its-own")
logger.propagate = False
logger.addHandler(logging.StreamHandler(Checked()))
logger.addHandler(logging.handlers.MemoryHandler(20, target=logging.StreamHandler(Checked())))
loop = asyncio.new_event_loop()
with open(sys.argv[1], "r+b") as file:
    rows = mmap.mmap(file.fileno(), 0)
begin()
if "quiet" in sys.argv:
    WORK[:] = [one_by_one]
signal.signal(signal.SIGALRM, on_alarm)
signal.setitimer(signal.ITIMER_REAL, EVERY, EVERY)
importlib.import_module("colorsys")
for number, path in ((1, os.devnull), (2, (sys.argv[2:] or [os.devnull])[0])):
    nowhere = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.dup2(nowhere, number)
    os.close(nowhere)
sys.excepthook = tell_anyway
before = left()
threads = [threading.Thread(target=work, args=one) for one in
           [(check, index) for index, check in enumerate(WORK)]]
for thread in threads:
    thread.start()
line = ready_line("wait_for_lock", ["futex"], go_on="wait", loops=True)
os.write(output, json.dumps(line).encode() + b"\n")
answer = wait_for_lock()
stop.set()
for thread in threads:
    thread.join()
signal.setitimer(signal.ITIMER_REAL, 0)
kept.clear()
gc.collect()
until_threads_have_ended()
after = left()
sys.stdout.flush()
sys.stderr.flush()
for number, was in ((1, output), (2, errors)):
    os.dup2(was, number)
finish(answer=answer, before=before, left=after)
