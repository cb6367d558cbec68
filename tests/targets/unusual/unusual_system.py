"""What a program may have asked the kernel for, for unusual.py: each function asks,
yields, and yields what it has seen meanwhile."""

import ctypes
import faulthandler
import os
import resource
import signal
import sys

NOBODY = 65534
MCL_CURRENT, MCL_FUTURE = 1, 2
PR_SET_NO_NEW_PRIVS, PR_SET_TIMERSLACK, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 38, 29, 24, 36
PR_SET_MDWE, PR_SET_THP_DISABLE, PR_SET_PDEATHSIG = 65, 41, 1
CAPSET = 126  # arch/x86/entry/syscalls/syscall_64.tbl
LANDLOCK_CREATE, LANDLOCK_RESTRICT = 444, 446

libc = ctypes.CDLL(None, use_errno=True)


def must(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


SETTABLE = set(range(1, signal.NSIG)) - {signal.SIGKILL, signal.SIGSTOP, 32, 33}


# ---- signals


def all_blocked():
    """In all threads."""
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
    yield


def all_ignored():
    """Also those of the CPU, and SIGTRAP, SIGCHLD, SIGPIPE."""
    for number in SETTABLE:
        signal.signal(number, signal.SIG_IGN)
    yield


def all_handled():
    """By Python, also those; and none comes."""
    seen = []
    for number in SETTABLE:
        signal.signal(number, lambda number, frame: seen.append(number))
    yield
    yield {"signals": seen}


def all_default():
    for number in SETTABLE:
        signal.signal(number, signal.SIG_DFL)
    yield


def alternate_stack():
    """For faults, as by faulthandler."""
    faulthandler.enable(all_threads=True)
    yield


def full_wakeup():
    """A pipe that Python writes each signal into is full, and signals come."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    try:
        while True:
            os.write(writes, bytes(4096))
    except BlockingIOError:
        pass
    signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
    came = []
    signal.signal(signal.SIGALRM, lambda number, frame: came.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    yield {"came": len(came) > 0}


# ---- limits


def limit(name, most):
    number = getattr(resource, "RLIMIT_" + name)
    resource.setrlimit(number, (most, max(most, resource.getrlimit(number)[1])))


def no_file_size():
    limit("FSIZE", 0)
    yield


def no_pending_signals():
    limit("SIGPENDING", 0)
    yield


def all_locked():
    """All memory, also what comes."""
    must(libc.mlockall(MCL_CURRENT | MCL_FUTURE))
    yield


def many_descriptors():
    """3,000, and with large numbers."""
    limit("NOFILE", 10000)
    for number in range(1000, 4000):
        os.dup2(0, number)
    os.dup2(0, 9999)
    yield


# ---- rights


def another_user():
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    yield


def no_capabilities():
    """Of root's, for ever."""
    for number in range(64):
        libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    must(libc.syscall(CAPSET, header, data))
    yield


def landlocked():
    """No file may be opened, by it or by what it starts (Landlock)."""
    ctypes.CDLL("libgcc_s.so.1")  # 3.7 wants it when a thread ends
    rights = (ctypes.c_uint64 * 1)(0x1FFF)
    rules = must(libc.syscall(LANDLOCK_CREATE, rights, 8, 0))
    must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    must(libc.syscall(LANDLOCK_RESTRICT, rules, 0))
    os.close(rules)
    yield


def memory_is_code_or_not():
    """Memory is not written and run, in either order (MDWE)."""
    if libc.prctl(PR_SET_MDWE, 1, 0, 0, 0):
        print("no PR_SET_MDWE")
    yield


# ---- what else prctl(2) has


def late_timers():
    """By a fifth of a second, as the kernel may have them to save power."""
    must(libc.prctl(PR_SET_TIMERSLACK, 200000000, 0, 0, 0))
    yield


def reaper():
    """It gets the orphans of all that it starts, and has none."""
    must(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    yield
    try:
        os.waitpid(-1, os.WNOHANG)
        children = True
    except ChildProcessError:
        children = False
    yield {"children": children}


def renamed():
    """Its arguments are overwritten, as by setproctitle, and its environment is gone."""
    with open("/proc/self/stat") as stat:
        start, end = map(int, stat.read().rpartition(")")[2].split()[45:47])
    ctypes.memset(start, ord("x"), end - start - 1)
    libc.clearenv()
    yield


def idle_class():
    """It runs when nobody else does."""
    os.nice(19)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    yield


def one_cpu():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    yield
