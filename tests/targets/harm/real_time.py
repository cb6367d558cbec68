"""A thread of a real-time class computes, on one CPU: real_time.py KIND CPU PRIORITY

main    the main thread itself
beside  a thread, while the main one waits for it

It ends when its file goes; or the kernel ends the program, when it has had a CPU
for a minute.
"""

import os
import resource
import sys
import tempfile
import threading
import time

from common import finish, ready

MINUTE = 60 * 10**6  # microseconds


def compute():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    turns = 0
    while os.path.exists(path):
        turns += 1
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def compute_beside():
    """When the main thread sleeps: before, it would hardly get to."""
    while "S (sleeping)" not in open("/proc/self/status").read():
        time.sleep(0.01)
    compute()
    lock.release()


def hang():
    answer = 41
    if kind == "main":
        ready("hang", [], go_on="unlink", path=path)
        compute()
    else:
        ready("hang", ["futex"], go_on="unlink", path=path)
        lock.acquire()
    return answer


kind, cpu, priority = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_RTTIME, (MINUTE, MINUTE))
os.sched_setaffinity(0, {cpu})
path = tempfile.mkstemp()[1]
lock = threading.Lock()
lock.acquire()
if kind == "beside":
    threading.Thread(target=compute_beside, daemon=True).start()
finish(answer=hang())
