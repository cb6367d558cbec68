"""Threads that make frames and drop them as fast as they can, and one that starts
others, while main hangs in a lock. With the argument held, a C function of one
more thread blocks, and keeps whoever wants a pause of all threads waiting, until
a line comes."""

import ctypes
import sys
import threading

from common import finish, on_sigusr1, ready

stop = []


def fibonacci(n):
    pair = [n, n + 1]
    return pair[0] if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def numbers(n):
    for i in range(n):
        value = [i]
        yield value


def churn():
    while not stop:
        assert fibonacci(8) == 21
        assert sum(value[0] for value in numbers(20)) == 190
        assert list(map(lambda n: n + 1, range(3))) == [1, 2, 3]


def start_others():
    while not stop:
        thread = threading.Thread(target=fibonacci, args=(5,))
        thread.start()
        thread.join()


def hold_up():
    buffer = ctypes.create_string_buffer(1)
    ctypes.PyDLL(None).read(0, buffer, 1)


def wait_for_lock(lock):
    answer = 41
    seen = {0, 2, 4}
    ready("wait_for_lock", ["futex"], tid=None)
    lock.acquire()
    return answer, sorted(seen)


threads = [threading.Thread(target=churn, name="hot-0"),
           threading.Thread(target=churn, name="hot-1"),
           threading.Thread(target=start_others)]
if "held" in sys.argv:
    threads.append(threading.Thread(target=hold_up))
for thread in threads:
    thread.start()
lock = threading.Lock()
lock.acquire()
on_sigusr1(lambda: lock.locked() and lock.release())  # it may come twice
answer, seen = wait_for_lock(lock)
stop.append(True)
for thread in threads:
    thread.join()
finish(answer=answer, seen=seen, failed=[thread.name for thread in threads if thread.is_alive()])
