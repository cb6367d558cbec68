"""Main hangs in a lock. Other threads take locks and give them back, one a function of
WORK, as an expression does that calls it: an exception in the middle of such a function may
leave its lock taken for ever."""

import logging
import queue
import threading
import time

from common import finish, on_sigusr1, ready


class Lock:
    """A lock of the program's own, around one of Python's."""

    def __init__(self):
        self.inner = threading.Lock()
        self.taken = 0

    def acquire(self):
        self.inner.acquire()
        self.taken += 1

    def release(self):
        self.taken -= 1
        self.inner.release()

    def __enter__(self):
        self.acquire()
        return self

    def __exit__(self, *_):
        self.release()


class Nowhere:
    def write(self, text):
        return len(text)

    def flush(self):
        pass


def log_once():
    logger.error("an error")
    logging.getLogger("another").isEnabledFor(10)


def put_and_get():
    items.put(1)
    items.get()


def notify():
    with condition:
        condition.notify_all()


def write():
    with own:
        texts.append("text")
    own.acquire()
    try:
        texts.pop()
    finally:
        own.release()


def block():
    with plain:
        texts.append("text")
    for _ in range(3):
        with own:
            for number in (1, 2, 3):
                numbers[0] += number


def next_line(lines):
    for line in lines:
        return line


def read(lines):
    """In a function that names no lock and catches nothing; its caller then takes one."""
    line = next_line(lines)
    plain.acquire()
    try:
        numbers[0] += len(line)
    finally:
        plain.release()


def poll():
    try:
        nothing.get(timeout=0.01)
    except queue.Empty:
        pass


def work(check):
    while not stop:
        check()
        counts[check.__name__] += 1
        time.sleep(0.001)


def wait_for_lock(lock):
    answer = 41
    ready("wait_for_lock", ["futex"])
    lock.acquire()
    return answer


WORK = (log_once, put_and_get, notify, write, block, poll)
stop, texts, numbers = [], [], [0]
logger = logging.getLogger("of-its-own")
logger.propagate = False
logger.addHandler(logging.StreamHandler(Nowhere()))
items, nothing = queue.Queue(), queue.Queue()
condition = threading.Condition()
own, plain = Lock(), threading.Lock()
counts = {check.__name__: 0 for check in WORK}
threads = [threading.Thread(target=work, args=(check,)) for check in WORK]
for thread in threads:
    thread.start()
lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
answer = wait_for_lock(lock)
stop.append(True)
for thread in threads:
    thread.join()
finish(answer=answer)
