"""The main thread is nearly always where nobody may enter it: deadly.py WHERE.
"take_gil": it waits for the GIL, which two others compute with; "zlib": it
compresses, without the GIL and for seconds."""

import random
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


SIZE = 60000000
over, right = [], []
others = [threading.Thread(target=compute) for _ in range(2)]
on_sigusr1(lambda: over.append(True))
answer = {"take_gil": take_gil, "zlib": compress}[sys.argv[1]](41)
for other in others:
    if other.ident:
        other.join()
finish(answer=answer, right=all(right) and bool(right))
