"""Its main thread waits for a lock of the libc's own kind, which nobody may borrow;
beside it sleeps a worker that the kernel has made for io_uring: io_worker.py SECONDS

The worker opens a FIFO that has no writer.
"""

import ctypes
import mmap
import os
import struct
import sys
import tempfile
import time

import raw_calls
from common import finish, ready

IORING_OFF_SQES = 0x10000000
IORING_OP_OPENAT, IOSQE_ASYNC = 18, 16
AT_FDCWD = -100
FUTEX_WAIT, FUTEX_WAKE = 0, 1


def start_worker():
    parameters = ctypes.create_string_buffer(120)  # struct io_uring_params
    ring = raw_calls.syscall(425, 1, parameters)()
    if ring < 0:
        sys.exit("no io_uring: " + os.strerror(ctypes.get_errno()))
    # struct io_sqring_offsets: head, tail, ring_mask, ring_entries, flags, dropped, array
    _, tail, _, _, _, _, array = struct.unpack_from("7I", parameters, 40)
    queue = mmap.mmap(ring, 4096)
    entries = mmap.mmap(ring, 4096, offset=IORING_OFF_SQES)
    path = tempfile.mkdtemp() + "/fifo"
    os.mkfifo(path)
    name = raw_calls.keep(ctypes.create_string_buffer(path.encode()))
    struct.pack_into("BBHiQQII", entries, 0, IORING_OP_OPENAT, IOSQE_ASYNC, 0, AT_FDCWD,
                     0, ctypes.addressof(name), 0, os.O_RDONLY)
    struct.pack_into("I", queue, array, 0)
    struct.pack_into("I", queue, tail, 1)
    assert raw_calls.syscall(426, ring, 1, 0, 0, 0, 0)() == 1
    raw_calls.keep(queue, entries)


def wait(seconds):
    """As the libc's own locks wait, so that main is not borrowed; a child ends it."""
    answer = 41
    shared = mmap.mmap(-1, 4096)
    word = ctypes.c_int.from_buffer(shared)
    child = os.fork()
    if child == 0:
        time.sleep(seconds)
        word.value = 1
        raw_calls.syscall(202, ctypes.addressof(word), FUTEX_WAKE, 1, 0, 0, 0)()
        os._exit(0)
    start_worker()
    ready("wait", ["futex"], go_on="wait")
    while not word.value:
        raw_calls.syscall(202, ctypes.addressof(word), FUTEX_WAIT, 0, 0, 0, 0)()
    os.waitpid(child, 0)
    return answer


finish(answer=wait(float(sys.argv[1])))
