"""Two call chains that never mix, and four other ways to spend time, in known shares.

  known_shares.py [SECONDS|-] [GROUP,...]

Says "ready", and works until SECONDS are over or, with -, until a line comes on stdin. Then it
prints as JSON how much of its thread's CPU time each way has taken.
"""

import json
import random
import sys
import threading
import time

SUMS = {}


def CLOCK():
    return int(time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID) * 1e9)


if hasattr(time, "thread_time_ns"):  # from 3.7 on
    CLOCK = time.thread_time_ns


def spend(nanoseconds, until):
    """Spends them here, and as little as possible elsewhere."""
    while CLOCK() < until:
        pass
    return nanoseconds


# ---- two chains: a function of one is never below a function of the other

def left_leaf(nanoseconds, until):
    return spend_left(nanoseconds, until)


def spend_left(nanoseconds, until):
    while CLOCK() < until:
        pass
    return nanoseconds


def left_middle(nanoseconds, until):
    return left_leaf(nanoseconds, until)


def left(nanoseconds):
    return left_middle(nanoseconds, CLOCK() + nanoseconds)


def right_leaf(nanoseconds, until):
    return spend_right(nanoseconds, until)


def spend_right(nanoseconds, until):
    while CLOCK() < until:
        pass
    return nanoseconds


def right_middle(nanoseconds, until):
    return right_leaf(nanoseconds, until)


def right(nanoseconds):
    return right_middle(nanoseconds, CLOCK() + nanoseconds)


# ---- other ways to call

def recursion(nanoseconds, depth=30):
    if depth > 0:
        return recursion(nanoseconds, depth - 1)
    return spend(nanoseconds, CLOCK() + nanoseconds)


def generated(nanoseconds):
    yield spend(nanoseconds, CLOCK() + nanoseconds)


def generator(nanoseconds):
    return sum(generated(nanoseconds))


def key(nanoseconds):
    return spend(nanoseconds, CLOCK() + nanoseconds)


def c_callback(nanoseconds):
    return sorted([nanoseconds], key=key)


async def awaited(nanoseconds):
    return spend(nanoseconds, CLOCK() + nanoseconds)


async def waits(nanoseconds):
    return await awaited(nanoseconds)


def coroutine(nanoseconds):
    try:
        waits(nanoseconds).send(None)
    except StopIteration as end:
        return end.value


WAYS = {"left": left, "right": right, "recursion": recursion, "generator": generator,
        "c_callback": c_callback, "coroutine": coroutine}
# In a thousand. Which is next is random, so that nothing keeps step with a sampler.
SHARES = {"chains": {"left": 10, "right": 100, "recursion": 890},
          "others": {"generator": 100, "c_callback": 10, "coroutine": 890}}
STEP = 40000  # ns


def work(name, ends):
    sums = SUMS.setdefault(name, {})
    ways, shares = zip(*SHARES[name].items())
    chance = random.Random(name)
    while not ends():
        for way in chance.choices(ways, shares, k=100):
            before = CLOCK()
            WAYS[way](STEP)
            sums[way] = sums.get(way, 0) + CLOCK() - before


def main():
    lasts = sys.argv[1] if len(sys.argv) > 1 else "-"
    names = sys.argv[2].split(",") if len(sys.argv) > 2 else ["chains"]
    over = threading.Event()
    threads = [threading.Thread(target=work, args=(name, over.is_set), name=name)
               for name in names]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline() if lasts == "-" else time.sleep(float(lasts))
    over.set()
    for thread in threads:
        thread.join()
    print(json.dumps(SUMS), flush=True)


if __name__ == "__main__":
    main()
