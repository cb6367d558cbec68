"""A greenlet waits for a lock that gevent knows nothing of, and so all wait."""

from gevent import monkey

monkey.patch_all()

import gevent  # noqa: E402

from common import finish, on_sigusr1, ready  # noqa: E402


def wait_for_lock(lock):
    answer = 41
    seen = {0, 2, 4}
    ready("wait_for_lock", ["futex"])
    lock.acquire()
    return answer, sorted(seen)


lock = monkey.get_original("_thread", "allocate_lock")()
lock.acquire()
on_sigusr1(lock.release)
answer, seen = gevent.spawn(wait_for_lock, lock).get()
finish(answer=answer, seen=seen)
