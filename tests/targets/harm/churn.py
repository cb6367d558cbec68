"""Allocates, forks, prints, opens libraries and starts threads all the time:
churn.py LIBRARY ROWS MODE

LIBRARY is churn.c, compiled; ROWS the file with its workers' rows, to which the
Python threads here add their own. MODE is what there is to borrow:
  calm      main sleeps in lock.acquire, the best thread of all
  napping   main sleeps in select; the workers sleep for a moment now and then
  busy      nobody sleeps

It goes on when the file's last byte is set: a signal might come to any of the
threads, and only main's would make Python look.
"""

import ctypes
import mmap
import os
import select
import struct
import sys
import threading

from common import descriptors, finish, ready

ROW = struct.Struct("QQ16s32x")  # rounds, wrong, name
NAP_US = {"calm": 5000, "napping": 3000, "busy": 0}

stop = threading.Event()


def start_and_join():
    results = []
    thread = threading.Thread(target=lambda: results.append(41))
    thread.start()
    thread.join()
    return results == [41]


def make_objects():
    made = [{"key": [i]} for i in range(100)]
    return sum(one["key"][0] for one in made) == 4950


def watch_last_byte():
    if rows[-1] and lock.locked():
        lock.release()
        os.write(writer, b"x")
    return True


def work(check, name, rows, index):
    rounds = wrong = 0
    while not stop.is_set():
        rounds += 1
        wrong += not check()
        ROW.pack_into(rows, index * ROW.size, rounds, wrong, name)
        stop.wait(0.001)


def wait_in(mode):
    answer = 41
    if mode == "calm":
        lock.acquire()
    elif mode == "napping":
        select.select([reader], [], [])
    else:
        while lock.locked():
            pass
    return answer


def mappings():
    """Anonymous memory that can be executed: the debugger's, if anybody's."""
    with open("/proc/self/maps") as maps:
        return sum(1 for line in maps if line.split()[1:5:3] == ["r-xp", "0"])


def left():
    return {"fds": descriptors(),
            "threads": len(os.listdir("/proc/self/task")), "mappings": mappings()}


library, path, mode = sys.argv[1:]
lock = threading.Lock()
lock.acquire()
reader, writer = os.pipe()
before = left()
churn = ctypes.CDLL(library)
index = churn.churn_start(path.encode(), NAP_US[mode])
assert index > 0
with open(path, "r+b") as file:
    rows = mmap.mmap(file.fileno(), 0)
threads = []
for check in (start_and_join, make_objects, watch_last_byte):
    threads.append(threading.Thread(
        target=work, args=(check, check.__name__.encode(), rows, index)))
    threads[-1].start()
    index += 1
ready("wait_in", {"calm": ["futex"], "napping": ["select", "pselect6"], "busy": []}[mode],
      go_on="wait", loops=True)
answer = wait_in(mode)
stop.set()
for thread in threads:
    thread.join()
churn.churn_stop()
rows.close()
finish(answer=answer, before=before, left=left())
