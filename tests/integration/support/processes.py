"""What /proc says about a process, and how two looks at it differ.

A debugger that came and went must leave the same file descriptors, threads and
signal dispositions, and no mapping of its own. What is allowed to stay is the
C library's: the first thread that is started makes it keep one malloc arena
(64 MiB of address space) and one cached stack; and the evaluation itself uses
Python's allocator. All that comes with the first attach; later ones find it.
"""

import collections
import os
import re

# What glibc may keep, once, of each of our threads that allocated while others
# did: an arena and its stack; and what Python's allocator does. One eval has
# one such thread, and one that joins an agent which is just leaving, two; a client
# that joins, or an evaluation that is cancelled, has up to three at a time.
KEPT_MAPPINGS = 8
KEPT_BYTES = 64 * 2**20 + 8 * 2**20 + 4 * 2**20

# Linux x86-64: arch/x86/entry/syscalls/syscall_64.tbl
_SYSCALLS = {
    0: "read",
    7: "poll",
    23: "select",
    34: "pause",
    35: "nanosleep",
    45: "recvfrom",
    61: "wait4",
    202: "futex",
    230: "clock_nanosleep",
    232: "epoll_wait",
    281: "epoll_pwait",
    270: "pselect6",
    271: "ppoll",
}

Activity = collections.namedtuple("Activity", "syscall switches")
Snapshot = collections.namedtuple("Snapshot", "fds threads signals files anonymous")
Mappings = collections.namedtuple("Mappings", "count bytes")


def thread_activity(pid, tid):
    """What a thread does now: its system call's name (or number, or "running")
    and its context switches, (voluntary, involuntary)."""
    words = _read("/proc/%d/task/%d/syscall" % (pid, tid)).split()
    call = syscall_name(words[0]) if words else "running"
    status = _status("/proc/%d/task/%d/status" % (pid, tid))
    return Activity(
        call,
        (status["voluntary_ctxt_switches"], status["nonvoluntary_ctxt_switches"]),
    )


def ran_ns(pid, tid):
    """How long a thread has run, in ns. Source: Documentation/scheduler/sched-stats.rst"""
    return int((_read("/proc/%d/task/%d/schedstat" % (pid, tid)).split() or ["0"])[0])


def syscall_name(word):
    """The name of a call that a name, a number or "running" stands for."""
    return _SYSCALLS.get(int(word), word) if word.isdigit() else word


def snapshot(pid):
    """fds {number: what}, threads {tid: name}, signals {tid: {field: mask}},
    files {(path, permissions): count} of mapped files, anonymous mappings."""
    files = collections.Counter()
    count = size = 0
    for line in _read("/proc/%d/maps" % pid).splitlines():
        addresses, permissions, _, _, inode, *path = line.split(None, 5)
        start, end = (int(part, 16) for part in addresses.split("-"))
        if inode != "0" or (path and path[0] in ("[vdso]", "[vvar]")):
            files[(path[0] if path else "", permissions)] += 1
        else:
            count += 1
            size += end - start
    return Snapshot(
        fds(pid),
        threads(pid),
        {tid: _signals(pid, tid) for tid in threads(pid)},
        dict(files),
        Mappings(count, size),
    )


def anonymous_code(pid):
    """Mappings that may be executed, not written, and belong to no file: our
    region."""
    lines = _read("/proc/%d/maps" % pid).splitlines()
    return [line for line in lines
            if line.split()[1] == "r-xp" and line.split()[4] == "0" and "[v" not in line]


# Big blocks come and go in malloc's own good time: over 200 cycles this much at
# most, and back again (3.7: +144 KB at the 30th, gone at the 150th).
ALLOCATOR_NOISE = 512 * 2**10


def differences(before, after, arenas=1, heap=0):
    """What differs, as a list of sentences, beyond what is allowed to stay."""
    found = []
    for what in ("fds", "threads", "signals", "files"):
        old, new = getattr(before, what), getattr(after, what)
        for key in sorted(set(old) | set(new), key=str):
            if old.get(key) != new.get(key):
                found.append(
                    "%s %s was %s, is %s" % (what, key, old.get(key), new.get(key))
                )
    more = after.anonymous.count - before.anonymous.count
    grown = after.anonymous.bytes - before.anonymous.bytes
    if more > KEPT_MAPPINGS * arenas + 2:
        found.append("%d anonymous mappings more" % more)
    if grown > KEPT_BYTES * arenas + ALLOCATOR_NOISE + heap:
        found.append("%d bytes of anonymous mappings more" % grown)
    return found


