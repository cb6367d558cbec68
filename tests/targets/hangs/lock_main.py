"""The main thread, alone, waits for a lock that nobody will release."""

import threading

from common import finish, on_sigusr1, ready


def wait_for_lock(lock):
    answer = 41
    seen = {0, 2, 4}
    ready("wait_for_lock", ["futex"])
    lock.acquire()
    return answer, sorted(seen)


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
answer, seen = wait_for_lock(lock)
finish(answer=answer, seen=seen)
