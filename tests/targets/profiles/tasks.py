"""asyncio's tasks at work: each has its part of a thread's time, and its own chain of waiters. Says
"ready", works until a line comes on stdin, and prints how much time each has taken.

  tasks.py [waits] [blocks] [uvloop | uvloop.run]
      waits: no task works, and the loop sleeps; blocks: a callback of the loop does
      uvloop: by a loop that is written in C, which is called by us, or by uvloop.run()
"""

import asyncio
import json
import sys
import threading
import time

SPENT = {}


def spend(name, seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    SPENT[name] = SPENT.get(name, 0) + seconds


async def left_leaf():
    spend("left", 0.004)
    await asyncio.sleep(0)


async def left(over):
    while not over.is_set():
        await left_leaf()


async def right(over):
    while not over.is_set():
        spend("right", 0.002)
        await asyncio.sleep(0)


async def short():
    spend("short", 0.002)


async def starts(over):
    """A new task each time, which lives for no longer than it works."""
    while not over.is_set():
        await asyncio.ensure_future(short())


async def waits(over):
    await over.wait()


async def gathers(over, *functions):
    await asyncio.gather(*(function(over) for function in functions))


def sleeps():
    time.sleep(3600)


def run_in_c(loop):
    asyncio.set_event_loop(loop)
    loop.run_until_complete(main())


async def main():
    over = asyncio.Event()
    loop = asyncio.get_event_loop()

    def end():
        sys.stdin.readline()
        loop.call_soon_threadsafe(over.set)
    threading.Thread(target=end).start()
    if "blocks" in sys.argv:
        loop.call_later(0.2, sleeps)
    print("ready", flush=True)
    await asyncio.ensure_future(
        gathers(over, waits, waits) if "waits" in sys.argv else gathers(over, left, right, starts, waits))


if __name__ == "__main__":
    if "uvloop" in sys.argv:
        import uvloop
        run_in_c(uvloop.new_event_loop())
    elif "uvloop.run" in sys.argv:
        import uvloop
        uvloop.run(main())
    else:
        asyncio.run(main())
    print(json.dumps(SPENT), flush=True)
