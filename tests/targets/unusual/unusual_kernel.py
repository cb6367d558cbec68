"""What a single thread of a program may have asked the kernel for, or may be in the middle of,
for unusual.py. The kinds of OF_ONE are asked for by the thread beside alone (beside_...), by
main alone (main_...) or by both (all_...); the functions are as in unusual_threads.py."""

import ctypes
import fcntl
import mmap
import os
import signal
import struct
import sys
import threading
import time

from seccomp_filter import ALLOW, ERRNO, KILL, NOTIFY, install
from unusual_threads import beside, must

CLONE_VM, CLONE_FS, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWTIME = (
    0x100, 0x200, 0x20000, 0x20000000, 0x80)
MS_REC, MS_PRIVATE = 0x4000, 0x40000
# arch/x86/entry/syscalls/syscall_64.tbl
GETPPID, SCHED_SETATTR, USERFAULTFD, IO_URING_SETUP = 110, 314, 323, 425
SCHED_DEADLINE, IORING_SETUP_SQPOLL = 6, 2
UFFDIO_API, UFFDIO_REGISTER, UFFDIO_ZEROPAGE, MISSING = 0xC018AA3F, 0xC020AA00, 0xC020AA04, 1
NOBODY = 65534
MS = 10**6  # nanoseconds

libc = ctypes.CDLL(None, use_errno=True)


def prepare(kind, who):
    """For the thread that calls it, which is "main" or "beside"."""
    which, _, name = kind.partition("_")
    if name in OF_ONE and which in (who, "all"):
        OF_ONE[name]()


# ---- filters, which a thread puts on itself alone

# Without these nobody starts a thread.
STARTS = ["clone", "clone3"]
# Without these we can start one, and do otherwise; but what stops at a breakpoint, or is
# suspended, makes some of them in a thread of the program's. Without a GIL Python's own
# locks yield.
OTHERWISE = ["socketpair", "shutdown", "sendto", "rt_sigtimedwait"]
if "free-threading" not in sys.version:
    OTHERWISE.append("sched_yield")


def forbid(action, *calls):
    ctypes.CDLL("libgcc_s.so.1")  # 3.7 wants it when a thread ends
    install({"default": ALLOW, "rules": dict.fromkeys(calls, action)})


def three_filters():
    for call in (*STARTS, "socketpair"):
        forbid(KILL, call)


# ---- classes, clocks, namespaces


def deadline_class():
    """What it starts cannot be of its class, and so it starts nothing (sched(7))."""
    attributes = struct.pack("IIQiIQQQ", 48, SCHED_DEADLINE, 0, 0, 0, 2 * MS, 20 * MS, 20 * MS)
    must(libc.syscall(SCHED_SETATTR, 0, attributes, 0))


def own_mounts():
    """Its /tmp, /sys and /dev/shm are full."""
    must(libc.unshare(CLONE_FS | CLONE_NEWNS))
    must(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
    for place in ("/tmp", "/sys", "/dev/shm"):
        must(libc.mount(b"none", place.encode(), b"tmpfs", 0, b"size=4k"))
        with open(place + "/full", "wb") as file:
            file.write(bytes(4096))


OF_ONE = {
    "threads_kill": lambda: forbid(KILL, *STARTS),
    "threads_fail": lambda: forbid(ERRNO | 1, *STARTS),
    "threads_unanswered": lambda: forbid(NOTIFY, *STARTS),
    "others_kill": lambda: forbid(KILL, *OTHERWISE),
    "others_unanswered": lambda: forbid(NOTIFY, *OTHERWISE),
    "poll_kills": lambda: forbid(KILL, "poll"),
    "three_filters": three_filters,
    "deadline_class": deadline_class,
    "real_time_class": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)),
    "idle_class": lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)),
    "own_mounts": own_mounts,
    "children_elsewhere": lambda: must(libc.unshare(CLONE_NEWPID)),
    "children_at_other_times": lambda: must(libc.unshare(CLONE_NEWTIME)),
}
KINDS = [who + "_" + name for name in OF_ONE for who in ("beside", "main", "all")]


