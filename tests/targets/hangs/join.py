"""The main thread waits for the end of a worker, which waits for an Event."""

import sys
import threading

from common import finish, on_sigusr1, ready


def wait_for_worker(worker):
    answer = 41
    seen = {0, 2, 4}
    # Of threading, above ours: join(), and before 3.13 what it calls.
    ready("wait_for_worker", ["futex"], frame=1 if sys.version_info >= (3, 13) else 2)
    worker.join()
    return answer, sorted(seen)


event = threading.Event()
on_sigusr1(event.set)
worker = threading.Thread(target=event.wait)
worker.start()
answer, seen = wait_for_worker(worker)
finish(answer=answer, seen=seen, ended=not worker.is_alive())
