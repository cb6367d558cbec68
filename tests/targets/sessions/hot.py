"""Told on its standard input, line by line, what to compute and how often ("loop
1000000"), it answers with the CPU seconds that its thread took for that."""

import sys
import time


def loop(times):
    total = 0
    for number in range(times):
        total += number
    return total


def calls(times):
    total = 0
    for number in range(times):
        total += twice(number)
    return total


def twice(number):
    doubled = number + number
    return doubled


def elsewhere():
    return "never called"


print("ready", flush=True)
for line in sys.stdin:
    function, times = line.split()
    start = time.thread_time()
    globals()[function](int(times))
    print("took", time.thread_time() - start, flush=True)
