"""What threads of a program may do, for unusual.py: each function starts it, yields,
ends it, and yields what it has seen. `prepare` is what the thread beside does first."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings

CLONE_FS, CLONE_FILES, CLONE_NEWNET = 0x200, 0x400, 0x40000000
SETRESUID = 117  # arch/x86/entry/syscalls/syscall_64.tbl
PR_SET_NAME = 15
MCL_FUTURE = 2
NOBODY = 65534

libc = ctypes.CDLL(None, use_errno=True)


def must(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def prepare(kind):
    if kind in IN_THREAD:
        IN_THREAD[kind]()


# The thread alone has it: its own descriptors, its own directory, ...
IN_THREAD = {
    "own_descriptors": lambda: must(libc.unshare(CLONE_FILES)),
    "own_directory": lambda: must(libc.unshare(CLONE_FS)) or os.chdir("/"),
    "own_network": lambda: must(libc.unshare(CLONE_NEWNET)),
    "own_user": lambda: must(libc.syscall(SETRESUID, NOBODY, NOBODY, NOBODY)),
    "own_signals": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)),
    "named_as_ours": lambda: must(libc.prctl(PR_SET_NAME, b"hangdbg-ctl", 0, 0, 0)),
    "odd_names": lambda: must(libc.prctl(PR_SET_NAME, b"a) Z 1 (\n\x1b[", 0, 0, 0)),
}


def beside(function):
    """Calls it in a thread, again and again, until told to end: that is returned."""
    ended = []

    def loop():
        while not ended:
            function()

    thread = threading.Thread(target=loop)
    thread.start()
    return lambda: ended.append(True) or thread.join()


def many():
    """400 that sleep, with names of several lines."""
    ended = threading.Event()
    threads = [threading.Thread(target=ended.wait, name="line %d\nline\r\n\t\0" % number)
               for number in range(400)]
    for thread in threads:
        thread.start()
    yield
    ended.set()
    for thread in threads:
        thread.join()


def small_stacks():
    """The least that a thread may have."""
    ended = threading.Event()
    threading.stack_size(256 << 10 if sys.version_info >= (3, 12) else 64 << 10)
    threads = [threading.Thread(target=ended.wait) for _ in range(20)]
    for thread in threads:
        thread.start()
    yield
    ended.set()
    for thread in threads:
        thread.join()


def forks():
    """50 times a second, with hooks, and each child ends as it was told."""
    wrong, hooked = [], []
    warnings.simplefilter("ignore")
    os.register_at_fork(before=lambda: hooked.append(1))

    def fork():
        pid = os.fork()
        if not pid:
            os._exit(3)
        if os.waitpid(pid, 0)[1] != 3 << 8:
            wrong.append("status")
        time.sleep(0.02)

    end = beside(fork)
    yield
    end()
    yield {"wrong": wrong, "forked": len(hooked) > 0}


def spawns():
    """Others, by vfork where Python has it."""
    wrong = []

    def spawn():
        if subprocess.call(["/bin/true"], close_fds=False) != 0:
            wrong.append("status")
        time.sleep(0.02)

    end = beside(spawn)
    yield
    end()
    yield {"wrong": wrong}


def starts_threads():
    """All the time, each for a moment."""

    def start():
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()

    end = beside(start)
    yield
    end()


def computes():
    """One thread computes all the time."""
    end = beside(lambda: sum(range(1000)))
    yield
    end()


def sigwaits():
    """A thread takes all signals that are blocked, and tells of those that came."""
    seen = []
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))

    def wait():
        info = signal.sigtimedwait(range(1, 32), 0.1)
        if info:
            seen.append(info.si_signo)

    end = beside(wait)
    yield
    end()
    yield {"signals": seen}


def empty_root():
    """As a daemon that parts from its rights: nothing is there that it could open."""
    folder = os.path.dirname(sys.argv[1]) + "/empty"
    ctypes.CDLL("libgcc_s.so.1")  # 3.7 wants it when a thread ends
    os.mkdir(folder)
    os.chroot(folder)
    os.chdir("/")
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    yield


def no_processes():
    """As a user that may have no more of them than there are."""
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    os.setresuid(NOBODY, NOBODY, NOBODY)
    yield


def little_locked():
    """All memory that comes is locked, and nearly as much as this user may lock."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 20,) * 2)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    must(libc.mlockall(MCL_FUTURE))
    yield
    must(libc.munlockall())
