"""Greenlets that switch as fast as they can, and a short-lived one at each turn.
Says at which places they can leave off."""

from greenlet import getcurrent, greenlet

from common import finish, on_sigusr1, ready

stop = []
places = set()
main = getcurrent()


def first_leaf():
    main.switch()


def second_leaf():
    main.switch()


def branch(levels):
    if levels:
        return branch(levels - 1)
    first_leaf()
    second_leaf()


def first():
    while not stop:
        branch(3)
        first_leaf()


def key(number):
    second_leaf()
    return number


def second():
    while not stop:
        sorted([1], key=key)
        first_leaf()


def short_lived():
    branch(1)


def look():
    for one in workers + brief:
        frames = []
        frame = one.gr_frame
        while frame:
            frames.append((frame.f_code.co_name, frame.f_lineno))
            frame = frame.f_back
        places.add(tuple(frames))


def turn(looks):
    brief[:] = [greenlet(short_lived)]
    for one in workers + brief * 3:
        one.switch()
        if looks:
            look()


workers = [greenlet(run) for run in (first, second) * 4]
brief = []
for _ in range(20):
    turn(True)
on_sigusr1(lambda: stop.append(1))
ready("<module>", [], places=sorted(places), workers=["%#x" % id(one) for one in workers])
while not stop:
    turn(False)
finish()
