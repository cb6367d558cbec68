"""Sleeps in one of many kinds of loops: `polling_loops.py KIND PAUSE`."""
import os
import queue
import select
import socket
import sys
import threading
import time

from common import ready

PAUSE = float(sys.argv[2])
NEVER = "/nonexistent/%d" % os.getpid()


class Worker:
    running = True
    done = False
    stop = threading.Event()

    def beat(self):
        self.beats = getattr(self, "beats", 0) + 1


def file(path):
    while not os.path.exists(path):
        time.sleep(PAUSE)


def attempts():
    for attempt in range(10 ** 9):
        try:
            return open(NEVER)
        except OSError:
            time.sleep(PAUSE)


def with_limit(condition, limit):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(PAUSE)
    raise RuntimeError("it has not come")


def variable(worker):
    while not worker.done:
        time.sleep(PAUSE)


def rest():
    time.sleep(PAUSE)


def by_helper(path):
    while not os.path.isdir(path):
        rest()


def by_event(worker):
    while not os.path.exists(NEVER):
        worker.stop.wait(PAUSE)


def beats(worker):
    while worker.running:
        worker.beat()
        time.sleep(PAUSE)


def beats_until(worker):
    while not worker.stop.wait(PAUSE):
        worker.beat()


def beats_until_interrupted(worker):
    try:
        while True:
            worker.beat()
            time.sleep(PAUSE)
    except KeyboardInterrupt:
        pass


def batches(worker):
    for _ in range(10 ** 9):
        worker.beat()
        time.sleep(PAUSE)


def by_queue(items):
    while True:
        try:
            return items.get(timeout=PAUSE)
        except queue.Empty:
            continue


def by_lock(lock):
    while not lock.acquire(timeout=PAUSE):
        pass


def by_condition(condition, items):
    with condition:
        while not items:
            condition.wait(PAUSE)


def by_select(ours, theirs):
    while True:
        readable, _, _ = select.select([ours], [], [], PAUSE)
        if readable:
            return theirs


def held():
    lock = threading.Lock()
    lock.acquire()
    return lock


KINDS = {
    "file": lambda: file(NEVER),
    "attempts": attempts,
    "with_limit": lambda: with_limit(lambda: os.path.exists(NEVER), 1e6),
    "variable": lambda: variable(Worker()),
    "by_helper": lambda: by_helper(NEVER),
    "by_event": lambda: by_event(Worker()),
    "beats": lambda: beats(Worker()),
    "beats_until": lambda: beats_until(Worker()),
    "beats_until_interrupted": lambda: beats_until_interrupted(Worker()),
    "batches": lambda: batches(Worker()),
    "by_queue": lambda: by_queue(queue.Queue()),
    "by_lock": lambda: by_lock(held()),
    "by_condition": lambda: by_condition(threading.Condition(), []),
    "by_select": lambda: by_select(*socket.socketpair()),
    "once": rest,
}

if __name__ == "__main__":
    ready(sys.argv[1], ["clock_nanosleep", "select", "pselect6", "futex"])
    KINDS[sys.argv[1]]()