# ---- what a thread, or a process that it has started, is in the middle of


def unanswered_call():
    """A thread is in a call that a supervisor was asked about, who never answers."""
    result = []

    def ask():
        forbid(NOTIFY, "getppid")
        result.append(libc.syscall(GETPPID))

    threading.Thread(target=ask, daemon=True).start()
    yield
    yield {"answered": result}


def other_users():
    """All its threads change their user, by libc, a hundred times a second."""
    turns = []

    def change():
        for user in (NOBODY, 0):
            must(libc.setresuid(-1, user, -1))
        turns.append(0)
        time.sleep(0.01)

    end = beside(change)
    yield
    end()
    yield {"changed": len(turns) > 0, "user": os.geteuid()}


class FileActions(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 80)]


def half_spawned():
    """A child that runs in its parent's memory waits for a FIFO, before it is another."""
    path = (os.path.dirname(sys.argv[1]) + "/fifo").encode()
    os.mkfifo(path)
    actions, child = FileActions(), ctypes.c_int()
    libc.posix_spawn_file_actions_init(ctypes.byref(actions))
    libc.posix_spawn_file_actions_addopen(ctypes.byref(actions), 0, path, os.O_RDONLY, 0)
    words = (ctypes.c_char_p * 2)(b"/bin/true", None)
    result = []
    thread = threading.Thread(target=lambda: result.append(libc.posix_spawn(
        ctypes.byref(child), words[0], ctypes.byref(actions), None, words, None)))
    thread.start()
    yield
    os.close(os.open(path, os.O_WRONLY))
    thread.join()
    yield {"spawned": result, "status": os.waitpid(child.value, 0)[1]}


def called_by_c():
    """Main is in C for good, and threads that C has made call Python now and then."""
    library = ctypes.CDLL(os.environ["C_THREADS"])
    main = sys.modules["__main__"]

    def count(words, place):
        answer = 41
        value = [1]

        def once():
            value[0] = (value[0] * 31 + answer) % 1000003
            words[place] += 1

        call = ctypes.CFUNCTYPE(None)(once)
        nothing = ctypes.CFUNCTYPE(None)(int)
        library.run(call, nothing, ctypes.c_void_p(
            ctypes.addressof(ctypes.c_char.from_buffer(words))))
        main.results[place] = value[0]
        return answer

    yield count


def shared_memory():
    """A child of its own has the same memory, and never becomes another program."""
    stack = ctypes.create_string_buffer(1 << 16)
    child = must(libc.clone(ctypes.cast(libc.pause, ctypes.c_void_p), ctypes.c_void_p(
        (ctypes.addressof(stack) + len(stack)) & ~15), CLONE_VM | signal.SIGCHLD, None))
    yield
    os.kill(child, signal.SIGKILL)
    yield {"status": os.waitpid(child, 0)[1]}


def fault_unanswered():
    """A thread waits for a page that another is to give it (userfaultfd(2))."""
    pages = mmap.mmap(-1, 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    monitor = must(libc.syscall(USERFAULTFD, os.O_CLOEXEC))
    fcntl.ioctl(monitor, UFFDIO_API, struct.pack("QQQ", 0xAA, 0, 0))
    fcntl.ioctl(monitor, UFFDIO_REGISTER, struct.pack("QQQQ", address, 4096, MISSING, 0))
    copy = ctypes.create_string_buffer(8)
    thread = threading.Thread(target=libc.memcpy, args=(copy, ctypes.c_void_p(address), 8))
    thread.start()
    yield
    fcntl.ioctl(monitor, UFFDIO_ZEROPAGE, struct.pack("QQQq", address, 4096, 0, 0))
    thread.join()
    os.close(monitor)


def polled_ring():
    """The kernel has a thread of its own in this process (io_uring)."""
    parameters = ctypes.create_string_buffer(
        struct.pack("IIIII", 0, 0, IORING_SETUP_SQPOLL, 0, 10**6) + bytes(100))
    ring = must(libc.syscall(IO_URING_SETUP, 8, parameters))
    yield
    os.close(ring)
