"""Learns only when it runs which rank it is, as under mp.spawn and Ray: what it was
started with is stale. late_rank.py NAME=VALUE..."""

import os
import sys
import threading

from common import finish, on_sigusr1, ready

os.environ.update(word.split("=", 1) for word in sys.argv[1:])


def wait_for_lock(lock):
    ready("wait_for_lock", ["futex"])
    lock.acquire()


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
wait_for_lock(lock)
finish(answer=41)
