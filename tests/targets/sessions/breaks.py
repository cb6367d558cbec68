"""The main thread waits for a lock, four functions deep; another computes all the
time, round by round, and a generator waits to be resumed."""

import threading
import time

from common import finish, on_sigusr1, ready


class Counter:
    def __init__(self):
        self.rounds = 0

    def count(self, number):
        self.rounds += 1
        doubled = twice(number)
        # Between two lines of the function.

        return doubled


def twice(number):
    doubled = number * 2
    return doubled


def numbers():
    number = 0
    while True:
        number += 1
        yield number


def rounds():
    counter = Counter()
    source = numbers()
    number = next(source)
    total = 0
    while not ends:
        number = next(source)
        total += counter.count(number)
        time.sleep(0.01)
    results.append((counter.rounds, number, total))


def outermost(answer):
    return outer(answer)


def outer(answer):
    middle = [answer]
    return inner(middle)


def inner(middle):
    return innermost(middle[0])


def innermost(answer):
    ready("innermost", ["futex"])
    lock.acquire()
    return answer


def end():
    ends.append(True)
    lock.release()


ends, results = [], []
lock = threading.Lock()
lock.acquire()
on_sigusr1(end)
worker = threading.Thread(target=rounds, name="rounds")
worker.start()
answer = outermost(41)
worker.join()
count, number, total = results[0]
finish(answer=answer, rounds=count, right=count + 1 == number,
       total=total == (number * number + number - 2))
