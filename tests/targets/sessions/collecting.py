"""Main hangs in a lock; another thread collects garbage all the time, of as many objects
as the first argument says: without a GIL all threads are paused most of the time."""

import gc
import sys
import threading

from common import finish, on_sigusr1, ready

stop = []
kept = [[number] for number in range(int(sys.argv[1]))]
collections = [0]
started = threading.Event()


def collect():
    while not stop:
        gc.collect()
        collections[0] += 1
        started.set()


def wait_for_lock(lock):
    answer = 41
    ready("wait_for_lock", ["futex"])
    lock.acquire()
    return answer


thread = threading.Thread(target=collect)
thread.start()
started.wait()
lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
answer = wait_for_lock(lock)
stop.append(True)
thread.join()
finish(answer=answer, collected=collections[0] > 1)
