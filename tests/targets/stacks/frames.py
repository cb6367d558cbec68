"""A frame of each kind on one stack, from the inside: a coroutine, a generator, a
generator expression, a function with a free variable, one with a cell, a class, a
function, the module. Each has a local number, and in the end says which."""

import threading

from common import finish, on_sigusr1, ready


async def coroutine(lock):
    number = 0
    ready("coroutine", ["futex"])
    lock.acquire()
    return [number]


def generator(lock):
    number = 0
    try:
        coroutine(lock).send(None)
    except StopIteration as stop:
        yield [number] + stop.value


def has_cell(lock):
    number = 0

    def has_free_variable():
        found = next(next(generator(lock)) + [number] for number in [0])
        return [number] + found

    found = has_free_variable()
    return [number] + found


def has_class(lock):
    number = 0

    class Body:
        number = 0
        found = has_cell(lock)
        found = [number] + found

    return [number] + Body.found


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
number = 0
found = has_class(lock)
finish(numbers=[number] + found)