def fds(pid):
    found = {}
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            found[int(name)] = os.readlink("/proc/%d/fd/%s" % (pid, name))
        except FileNotFoundError:  # closed in between
            continue
    return found


def threads(pid):
    found = {}
    for name in os.listdir("/proc/%d/task" % pid):
        try:
            found[int(name)] = _read("/proc/%d/task/%s/comm" % (pid, name)).strip()
        except (FileNotFoundError, ProcessLookupError):  # ended in between
            continue
    return found


def code_of_no_file(pid):
    """How many mappings of it there are: each region of ours has one."""
    return sum(words[1] == "r-xp" and words[4] == "0" and len(words) == 5
               for words in map(str.split, _read("/proc/%d/maps" % pid).splitlines()))


def debugger_threads(pid):
    """The names of hangdbg's own."""
    return [name for name in threads(pid).values() if name.startswith("hangdbg-")]


def state(pid, tid=None):
    """R, S, D, T, t, Z: proc_pid_stat(5). Of the main thread, or of `tid`."""
    return _read("/proc/%d/task/%d/stat" % (pid, tid or pid)).rpartition(")")[2].split()[0]


def waits_for_fuse(pid, tid=None):
    """Whether it is in state D because a FUSE server does not answer (root may ask), and not
    for a moment, as one that starts is while its files come from a disk."""
    return state(pid, tid) == "D" and "fuse" in _read(
        "/proc/%d/task/%d/stack" % (pid, tid or pid))


def cpu_ticks(pid):
    """How long its threads have run in user mode."""
    return int(_read("/proc/%d/stat" % pid).rpartition(")")[2].split()[11])


def catches(pid, number):
    """Whether it has a handler for that signal."""
    return bool(int(_status("/proc/%d/status" % pid)["SigCgt"], 16) >> (number - 1) & 1)


def tracer(pid):
    """The pid that traces `pid`, or 0."""
    return int(_status("/proc/%d/status" % pid)["TracerPid"])


def children(pid):
    """The children of `pid`, zombies among them."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = _read("/proc/%s/stat" % name)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(stat.rpartition(")")[2].split()[1]) == pid:
            found.append(int(name))
    return found


def sockets(pid):
    """The inodes of the sockets that `pid` has open."""
    matches = (re.match(r"socket:\[(\d+)\]", what) for what in fds(pid).values())
    return {int(match.group(1)) for match in matches if match}


def listening(inodes):
    """Those of the sockets `inodes` that listen, on TCP or as Unix sockets."""
    found = set()
    for table, inode, state, listens in (
        ("tcp", 9, 3, lambda value: value == "0A"),
        ("tcp6", 9, 3, lambda value: value == "0A"),
        # __SO_ACCEPTCON in the flags column
        ("unix", 6, 3, lambda value: int(value, 16) & 0x10000),
    ):
        for line in _read("/proc/net/" + table).splitlines()[1:]:
            words = line.split()
            if int(words[inode]) in inodes and listens(words[state]):
                found.add(int(words[inode]))
    return found


def _signals(pid, tid):
    try:
        status = _status("/proc/%d/task/%d/status" % (pid, tid))
    except (FileNotFoundError, ProcessLookupError):
        return {}
    names = ("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt")
    masks = {name: int(status[name], 16) for name in names}
    # libc's own two (32 cancels threads, 33 sets their uids): glibc installs
    # their handlers with the first thread that a process starts, whatever starts it.
    masks["SigCgt"] &= ~(0b11 << 31)
    return {name: "%016x" % mask for name, mask in masks.items()}


def _status(path):
    return dict(
        line.split(":\t", 1) for line in _read(path).splitlines() if ":\t" in line
    )


def _read(path):
    with open(path, errors="replace") as file:
        return file.read()
