"""A worker waits for a lock; main waits for the worker, which is no news."""

import threading

from common import finish, native_id, on_sigusr1, ready


def wait_for_lock(lock, results):
    answer = 41
    seen = {0, 2, 4}
    ready("wait_for_lock", ["futex"], tid=native_id())
    lock.acquire()
    results.extend([answer, sorted(seen)])


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
results = []
worker = threading.Thread(
    target=wait_for_lock, args=(lock, results), name="the-worker", daemon=True
)
worker.start()
worker.join()
finish(answer=results[0], seen=results[1])
