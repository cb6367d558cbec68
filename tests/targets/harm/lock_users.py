"""Main hangs in a lock. Four other threads take locks that functions of Python take and
give back, as an expression does that calls log_once(), put_and_get(), notify() or write():
an exception in the middle of such a function leaves its lock taken for ever."""

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


stop, texts = [], []
logger = logging.getLogger("of-its-own")
logger.propagate = False
logger.addHandler(logging.StreamHandler(Nowhere()))
items = queue.Queue()
condition = threading.Condition()
own = Lock()
counts = dict.fromkeys(("log_once", "put_and_get", "notify", "write"), 0)
threads = [threading.Thread(target=work, args=(check,)) for check in (
    log_once, put_and_get, notify, write)]
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
