"""Makes one C call that ends by itself: timed_call.py NAME SECONDS.

The kernel restarts these calls after a stop, with the time that was left, if
the debugger puts every register back. Called through ctypes, so that nothing
between the kernel and us retries: the result, errno and duration are raw.
NAME: futex (a semaphore with a timeout), nanosleep, poll, read (of a timerfd),
select. Python's own signal handlers play no part. (Partials and not lambdas: the
call's frame is that of call_and_measure.)
"""

import ctypes
import functools
import sys
import time

from common import finish, ready

libc = ctypes.CDLL(None, use_errno=True)


class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]

    @classmethod
    def of(cls, seconds):
        return cls(int(seconds), int(seconds % 1 * 1e9))


def futex(seconds):
    """sem_timedwait(3): its futex call is FUTEX_WAIT_BITSET until a time of day."""
    semaphore = ctypes.create_string_buffer(64)
    libc.sem_init(semaphore, 0, 0)
    deadline = Timespec.of(time.time() + seconds)
    return functools.partial(libc.sem_timedwait, semaphore, ctypes.byref(deadline))


def nanosleep(seconds):
    duration = Timespec.of(seconds)
    left = Timespec()
    return functools.partial(libc.nanosleep, ctypes.byref(duration), ctypes.byref(left))


def poll(seconds):
    return functools.partial(libc.poll, None, 0, int(seconds * 1000))


def read(seconds):
    """A blocking read of a timerfd, which gives 8 bytes when its time has come."""
    timer = libc.timerfd_create(time.CLOCK_MONOTONIC, 0)
    setting = (Timespec * 2)(Timespec(), Timespec.of(seconds))
    libc.timerfd_settime(timer, 0, setting, None)
    buffer = ctypes.create_string_buffer(8)
    return functools.partial(libc.read, timer, buffer, 8)


def select(seconds):
    timeout = Timespec(int(seconds), int(seconds % 1 * 1e6))  # a struct timeval
    return functools.partial(libc.select, 0, None, None, None, ctypes.byref(timeout))


def call_and_measure(name, seconds):
    answer = 41
    syscalls = {"nanosleep": ["nanosleep", "clock_nanosleep"],
                "select": ["select", "pselect6"]}.get(name, [name])
    ready("call_and_measure", syscalls, go_on="wait")
    start = time.monotonic()
    call = globals()[name](seconds)
    ctypes.set_errno(0)
    result = call()
    duration = time.monotonic() - start
    finish(
        answer=answer,
        result=result,
        errno=ctypes.get_errno() if result < 0 else 0,
        duration=duration,
    )


call_and_measure(sys.argv[1], float(sys.argv[2]))
