"""Hangs in a function with values of all kinds: crowded, long, with properties that
raise and that hang, with a __repr__ that hangs. Those two print a line first."""

import os
import threading

from common import finish, on_sigusr1, ready


class Odd:
    def __init__(self):
        self.inner = [1, 2]

    @property
    def raises(self):
        raise ValueError("not today")

    @property
    def hangs(self):
        loop()

    @property
    def works(self):
        print("computed")
        return {"k": self.inner}

    def __repr__(self):
        loop()


def loop():
    os.write(1, b'{"loops": true}\n')
    while True:
        pass


def hang(lock):
    odd = Odd()
    text = "x" * 1000000
    table = {"list": [10, 20], 5: (1,), "odd": odd}
    answer = 41

    def inside():
        ready("inside", ["futex"])
        lock.acquire()
        return table, answer

    return inside()


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
crowd = "".join("    v%d = [%d]\n" % (number, number) for number in range(10000))
exec("def crowded(lock):\n%s    return hang(lock)" % crowd)
table, answer = crowded(lock)
finish(answer=answer, list=table["list"], inner=table["odd"].inner)
