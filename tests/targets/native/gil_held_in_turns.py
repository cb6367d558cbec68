"""Main keeps the GIL in a C call for most of the time, and is free of it for a
moment in between, until a signal comes."""

import ctypes
import signal
import time

from common import finish, ready

STRETCH = 0.55  # seconds


def keep_the_gil():
    answer = 41
    seen = {0, 2, 4}
    libc = ctypes.PyDLL(None)
    ready("keep_the_gil", ["clock_nanosleep", "nanosleep"], loops=True)
    while not told:
        libc.usleep(int(STRETCH * 1e6))
        time.sleep(0.001)
    return answer, sorted(seen)


told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
answer, seen = keep_the_gil()
finish(answer=answer, seen=seen)
