"""Coroutines that poll, that wait for their own loop, that never end, in the way that the
first argument names; and what a fork leaves of pools and loops. With Trio: `trio_...`."""

import asyncio
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from common import ready

NEVER = "/nonexistent/%d" % os.getpid()


def say(**more):
    ready("main", [], go_on="kill", **more)


def run(coroutine):
    if hasattr(asyncio, "run"):  # from 3.7 on
        asyncio.run(coroutine)
    else:
        asyncio.get_event_loop().run_until_complete(coroutine)


# ---- it polls, or works now and then


async def until_there(pause):
    while not os.path.exists(NEVER):
        await asyncio.sleep(pause)


async def polls():
    say()
    await until_there(30)


async def asks_queue():
    queue = asyncio.Queue()
    say()
    while True:
        try:
            return await asyncio.wait_for(queue.get(), 30)
        except asyncio.TimeoutError:
            continue


async def closes_generator():
    """asyncio.run() closes it at its end, and it waits for ever."""
    async def numbers():
        try:
            yield 1
        finally:
            say()
            await asyncio.get_running_loop().create_future()

    async for _ in numbers():
        break


async def polls_by_tasks():
    async def is_there():
        return os.path.exists(NEVER)

    async def wait():
        while True:
            if await is_there():
                return
            await asyncio.sleep(30)

    say()
    await asyncio.gather(wait(), wait())


async def polls_with_limit():
    say()
    await asyncio.wait_for(until_there(30), 3600)


async def works_now_and_then():
    say()
    while True:
        os.listdir("/")
        await asyncio.sleep(30)


async def producer():
    """One that works now and then, for others that wait for it."""
    queue = asyncio.Queue()

    async def produces():
        while True:
            await asyncio.sleep(0.2)
            queue.put_nowait(1)

    async def consumes():
        while True:
            await queue.get()

    say()
    await asyncio.gather(produces(), consumes(), consumes())


async def waits_for_handler():
    import signal

    stop = asyncio.Event()
    asyncio.get_event_loop().add_signal_handler(signal.SIGTERM, stop.set)
    say()
    await stop.wait()


# ---- it waits for a loop that it blocks


async def value():
    return 1


async def asks_own_loop():
    loop = asyncio.get_event_loop()
    say()
    asyncio.run_coroutine_threadsafe(value(), loop).result()


async def asks_by_thread():
    loop = asyncio.get_event_loop()
    thread = threading.Thread(
        target=lambda: asyncio.run_coroutine_threadsafe(value(), loop).result())
    say()
    thread.start()
    thread.join()


# ---- asyncio.run() has come to its end


async def never_done():
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass


async def cancelled():
    asyncio.ensure_future(never_done())
    await asyncio.sleep(0)
    say()


async def pool_at_end():
    asyncio.get_event_loop().run_in_executor(None, threading.Event().wait)
    say()


# ---- a fork


def in_child(ask):
    child = os.fork()
    if child == 0:
        ask()
        os._exit(0)
    say(child=child)
    os.waitpid(child, 0)


def forked_pool():
    pool = ThreadPoolExecutor(1)
    pool.submit(int).result()
    in_child(lambda: pool.submit(int).result())


def forked_loop():
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    asyncio.run_coroutine_threadsafe(value(), loop).result()
    in_child(lambda: asyncio.run_coroutine_threadsafe(value(), loop).result())


# ---- multiprocessing


def joins_again_and_again():
    import multiprocessing

    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,))
    child.start()
    say(child=child.pid)
    while child.is_alive():
        child.join(5)


def take_turns():
    """Whoever waits may have the lock by the time that its frames are read."""
    lock = threading.Lock()

    def again():
        while True:
            with lock:
                time.sleep(0.2)

    for _ in range(3):
        threading.Thread(target=again, daemon=True).start()
    say()
    again()


# ---- Trio


def trio_polls():
    import trio

    async def main():
        say()
        while not os.path.exists(NEVER):
            await trio.sleep(30)
    trio.run(main)


def trio_locks():
    import trio

    async def main():
        first, second = trio.Lock(), trio.Lock()

        async def takes(one, other):
            async with one:
                await trio.sleep(0.1)
                async with other:
                    pass
        say()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(takes, first, second)
            nursery.start_soon(takes, second, first)
    trio.run(main)


def trio_works():
    import trio

    async def main():
        say()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(works, trio)
            await trio.sleep_forever()
    trio.run(main)


async def works(trio):
    while True:
        os.listdir("/")
        await trio.sleep(0.2)


case = globals()[sys.argv[1]]
if asyncio.iscoroutinefunction(case):
    run(case())
else:
    case()
