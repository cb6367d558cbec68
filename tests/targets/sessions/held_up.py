"""Main hangs in a lock. Once the file of the first argument is there, a thread
computes in C for some seconds; another looks all the time how long it stood still
at most."""

import os
import sys
import threading
import time

from common import finish, on_sigusr1, ready

stop = []
longest = [0.0]


def compute():
    while not stop and not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    sum(range(200_000_000))


def beat():
    last = time.monotonic()
    while not stop:
        time.sleep(0.01)
        now = time.monotonic()
        longest[0] = max(longest[0], now - last)
        last = now


def wait_for_lock(lock):
    answer = 41
    ready("wait_for_lock", ["futex"])
    lock.acquire()
    return answer


threads = [threading.Thread(target=compute), threading.Thread(target=beat)]
for thread in threads:
    thread.start()
lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
answer = wait_for_lock(lock)
stop.append(True)
for thread in threads:
    thread.join()
finish(answer=answer, longest=longest[0])
