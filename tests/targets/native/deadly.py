"""The main thread is nearly always where nobody may enter it: deadly.py WHERE, and
for the last two the LIBRARY that the tests compiled of hang.c. "take_gil": it waits
for the GIL, which two others compute with; "zlib": it compresses, without the GIL and
for seconds; "churn": it allocates and frees; "spin": it computes in C. Another thread
sleeps: by that one can get in."""

import random
import signal
import sys
import threading
import zlib

from common import finish, on_sigusr1, ready


def compute():
    while not over:
        sum(range(100))


def take_gil(answer):
    for other in others:
        other.start()
    data = bytes(10000)
    ready("take_gil", ["futex"], loops=True)
    while not over:
        right.append(zlib.adler32(data) == zlib.adler32(data[:5000] + data[5000:]))
    return answer


def compress(answer):
    data = random.Random(1).getrandbits(8 * SIZE).to_bytes(SIZE, "little")
    expected = zlib.crc32(zlib.compress(data[:1000], 9))
    ready("compress", [])
    while not over:
        zlib.compress(data, 9)
        right.append(zlib.crc32(zlib.compress(data[:1000], 9)) == expected)
    return answer


def call_c(answer):
    import ctypes

    library = ctypes.CDLL(sys.argv[2])
    library.stop_on(signal.SIGUSR1)
    ready("call_c", [])
    right.append(getattr(library, sys.argv[1])(0) == 1)
    return answer


SIZE = 60000000
over, right = [], []
others = [threading.Thread(target=compute) for _ in range(2)]
asleep = threading.Event()
sleeper = threading.Thread(target=asleep.wait)
sleeper.start()
on_sigusr1(lambda: over.append(True))
answer = {"take_gil": take_gil, "zlib": compress}.get(sys.argv[1], call_c)(41)
asleep.set()
for thread in [sleeper] + [other for other in others if other.ident]:
    thread.join()
finish(answer=answer, right=all(right) and bool(right))
