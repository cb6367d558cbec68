"""The module that blocked_import.py imports."""

import __main__
import threading

from common import on_sigusr1, ready


def wait_for_lock(lock):
    answer = 41
    seen = {0, 2, 4}
    ready("wait_for_lock", ["futex"], file="hung_module.py")
    lock.acquire()
    return answer, sorted(seen)


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
__main__.importing.set()
answer, seen = wait_for_lock(lock)
