"""The main thread, alone, waits for a lock in a loop that has run often enough to be compiled
by CPython's JIT, where there is one."""

import threading

from common import finish, on_sigusr1, ready

COUNT = 200001


def take(locks, label):
    taken = 0
    for lock in locks:
        taken += 1
        lock.acquire()
    return taken, label


locks = [threading.Lock() for _ in range(COUNT)]
locks[-1].acquire()
on_sigusr1(locks[-1].release)
ready("take", ["futex"])
taken, label = take(locks, "hot")
finish(taken=taken, label=label)
