"""The blocking system calls of Linux x86-64, each so that it ends after some time.

    call = prepare("read_pipe", seconds)
    call()          # syscall(2): -1 and errno, or the result

Those that know no time limit end by what a child process does then.
"""

import ctypes
import fcntl
import functools
import itertools
import os
import pty
import select
import signal
import socket
import struct
import tempfile
import time

libc = ctypes.CDLL(None, use_errno=True)
kept = []  # what calls point to, and what must stay open
names = itertools.count()
last_number = None  # of the last call that was prepared


# Their result is a new file descriptor or a child: its number says nothing.
NUMBERED = {"accept", "accept4", "open", "wait4"}


def prepare(name, seconds):
    return globals()[name + "_"](seconds)


def syscall(number, *args):
    """The call, not made yet. Buffers go as their addresses."""
    global last_number
    last_number = number
    words = [ctypes.c_long(number)]
    for argument in args:
        if not isinstance(argument, int):
            kept.append(argument)
            argument = ctypes.addressof(argument)
        words.append(ctypes.c_long(argument))
    return functools.partial(libc.syscall, *words)


def after(seconds, event, first=lambda: None):
    """A child does `first` before this returns, and `event` that much later."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        first()
        os.write(here, b"x")
        time.sleep(seconds)
        event()
        os._exit(0)
    os.read(there, 1)
    os.close(there)
    os.close(here)
    return child


def timespec(seconds):
    return (ctypes.c_long * 2)(int(seconds), int(seconds % 1 * 1e9))


def bytes_of(count):
    return ctypes.create_string_buffer(count)


def keep(*things):
    kept.extend(things)
    return things[0]


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
    """As the libc's own locks wait."""
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


# ---- files


def read_(seconds):
    """Of a timer."""
    timer = libc.timerfd_create(time.CLOCK_MONOTONIC, 0)
    setting = (ctypes.c_long * 4)(0, 0, int(seconds), int(seconds % 1 * 1e9))
    libc.timerfd_settime(timer, 0, setting, None)
    return syscall(0, timer, bytes_of(8), 8)


def read_pipe_(seconds):
    reader, writer = os.pipe()
    after(seconds, lambda: os.write(writer, b"x"))
    return syscall(0, reader, bytes_of(8), 8)


def readv_(seconds):
    reader, writer = os.pipe()
    after(seconds, lambda: os.write(writer, b"x"))
    part = (ctypes.c_long * 2)(ctypes.addressof(keep(bytes_of(8))), 8)
    return syscall(19, reader, part, 1)


def read_terminal_(seconds):
    ours, theirs = pty.openpty()
    after(seconds, lambda: os.write(ours, b"x\n"))
    return syscall(0, theirs, bytes_of(8), 8)


def read_eventfd_(seconds):
    counter = libc.eventfd(0, 0)
    after(seconds, lambda: os.write(counter, struct.pack("Q", 1)))
    return syscall(0, counter, bytes_of(8), 8)


def read_inotify_(seconds):
    folder = tempfile.mkdtemp()
    watch = libc.inotify_init()
    libc.inotify_add_watch(watch, folder.encode(), 0x100)  # IN_CREATE
    after(seconds, lambda: open(folder + "/x", "w").close())
    return syscall(0, watch, bytes_of(512), 512)


def read_signalfd_(seconds):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    mask = ctypes.create_string_buffer(struct.pack("Q", 1 << (signal.SIGUSR2 - 1)), 128)
    file = libc.signalfd(-1, mask, 0)
    parent = os.getpid()
    after(seconds, lambda: os.kill(parent, signal.SIGUSR2))
    return syscall(0, file, bytes_of(128), 128)


def small_pipe():
    reader, writer = os.pipe()
    fcntl.fcntl(writer, 1031, 4096)  # F_SETPIPE_SZ
    return reader, writer


def write_(seconds):
    """To a full pipe."""
    reader, writer = small_pipe()
    os.write(writer, bytes(4096))
    after(seconds, lambda: os.read(reader, 4096))
    return syscall(1, writer, bytes_of(8), 8)


def write_half_(seconds):
    """More than the pipe takes: half of it has been written when it blocks."""
    reader, writer = small_pipe()
    after(seconds, lambda: os.read(reader, 4096))
    return syscall(1, writer, bytes_of(8192), 8192)


def splice_(seconds):
    reader, writer = os.pipe()
    sink = os.open("/dev/null", os.O_WRONLY)
    after(seconds, lambda: os.write(writer, b"x"))
    return syscall(275, reader, 0, sink, 0, 8, 0)


