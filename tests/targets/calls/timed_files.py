"""Of timed_calls.py: those that wait for a file or a socket."""

import ctypes
import fcntl
import itertools
import os
import pty
import signal
import socket
import struct
import tempfile
import time

from raw_calls import after, bytes_of, keep, libc, syscall

names = itertools.count()

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
