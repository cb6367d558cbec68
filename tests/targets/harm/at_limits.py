"""A program that lives at a limit: at_limits.py KIND [N]

descriptors  N of RLIMIT_NOFILE are free, and a thread takes two of them all the time
mappings     N of vm.max_map_count are free, and a thread is started at the end
closed       0, 1 and 2 are closed, and a thread goes on writing to them, SIGPIPE
             ignored as Python does (N is 0) or at its default (1)

The last line has what went wrong in it.
"""

import errno
import fcntl
import mmap
import os
import resource
import signal
import sys
import threading

from common import finish, on_sigusr1, ready


def take_two():
    for descriptor in os.pipe():
        os.close(descriptor)


def write_to_closed():
    for descriptor in (1, 2):
        try:
            os.write(descriptor, b"NCCL WARN something\n")
        except OSError as error:
            if error.errno == errno.EBADF:
                continue
        wrong.append("%d was written to" % descriptor)


def loop(work):
    while not stop:
        try:
            work()
        except OSError as error:
            wrong.append(repr(error))
        stopping.wait(0.001)


def leave_mappings(left):
    most = int(open("/proc/sys/vm/max_map_count").read())
    taken = []
    for still in (200, left):  # the objects want some, too
        used = sum(1 for _ in open("/proc/self/maps"))
        taken += [mmap.mmap(-1, 4096) for _ in range(most - used - still)]
    return taken


def hang():
    answer = 41
    ready("hang", ["futex"])
    lock.acquire()
    return answer


kind, number = sys.argv[1], int(sys.argv[2])
wrong, stop, kept = [], [], []
stopping = threading.Event()
lock = threading.Lock()
lock.acquire()
on_sigusr1(lambda: stop.append(True) or lock.release())
beside = []
if kind == "descriptors":
    beside.append(threading.Thread(target=loop, args=(take_two,)))
elif kind == "closed":
    if number:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.stdout = os.fdopen(fcntl.fcntl(1, fcntl.F_DUPFD, 10), "w")
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    beside.append(threading.Thread(target=loop, args=(write_to_closed,)))
for thread in beside:
    thread.start()
if kind == "descriptors":
    taken = max(map(int, os.listdir("/proc/self/fd"))) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken + number,) * 2)
elif kind == "mappings":
    kept = leave_mappings(number)
answer = hang()
for thread in beside:
    thread.join()
if kind == "mappings":
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
finish(answer=answer, wrong=wrong[:5])
