"""Threads that print, log, warn and format tracebacks as fast as they can, one of
them a value that takes its time, while main hangs in a lock. What goes wrong in
them is told at the end."""

import logging
import os
import sys
import threading
import time
import traceback
import warnings

from common import finish, on_sigusr1, ready

stop = []
errors = []
rounds = {}
kept = []
threads = []


class Slow:
    def __str__(self):
        time.sleep(0.02)
        return "slow"


def print_slowly():
    print("state:", Slow(), flush=True)


def print_quickly():
    print("tick", 1, file=None)
    print("tick", 2, file=sys.stderr)


def log():
    logging.getLogger("target").warning("%s", "logged")
    logging.lastResort.handle(logging.makeLogRecord({"msg": "last"}))


def warn():
    warnings.warn("a warning", stacklevel=1)


def format_errors():
    try:
        raise ValueError("of the target's own")
    except ValueError:
        traceback.print_exc()


def keep_stream():
    handler = logging.StreamHandler()
    handler.emit(logging.makeLogRecord({"msg": "by its own handler"}))
    sys.stdout.writelines(["a", "b\n"])


def loop(work):
    while not stop:
        try:
            work()
            rounds[work.__name__] = rounds.get(work.__name__, 0) + 1
        except BaseException:
            errors.append(traceback.format_exc())
            return


def wait_for_lock(lock):
    ready("wait_for_lock", ["futex"])
    sys.stdout = sys.stderr = open(os.devnull, "w")
    logging.getLogger("target").addHandler(logging.StreamHandler(sys.stdout))
    warnings.simplefilter("always")
    for work in (print_slowly, print_quickly, log, warn, format_errors, keep_stream):
        thread = threading.Thread(target=loop, args=(work,))
        thread.daemon = True
        threads.append(thread)
        thread.start()
    lock.acquire()


lock = threading.Lock()
lock.acquire()
on_sigusr1(lambda: stop.append(True) or lock.release())
wait_for_lock(lock)
for thread in threads:
    thread.join()
own = sys.stdout
sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
finish(errors=errors, rounds=len(rounds), own=type(own).__name__)
