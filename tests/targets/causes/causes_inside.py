"""Threads of one process that wait for themselves or for each other, or are well, in the
way that the first argument names. Like causes.py, it says that it is ready and is killed."""

import asyncio
import gc
import os
import queue
import random
import signal
import sys
import threading
import time

from common import ready


def say(**more):
    ready("main", [], go_on="kill", **more)


def in_thread(function, *args, **options):
    thread = threading.Thread(target=function, args=args, daemon=True, **options)
    thread.start()
    return thread


def forever():
    time.sleep(1000)


# ---- self-deadlock


def until_asleep(tid):
    """Until that thread sleeps in one and the same wait for a while."""
    def switches():
        with open("/proc/self/task/%d/status" % tid) as status:
            text = status.read()
        return "State:\tS" in text and text[text.index("voluntary_ctxt_switches"):]

    before = None
    while not before or switches() != before:
        before = switches()
        time.sleep(0.05)


def until_stuck(step, handler):
    """Calls `step` again and again, and `handler` by a signal in between, until main is in
    the handler for good."""
    begun, done = [0], [0]

    def on_signal(signum, frame):
        begun[0] += 1
        handler()
        done[0] += 1
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0001, 0.002))

    def watch():
        seen = -1
        while begun[0] == done[0] or begun[0] != seen:
            seen = begun[0]
            time.sleep(0.3)
        say()
        forever()

    signal.signal(signal.SIGALRM, on_signal)
    in_thread(watch)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    while True:
        step()


def queue_in_handler():
    """The mutex of a queue, taken by put() and get() within its Conditions."""
    work = queue.Queue()

    def step():
        work.put(1)
        work.get()

    until_stuck(step, lambda: work.put(1))


def event_in_handler():
    event = threading.Event()

    def step():
        event.set()
        event.clear()

    until_stuck(step, event.set)


def finalizer():
    """The collector runs __del__ within a `with` of the lock that it takes."""
    lock = threading.Lock()

    class Handle:
        def __init__(self):
            self.me = self

        def __del__(self):
            with lock:
                pass

    gc.disable()
    Handle()
    say()
    with lock:
        gc.collect()


def traced_exit():
    """A trace function wants the lock that Condition.__exit__ is about to release."""
    work, main = queue.Queue(), os.getpid()

    def tracer(frame, event, _):
        if frame.f_code is threading.Condition.__exit__.__code__:
            frame.f_trace_opcodes = True
            if frame.f_lasti >= 2:
                sys.settrace(None)
                in_thread(lambda: (until_asleep(main), say(), forever()))
                work.put(1)
        return tracer

    sys.settrace(tracer)
    work.put(1)


def held_by_other():
    """main is in get(), which has let go of the mutex; a handler on top of it wants the
    mutex, which another thread has."""
    work = queue.Queue()

    def other():
        while not work.not_empty._waiters:
            time.sleep(0.01)
        until_asleep(os.getpid())  # Python loses a signal that comes just before that
        with work.mutex:
            os.kill(os.getpid(), signal.SIGUSR2)
            say()
            forever()

    signal.signal(signal.SIGUSR2, lambda *of: work.put(1))
    in_thread(other, name="other")
    work.get()


# ---- threads that wait for each other


def queues():
    """Each puts more into the other's queue than it takes out of its own."""
    first, second = queue.Queue(4), queue.Queue(4)

    def feeds(to, by):
        while True:
            for _ in range(3):
                to.put(1)
            by.get()

    threads = [in_thread(feeds, first, second), in_thread(feeds, second, first)]
    say()
    for thread in threads:
        thread.join()


def acquired():
    """Without `with`."""
    first, second = threading.Lock(), threading.Lock()
    both = threading.Barrier(2)

    def takes(one, other):
        one.acquire()
        both.wait()
        other.acquire()

    threads = [in_thread(takes, first, second), in_thread(takes, second, first)]
    say()
    for thread in threads:
        thread.join()


# ---- event loops


def run(coroutine):
    asyncio.new_event_loop().run_until_complete(coroutine)


def not_woken():
    async def waits():
        result = asyncio.get_event_loop().create_future()

        def sets():
            time.sleep(0.3)
            result.set_result(1)
            say()
            threading.Event().wait()

        in_thread(sets)
        await result

    run(waits())


def not_stopped():
    loop = asyncio.new_event_loop()

    def stops():
        time.sleep(0.3)
        loop.stop()
        say()
        threading.Event().wait()

    in_thread(stops)
    loop.run_forever()


def in_pool():
    async def waits():
        say()
        inner = os.pipe()
        await asyncio.get_event_loop().run_in_executor(None, os.read, inner[0], 1)

    run(waits())


def child_output():
    """It is waited for, and nobody reads what it writes."""
    async def waits():
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "print('x' * 10000000)", stdout=asyncio.subprocess.PIPE)
        say()
        await child.wait()

    run(waits())


# ---- after a fork


def buffered_fork():
    """A thread of the parent writes into a full pipe."""
    reader, writer = os.pipe()
    out = open(writer, "wb", buffering=65536)

    def fills():
        while True:
            out.write(b"x" * 9000)

    in_thread(fills, name="fills")
    time.sleep(0.5)
    child = os.fork()
    if child == 0:
        out.write(b"from the child")
        os._exit(0)
    say(child=child)
    os.waitpid(child, 0)


# ---- who is well


def signalled():
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *of: stop.set())
    in_thread(forever)
    say()
    stop.wait()


def computes_with_gil():
    in_thread(forever)

    def looks():
        while True:
            time.sleep(0.01)

    in_thread(looks)
    say()
    sum(range(10 ** 12))


def woken_often():
    async def waits():
        loop, work = asyncio.get_event_loop(), asyncio.Queue()

        def feeds():
            while True:
                loop.call_soon_threadsafe(work.put_nowait, 1)
                time.sleep(0.003)

        in_thread(feeds)
        say()
        while True:
            await work.get()

    run(waits())


def pool_computes():
    def computes():
        while True:
            pass

    async def waits():
        say()
        await asyncio.get_event_loop().run_in_executor(None, computes)

    run(waits())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
