"""A rank that waits at the line at which all do; rank 2 in another function of C."""

import os
import signal
import threading

from common import finish, on_sigusr1, ready


def wait(how):
    ready("wait", ["futex", "pause"])
    how()


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
wait(signal.pause if os.environ["RANK"] == "2" else lock.acquire)
finish(answer=41)
