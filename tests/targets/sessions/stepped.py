"""The main thread, alone, waits for a lock twice, and computes in between."""

import sys
import threading

from common import finish, on_sigusr1, ready


def wait_twice(first, second):
    answer = 41
    ready("wait_twice", ["futex"])
    first.acquire()
    answer += 1
    total = compute(3)
    pair = list(numbers())
    second.acquire()
    return answer, total, pair


def compute(count):
    total = 0
    for number in range(count):
        total += twice(number)
    return total


def twice(number):
    doubled = number * 2
    return doubled


def numbers():
    yield 1
    yield 2


def own(frame, event, argument):
    return None


locks = [threading.Lock(), threading.Lock()]
for lock in locks:
    lock.acquire()
waits = iter(locks)
on_sigusr1(lambda: next(waits).release())
if "traced" in sys.argv:
    sys.settrace(own)
answer, total, pair = wait_twice(*locks)
traced = sys.gettrace() is own
sys.settrace(None)
finish(answer=answer, total=total, pair=pair, traced=traced)
