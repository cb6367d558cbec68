"""The main thread waits for a lock, and then for a child that calls a function and raises."""

import os
import threading

from common import finish, on_sigusr1, ready


class Raised(Exception):
    pass


def wait_and_fork(lock):
    answer = 41
    ready("wait_and_fork", ["futex"])
    lock.acquire()
    child = os.fork()
    if child == 0:
        os._exit(in_child(7))
    return answer, os.waitpid(child, 0)[1] >> 8


def in_child(status):
    try:
        raise Raised
    except Raised:
        return status


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
answer, status = wait_and_fork(lock)
finish(answer=answer, status=status)
