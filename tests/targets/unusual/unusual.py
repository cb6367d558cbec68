"""Counts, in its main thread and in another, as an odd program: unusual.py FILE KIND

KIND is a function of unusual_system.py (what it has asked the kernel for), of
unusual_threads.py (what its threads do besides), of unusual_kernel.py (what one of its threads
has asked the kernel for) or of unusual_python.py (what it has done to its own Python), or "plain". FILE holds three words: it goes on until the first
is set, and the others count its rounds. What it has computed meanwhile is computed
again at the end, and what the kind has seen is told there.
"""

import json
import mmap
import os
import sys
import threading
import time

import unusual_kernel
import unusual_python
import unusual_system
import unusual_threads
from common import finish, native_id, ready_line

STOP, MAIN, BESIDE = range(3)
SLEEPS = ["clock_nanosleep", "nanosleep", "select", "pselect6", "running"]

write, sleep, advance = os.write, time.sleep, next  # whatever becomes of their modules


def count(words, place):
    """With nothing but operators: some kinds leave no builtin that works."""
    answer = 41
    value = 1
    while not words[STOP]:
        value = (value * 31 + answer) % 1000003
        words[place] += 1
        sleep(0.002)
    results[place] = value
    return answer


def right(place):
    value = 1
    for _ in range(words[place]):
        value = (value * 31 + 41) % 1000003
    return results[place] == value


def count_beside():
    unusual_threads.prepare(kind)
    unusual_kernel.prepare(kind, "beside")
    ids.append(native_id())
    started.set()
    count(words, BESIDE)


def begin(module):
    """Has that module's function of the name, if any, set up what it will."""
    way = getattr(module, kind, None)
    if way:
        ways.append(way())
        return next(ways[-1])


with open(sys.argv[1], "r+b") as file:
    words = memoryview(mmap.mmap(file.fileno(), 3 * 8)).cast("Q")
kind = sys.argv[2]
results, ids, ways, told = {}, [], [], {}
started = threading.Event()
begin(unusual_system)
thread = threading.Thread(target=count_beside)
thread.start()
started.wait()
begin(unusual_threads)
counts = begin(unusual_kernel)
unusual_kernel.prepare(kind, "main")
line = json.dumps(ready_line("count", SLEEPS, "wait", loops=True, beside=ids[0]))
line = line.encode() + b"\n"
counts = begin(unusual_python) or counts or count
write(1, line)
answer = counts(words, MAIN)
for way in ways[::-1]:
    told.update(advance(way, None) or {})
thread.join()
finish(answer=answer, right=[right(MAIN), right(BESIDE)], **told)
