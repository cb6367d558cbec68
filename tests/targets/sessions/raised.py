"""Waits for a lock, in the main thread or (raised.py worker) in another; tells what
has come up there when it is told to end."""

import sys
import threading

from common import finish, native_id, on_sigusr1, ready


def wait(limit):
    answer = 41
    ready("wait", ["futex"], tid=native_id())
    try:
        lock.acquire()
    except limit as error:
        caught.append("%s: %s" % (type(error).__name__, error))
    return answer


def end():
    told.set()
    lock.release()


caught = []
lock = threading.Lock()
lock.acquire()
told = threading.Event()
on_sigusr1(end)
if "worker" in sys.argv:
    worker = threading.Thread(target=wait, args=(Exception,))
    worker.start()
    worker.join()
else:
    wait(Exception)
told.wait()
finish(caught=caught)