def open_(seconds):
    """A FIFO."""
    path = "%s/fifo" % tempfile.mkdtemp()
    os.mkfifo(path)
    after(seconds, lambda: os.open(path, os.O_WRONLY))
    return syscall(2, ctypes.create_string_buffer(path.encode()), 0, 0)


# ---- sockets


def pair(kind=socket.SOCK_STREAM):
    return keep(socket.socketpair(socket.AF_UNIX, kind))


def limited(one, seconds, option):
    one.setsockopt(socket.SOL_SOCKET, option,
                   struct.pack("qq", int(seconds), int(seconds % 1 * 1e6)))
    return one


def recvfrom_(seconds):
    one, other = pair()
    after(seconds, lambda: other.send(b"x"))
    return syscall(45, one.fileno(), bytes_of(8), 8, 0, 0, 0)


def recvfrom_limited_(seconds):
    one = limited(pair()[0], seconds, socket.SO_RCVTIMEO)
    return syscall(45, one.fileno(), bytes_of(8), 8, 0, 0, 0)


def read_limited_(seconds):
    one = limited(pair()[0], seconds, socket.SO_RCVTIMEO)
    return syscall(0, one.fileno(), bytes_of(8), 8)


def message():
    """A struct msghdr for 8 bytes."""
    part = keep((ctypes.c_long * 2)(ctypes.addressof(keep(bytes_of(8))), 8))
    return (ctypes.c_long * 8)(0, 0, ctypes.addressof(part), 1, 0, 0, 0, 0)


def recvmsg_(seconds):
    one, other = pair()
    after(seconds, lambda: other.send(b"x"))
    return syscall(47, one.fileno(), message(), 0)


def recvmsg_limited_(seconds):
    one = limited(pair()[0], seconds, socket.SO_RCVTIMEO)
    return syscall(47, one.fileno(), message(), 0)


def recvmmsg_(seconds):
    one, other = pair()
    after(seconds, lambda: other.send(b"x"))
    return syscall(299, one.fileno(), message(), 1, 0, 0)


def full():
    """A socket that takes nothing more, and its other end."""
    one, other = pair()
    one.setblocking(False)
    try:
        while True:
            one.send(bytes(4096))
    except BlockingIOError:
        one.setblocking(True)
    return one, other


def drain(other):
    other.setblocking(False)
    try:
        while other.recv(65536):
            pass
    except BlockingIOError:
        pass


def sendto_(seconds):
    one, other = full()
    after(seconds, lambda: drain(other))
    return syscall(44, one.fileno(), bytes_of(8), 8, 0, 0, 0)


def sendto_limited_(seconds):
    one = limited(full()[0], seconds, socket.SO_SNDTIMEO)
    return syscall(44, one.fileno(), bytes_of(8), 8, 0, 0, 0)


def sendmsg_(seconds):
    one, other = full()
    after(seconds, lambda: drain(other))
    return syscall(46, one.fileno(), message(), 0)


def write_limited_(seconds):
    one = limited(full()[0], seconds, socket.SO_SNDTIMEO)
    return syscall(1, one.fileno(), bytes_of(8), 8)


def listener():
    one = keep(socket.socket(socket.AF_UNIX))
    name = "\0hangdbg-test-%d-%d" % (os.getpid(), next(names))
    one.bind(name)
    one.listen(0)
    return one, name


def accept_(seconds):
    one, name = listener()
    after(seconds, lambda: socket.socket(socket.AF_UNIX).connect(name))
    return syscall(43, one.fileno(), 0, 0)


def accept_limited_(seconds):
    one = limited(listener()[0], seconds, socket.SO_RCVTIMEO)
    return syscall(43, one.fileno(), 0, 0)


def accept4_(seconds):
    one, name = listener()
    after(seconds, lambda: socket.socket(socket.AF_UNIX).connect(name))
    return syscall(288, one.fileno(), 0, 0, 0)


def accept4_limited_(seconds):
    one = limited(listener()[0], seconds, socket.SO_RCVTIMEO)
    return syscall(288, one.fileno(), 0, 0, 0)


def connecting(name):
    one = keep(socket.socket(socket.AF_UNIX))
    address = struct.pack("H", socket.AF_UNIX) + name.encode()
    return one, syscall(42, one.fileno(),
                        ctypes.create_string_buffer(address, len(address)), len(address))


def connect_(seconds):
    """To a listener whose queue is full."""
    one, name = listener()
    keep(socket.socket(socket.AF_UNIX)).connect(name)
    after(seconds, lambda: one.accept())
    return connecting(name)[1]


def connect_limited_(seconds):
    _, name = listener()
    keep(socket.socket(socket.AF_UNIX)).connect(name)
    one, call = connecting(name)
    limited(one, seconds, socket.SO_SNDTIMEO)
    return call


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
