"""Of timed_calls.py: those that wait for a time, a lock, a message, a signal."""

import ctypes
import fcntl
import itertools
import os
import select
import signal
import struct
import tempfile
import time

from raw_calls import after, bytes_of, keep, libc, syscall, timespec

names = itertools.count()

# ---- time


def nanosleep_(seconds):
    return syscall(35, timespec(seconds), timespec(0))


def clock_nanosleep_(seconds):
    return syscall(230, 1, 0, timespec(seconds), timespec(0))


def clock_nanosleep_until_(seconds):
    return syscall(230, 1, 1, timespec(time.monotonic() + seconds), 0)


# ---- locks

FUTEX_WAIT_PRIVATE = 128
FUTEX_WAIT_BITSET_PRIVATE = 137


def futex_(seconds):
    """As a semaphore or a condition waits: until a time."""
    return syscall(202, bytes_of(4), FUTEX_WAIT_BITSET_PRIVATE, 0,
                   timespec(time.monotonic() + seconds), 0, 0xFFFFFFFF)


def futex_plain_(seconds):
    """As the locks of the libc wait, but until a time: those have none."""
    return syscall(202, bytes_of(4), FUTEX_WAIT_PRIVATE, 0, timespec(seconds), 0, 0)


def futex_waitv_(seconds):
    word = keep(bytes_of(8))
    waiter = ctypes.create_string_buffer(
        struct.pack("QQII", 0, ctypes.addressof(word), 2, 0), 24)
    return syscall(449, waiter, 1, 0, timespec(time.monotonic() + seconds), 1)


def flock_(seconds):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        path = file.name
    after(seconds, lambda: None,
          lambda: fcntl.flock(keep(open(path)), fcntl.LOCK_EX))
    return syscall(73, keep(open(path)).fileno(), fcntl.LOCK_EX)


def fcntl_(seconds):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        path = file.name
    after(seconds, lambda: None, lambda: fcntl.lockf(keep(open(path, "w")), fcntl.LOCK_EX))
    whole = ctypes.create_string_buffer(
        struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0), 32)
    return syscall(72, keep(open(path, "w")).fileno(), fcntl.F_SETLKW, whole)


def semaphore_set():
    return libc.semget(0, 1, 0o600 | 0o1000)


def semop_(seconds):
    semaphores = semaphore_set()
    up, down = struct.pack("Hhh", 0, 1, 0), struct.pack("Hhh", 0, -1, 0)
    after(seconds, lambda: (libc.semop(semaphores, up, 1), libc.semctl(semaphores, 0, 0)))
    return syscall(65, semaphores, ctypes.create_string_buffer(down, 6), 1)


def semtimedop_(seconds):
    semaphores = semaphore_set()
    after(seconds + 1, lambda: libc.semctl(semaphores, 0, 0))
    return syscall(220, semaphores, ctypes.create_string_buffer(
        struct.pack("Hhh", 0, -1, 0), 6), 1, timespec(seconds))


# ---- waiting for several


def poll_(seconds):
    return syscall(7, 0, 0, int(seconds * 1000))


def ppoll_(seconds):
    return syscall(271, 0, 0, timespec(seconds), 0, 0)


def select_(seconds):
    timeval = (ctypes.c_long * 2)(int(seconds), int(seconds % 1 * 1e6))
    return syscall(23, 0, 0, 0, 0, timeval)


def pselect6_(seconds):
    return syscall(270, 0, 0, 0, 0, timespec(seconds), 0)


def epoll_wait_(seconds):
    return syscall(232, keep(select.epoll()).fileno(), bytes_of(12), 1,
                   int(seconds * 1000))


def epoll_pwait_(seconds):
    return syscall(281, keep(select.epoll()).fileno(), bytes_of(12), 1,
                   int(seconds * 1000), 0, 8)


def epoll_pwait2_(seconds):
    return syscall(441, keep(select.epoll()).fileno(), bytes_of(12), 1,
                   timespec(seconds), 0, 8)


# ---- messages


