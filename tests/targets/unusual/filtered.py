"""Installs the seccomp filter of its first argument, then hangs: in a lock, or
with a second argument "poll" for 2 s in poll(2), which the kernel restarts by
restart_syscall."""

import json
import sys
import threading

from common import finish, on_sigusr1, ready
from seccomp_filter import install


def wait_for_lock(lock):
    answer = 41
    ready("wait_for_lock", ["futex"])
    install(spec)
    lock.acquire()
    return answer


def wait_in_poll():
    import ctypes

    answer = 41
    libc = ctypes.CDLL(None)
    ready("wait_in_poll", ["poll"], go_on="wait")
    install(spec)
    libc.poll(None, 0, 2000)
    return answer


spec = json.loads(sys.argv[1])
if sys.argv[2:] == ["poll"]:
    answer = wait_in_poll()
else:
    lock = threading.Lock()
    lock.acquire()
    on_sigusr1(lock.release)
    answer = wait_for_lock(lock)
finish(answer=answer)
