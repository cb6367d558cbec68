"""The main thread, alone, waits for a lock with a timeout of an hour."""

import threading

from common import finish, on_sigusr1, ready


def wait_for_lock(lock):
    answer = 41
    seen = {0, 2, 4}
    ready("wait_for_lock", ["futex"])
    taken = lock.acquire(timeout=3600)
    return answer, sorted(seen), taken


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
answer, seen, taken = wait_for_lock(lock)
finish(answer=answer, seen=seen, taken=taken)