def message_queue():
    return libc.msgget(0, 0o600 | 0o1000)


def msgrcv_(seconds):
    queue = message_queue()
    after(seconds, lambda: (libc.msgsnd(queue, struct.pack("q8s", 1, b"x"), 8, 0),
                            time.sleep(1), libc.msgctl(queue, 0, None)))
    return syscall(70, queue, bytes_of(16), 8, 0, 0)


def msgsnd_(seconds):
    queue = message_queue()
    while libc.msgsnd(queue, struct.pack("q4096s", 1, b"x"), 4096, 0o4000) == 0:
        pass
    after(seconds, lambda: (libc.msgrcv(queue, bytes_of(5000), 4096, 0, 0),
                            time.sleep(1), libc.msgctl(queue, 0, None)))
    return syscall(69, queue, ctypes.create_string_buffer(
        struct.pack("q4096s", 1, b"x"), 4104), 4096, 0)


def posix_queue():
    name = ctypes.create_string_buffer(b"hangdbg-test-%d-%d" % (os.getpid(), next(names)))
    attributes = (ctypes.c_long * 8)(0, 1, 8)
    queue = syscall(240, name, os.O_CREAT | os.O_RDWR, 0o600, attributes)()
    assert queue >= 0, os.strerror(ctypes.get_errno())
    syscall(241, name)()
    return queue


def mq_timedreceive_(seconds):
    queue = posix_queue()
    return syscall(243, queue, bytes_of(8), 8, 0, timespec(time.time() + seconds))


def mq_timedreceive_unlimited_(seconds):
    queue = posix_queue()
    send = syscall(242, queue, bytes_of(8), 8, 0, 0)
    after(seconds, send)
    return syscall(243, queue, bytes_of(8), 8, 0, 0)


def mq_timedsend_(seconds):
    queue = posix_queue()
    syscall(242, queue, bytes_of(8), 8, 0, 0)()
    return syscall(242, queue, bytes_of(8), 8, 0, timespec(time.time() + seconds))


# ---- signals and children


def ignore(signum, frame):
    pass


def caught(seconds):
    signal.signal(signal.SIGUSR2, ignore)
    parent = os.getpid()
    after(seconds, lambda: os.kill(parent, signal.SIGUSR2))


def pause_(seconds):
    caught(seconds)
    return syscall(34)


def rt_sigsuspend_(seconds):
    caught(seconds)
    return syscall(130, bytes_of(8), 8)


def rt_sigtimedwait_(seconds):
    mask = ctypes.create_string_buffer(struct.pack("Q", 1 << (signal.SIGUSR2 - 1)), 8)
    return syscall(128, mask, 0, timespec(seconds), 8)


def rt_sigtimedwait_unlimited_(seconds):
    """sigwaitinfo(3)."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    mask = ctypes.create_string_buffer(struct.pack("Q", 1 << (signal.SIGUSR2 - 1)), 8)
    parent = os.getpid()
    after(seconds, lambda: os.kill(parent, signal.SIGUSR2))
    return syscall(128, mask, 0, 0, 8)


def wait4_(seconds):
    child = after(seconds, lambda: None)
    return syscall(61, child, 0, 0, 0)


def waitid_(seconds):
    return syscall(247, 1, after(seconds, lambda: None), bytes_of(128), 4, 0)


# ---- asynchronous input and output


def io_getevents_(seconds):
    context = ctypes.c_long(0)
    assert syscall(206, 1, context)() == 0
    return syscall(208, context.value, 1, 1, bytes_of(32), timespec(seconds))


def io_uring_enter_(seconds):
    """With IORING_ENTER_GETEVENTS | EXT_ARG, and nothing to come."""
    ring = syscall(425, 1, bytes_of(120))()
    assert ring >= 0, "io_uring: " + os.strerror(ctypes.get_errno())
    argument = ctypes.create_string_buffer(
        struct.pack("QIIQ", 0, 0, 0, ctypes.addressof(keep(timespec(seconds)))), 24)
    return syscall(426, ring, 0, 1, 1 | 8, argument, 24)
