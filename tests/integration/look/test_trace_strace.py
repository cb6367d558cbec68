"""hangdbg trace beside strace: the same calls and results, decoded at least as well."""

import re
import shutil
import subprocess

import pytest

import harness
from traced import Caller, await_trace, caller, calls_of, switches, traced

# Values that differ from run to run.
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class StraceLine:
    def __init__(self, tid, name, arguments, result):
        self.tid, self.name, self.arguments, self.result = tid, name, arguments, result


LINE = re.compile(r"^(\d+) +(\w+)\((.*)\) += (.*)$")
BEGUN = re.compile(r"^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (.*)$")


def strace(caller, folder, what):
    """What strace says of the same."""
    target = Caller(caller, folder)
    file = folder / "strace.txt"
    before = switches(target.pid)
    tracer = harness.track(subprocess.Popen(
        ["strace", "-f", "-qq", "-o", str(file), "-p", str(target.pid)],
        start_new_session=True, preexec_fn=harness.die_with_us))
    await_trace(target.pid, before)
    target.tell(what)
    target.said("done " + what.split()[0])
    target.finish()
    tracer.wait(harness.PATIENCE)
    lines, begun = [], {}
    for line in file.read_text(errors="replace").splitlines():
        match = BEGUN.match(line)
        if match:
            begun[match[1]] = match[3]
            continue
        match = RESUMED.match(line)
        if match:
            lines.append(StraceLine(int(match[1]), match[2],
                                    begun.pop(match[1]) + match[3], match[4]))
            continue
        match = LINE.match(line)
        if match:
            lines.append(StraceLine(int(match[1]), *match.groups()[1:]))
    return target, lines


def by_thread(lines, main, tid_of):
    """{0: main's lines, 1: those of the thread that came next, ...}"""
    order = {main: 0}
    found = {}
    for line in lines:
        tid = tid_of(line)
        found.setdefault(order.setdefault(tid, len(order)), []).append(line)
    return found


def result_word(text):
    """"-1 ENOENT", "3", "0x..."; addresses, pids and ports differ."""
    word = " ".join(text.split()[:2]) if text.startswith("-1") else text.split()[0]
    return ADDRESS.sub("0x", word)


needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="no strace: scripts/setup test")


@needs_strace
def test_the_same_calls_and_results_as_strace(caller, tmp_path):
    theirs_of, theirs = strace(caller, tmp_path / "them", "all")
    ours_of, done = traced(caller, tmp_path / "ours", "all", "-f")
    ours = [one for one in calls_of(done.out)]
    theirs = by_thread(theirs, theirs_of.pid, lambda line: line.tid)
    ours = by_thread(ours, ours_of.pid, lambda one: one["tid"])
    assert sorted(theirs) == sorted(ours) == [0, 1, 2]
    differs_by_run = {"getpid", "gettid", "getppid", "clone", "clone3", "fork", "vfork", "wait4",
                      "set_tid_address", "brk"}
    names = set()
    for thread in ours:
        assert [one["call"] for one in ours[thread]] == [one.name for one in theirs[thread]]
        for mine, other in zip(ours[thread], theirs[thread]):
            names.add(mine["call"])
            if mine["call"] in differs_by_run or mine["result"] is None:
                continue
            assert re.sub("<.*", "", result_word(mine["text"])) == result_word(
                other.result), (mine, other.arguments)
    assert len(names) > 75, sorted(names)


# What strace prints of these is what we print, but for the files of descriptors.
ALIKE = """write pwrite64 lseek read pread64 readv writev access ftruncate fsync flock mkdir
rename symlink readlink unlink chdir unlinkat rmdir munmap mprotect madvise memfd_create
prlimit64 pipe2 eventfd2 timerfd_create timerfd_settime signalfd4 clock_nanosleep sched_yield
futex socket setsockopt listen sendto recvfrom getsockopt shutdown socketpair uname
rt_sigprocmask prctl dup dup2 dup3 close openat open newfstatat mmap epoll_create1 select
pselect6 ioctl getcwd exit_group kill""".split()


@needs_strace
def test_decoded_as_strace_does(caller, tmp_path):
    theirs_of, theirs = strace(caller, tmp_path / "them", "all")
    ours_of, done = traced(caller, tmp_path / "ours", "all")
    theirs = [one for one in theirs if one.tid == theirs_of.pid]
    ours = calls_of(done.out)

    def same(text):
        text = re.sub(r"(?<![\w\"])(\d+)<(?:[^>]*->)?[^>]*>", r"\1", text)  # 3</path>
        text = text.replace("/them", "/ours").replace(str(theirs_of.pid), str(ours_of.pid))
        text = re.sub(r"\\33|\\x1b", "ESC", text)
        text = re.sub(r"\\0|\\x00", "NUL", text)
        text = re.sub(r"AT_STATX_SYNC_AS_STAT", "0", text)
        return ADDRESS.sub("0x", text)
    seen = set()
    for mine, other in zip(ours, theirs):
        assert mine["call"] == other.name
        if mine["call"] in ALIKE:
            assert same(", ".join(mine["args"])) == same(other.arguments), other.name
            seen.add(other.name)
    assert len(seen) > 45, sorted(set(ALIKE) - seen)


def test_descriptors_are_named(caller, tmp_path):
    _, done = traced(caller, tmp_path / "calls", "all", "-e", "desc")
    calls = calls_of(done.out)
    file = str(tmp_path / "calls" / "file")

    def first(name, **wanted):
        return next(one for one in calls if one["call"] == name
                    and all(one.get(key) == value for key, value in wanted.items()))
    assert first("openat")["text"] == "3<%s>" % file
    assert first("write")["args"][:2] == [
        "3<%s>" % file, '"hello \\"world\\"\\n\\x1b[31m and more tha"...']
    assert first("dup2")["text"] == "77<%s>" % file
    accepted = first("accept4")
    server = re.match(r"3<TCP 127\.0\.0\.1:(\d+)>$", accepted["args"][0])
    assert server, accepted
    assert re.match(r"5<TCP 127\.0\.0\.1:%s->127\.0\.0\.1:\d+>$" % server[1], accepted["text"])
    assert first("connect")["args"][:2] == ["4<TCP>", "127.0.0.1:" + server[1]] or \
        first("connect")["args"][0].startswith("4<TCP 0.0.0.0:0")
    assert re.match(r"5<eventpoll>$", first("epoll_ctl")["args"][0])
    assert re.match(r"\[\{events=EPOLLIN, data=0x1234\}\]$", first("epoll_wait")["args"][1])
    assert first("read", error="EBADF")["args"][0] == "99"
