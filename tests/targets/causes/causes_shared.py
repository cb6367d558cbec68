"""Waits for another process in multiprocessing, in the way that its first argument names.
The second names what that process does, who could resume it. Like causes.py, it says
that it is ready and is killed."""

import multiprocessing
import os
import sys
import threading
import time

from common import ready

forked = multiprocessing.get_context("fork")


def say(**more):
    ready("main", [], go_on="kill", **more)


# ---- what the other process does with what it shares


def reads(shared):
    os.read(os.pipe()[0], 1)


def waits(event):
    event.wait()


def waits_for_another(shared):
    waits(forked.Event())


def computes(shared):
    total = 0
    while True:
        total += sum(range(10000))


def naps(shared):
    while True:
        time.sleep(0.1)


def computes_in_thread(shared):
    """Its main thread waits for an order."""
    threading.Thread(target=computes, args=(shared,), daemon=True).start()
    reads(shared)


def takes_slowly(queue):
    while True:
        queue.get()
        time.sleep(0.05)


def begin(does, shared, context=forked):
    """It has come to what it does: one that is spawned has none of this before."""
    begun = context.Event()
    child = context.Process(target=in_child, args=(does, begun, shared))
    child.daemon = True
    child.start()
    begun.wait()
    return child.pid


def in_child(does, begun, shared):
    begun.set()
    does(shared)


def other(shared, context=forked):
    return begin(globals()[sys.argv[2]], shared, context)


# ---- who waits for it


def event(context=forked):
    done = context.Event()
    say(other=other(done, context))
    done.wait()


def event_of_spawned():
    event(multiprocessing.get_context("spawn"))


def event_of_several():
    """Two wait for it; the second cannot let the first go on."""
    done = forked.Event()
    begin(waits, done)
    say(other=other(done))
    done.wait()


def event_with_time():
    stop = forked.Event()
    say(other=other(stop))
    while not stop.wait(1000):
        pass


def condition():
    changed = forked.Condition()
    say(other=other(changed))
    with changed:
        changed.wait()


def semaphore(kind=forked.Semaphore):
    slots = kind(1)
    slots.acquire()
    say(other=other(slots))
    slots.acquire()


def bounded_semaphore():
    semaphore(forked.BoundedSemaphore)


def full_queue():
    queue = forked.Queue(maxsize=1)
    say(other=other(queue))
    while True:
        queue.put("no room for a second one")


def unfinished_queue():
    queue = forked.JoinableQueue()
    queue.put("a task that is never done")
    say(other=other(queue))
    queue.join()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
