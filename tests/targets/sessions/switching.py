"""Greenlets that take turns, in the midst of their functions, while it does what it
is told, line by line, on its standard input. Lines that get breakpoints end in a
comment: their name."""

import json
import sys

from greenlet import getcurrent, greenlet

from common import finish, ready


def turn(name, number):
    doubled = number * 2
    main.switch(name)  # switch
    return doubled + 1  # after


def runs(name):
    number = 0
    while not ended:
        number += 1  # number
        sums[name] = sums[name] + turn(name, number)


def switches(value):
    """Not a line of the greenlets' own."""
    return value.switch()


def turns(count):
    """What all have summed up, after so many turns of each."""
    order = [switches(one) for _ in range(count) for one in workers]
    return [[sums[name] for name in NAMES], order == NAMES * count]


def listen():
    for line in sys.stdin:
        if not line.strip():
            return
        sys.stdout.write(json.dumps(eval(line)) + "\n")
        sys.stdout.flush()


NAMES = ["a", "b", "c"]
ended = []
sums = dict.fromkeys(NAMES, 0)
main = getcurrent()
workers = [greenlet(runs) for _ in NAMES]
for name, one in zip(NAMES, workers):
    one.switch(name)
ready("listen", ["read"], go_on="stdin")
listen()
ended.append(True)
for one in workers:
    one.switch()
finish(dead=[one.dead for one in workers], sums=sums)
