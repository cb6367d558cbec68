"""The main thread, alone, waits for a lock, makes calls, several in a line, and waits again."""

import asyncio
import threading

from common import finish, on_sigusr1, ready


class Made:
    def __init__(self, number):
        self.number = number

    def value(self):
        return self.number


def counted(function):
    def counts(*arguments):
        return function(*arguments)
    return counts


@counted
def decorated(number):
    return number


def inner(number):
    return number


def outer(first, second):
    return first + second


async def later(number):
    return number


def run(lock):
    # Python warns when a jump finds locals without a value.
    plain = chain = listed = lines = either = number = None
    ready("run", ["futex"])
    lock.acquire()
    plain = outer(inner(1), inner(2))
    chain = Made(3).value() + decorated(4)
    listed = len([inner(number) for number in range(2)]) or inner(9)
    lines = outer(
        inner(5),
        decorated(6),
    )
    either = inner(7) if outer(0, 1) else inner(8)
    return [plain, chain, listed, lines, either]


async def run_later():
    awaited = await later(1) + inner(await later(2))
    return awaited


locks = [threading.Lock(), threading.Lock()]
for lock in locks:
    lock.acquire()
waits = iter(locks)
on_sigusr1(lambda: next(waits).release())
sums = run(locks[0])
awaited = asyncio.new_event_loop().run_until_complete(run_later())
locks[1].acquire()
finish(sums=sums, awaited=awaited)
