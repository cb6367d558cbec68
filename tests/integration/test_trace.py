"""hangdbg trace: the system calls of a process as they happen, beside strace; and
that the process comes to no harm."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import harness
from harness import (PROGRAM, TARGETS, Target, as_nobody, behind, hangdbg, outcome, start,
                     start_hangdbg, track, until)
from test_namespaces import needs_root

# Values that differ from run to run.
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@pytest.fixture(scope="session")
def caller(tmp_path_factory):
    """tests/targets/syscalls.c, built."""
    program = tmp_path_factory.mktemp("syscalls") / "syscalls"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", program, TARGETS / "syscalls.c"],
                   check=True)
    return program


class Caller:
    """That program: it makes the calls that it is told to make."""

    def __init__(self, program, folder, stderr=None):
        folder.mkdir(exist_ok=True)
        self.process = harness.track(subprocess.Popen(
            [str(program)], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=stderr, text=True, start_new_session=True,
            preexec_fn=harness.die_with_us))
        word, pid = self.process.stdout.readline().split()
        assert word == "ready"
        self.pid = int(pid)

    def tell(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()

    def said(self, expected):
        assert self.process.stdout.readline() == expected + "\n"

    def finish(self):
        """It goes on as if nobody had been there."""
        self.tell("exit")
        self.said_nothing_more()

    def said_nothing_more(self):
        rest, _ = self.process.communicate(timeout=harness.PATIENCE)
        assert (rest, self.process.returncode) == ("", 7)


@pytest.fixture
def target(caller, tmp_path):
    return Caller(caller, tmp_path / "calls")


def status(pid, field):
    for line in open("/proc/%d/status" % pid):
        if line.startswith(field + ":"):
            return line.split(None, 1)[1].strip()
    raise AssertionError("no " + field)


def is_traced(pid):
    return status(pid, "TracerPid") != "0"


def await_trace(pid, before):
    """Until each call of a process that sleeps is seen: it was stopped once, again at
    the entry of the call that it went on with, and sleeps there."""
    until("the trace", lambda: switches(pid) >= before + 3 and is_traced(pid)
          and status(pid, "State")[0] == "S")


def switches(pid):
    return int(status(pid, "voluntary_ctxt_switches"))


def start_trace(pid, *args):
    """hangdbg trace, once it has that process, which sleeps."""
    until("it sleeps", lambda: status(pid, "State")[0] == "S"
          and open("/proc/%d/syscall" % pid).read() != "running\n")
    before = switches(pid)
    trace = start_hangdbg("trace", pid, *args)
    await_trace(pid, before)
    return trace


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def calls_of(text):
    return [one for one in objects(text) if "call" in one]


def traced(caller, folder, what, *args):
    """The calls of that process as it does `what` and ends."""
    target = Caller(caller, folder)
    trace = start_trace(target.pid, "--json", *args)
    target.tell(what)
    target.said("done " + what.split()[0])
    target.finish()
    done = outcome(trace)
    assert done.rc == 0 and done.err == "", done
    return target, done


# ---- beside strace


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


# ---- what is shown


def test_text(target):
    trace = start_trace(target.pid, "-t")
    target.tell("all")
    target.said("done all")
    target.finish()
    done = outcome(trace)
    assert done.rc == 0 and done.err == "", done
    lines = done.out.splitlines()
    assert "\x1b" not in done.out
    line = next(line for line in lines if "no such file" in line)
    assert re.match(
        r'\d\d:\d\d:\d\d\.\d{6} %d +newfstatat\(AT_FDCWD, "no such file", 0x[0-9a-f]+, '
        r'AT_SYMLINK_NOFOLLOW\) = -1 ENOENT \(No such file or directory\) <\d+ .s>$' % target.pid,
        line), line
    assert any("--- SIGUSR1, sent by %d" % target.pid in line for line in lines)
    assert lines[-1].endswith("+++ ended with 7")
    # The name of a file with a newline and an escape in it.
    assert any('rename("file", "folder/new\\n\\x1b[31mname")' in line for line in lines)


def test_sets(caller, tmp_path):
    def names(*sets):
        args = [word for one in sets for word in ("-e", one)]
        _, done = traced(caller, tmp_path / "calls", "all", *args)
        return {one["call"] for one in calls_of(done.out)}
    assert names("sched_yield,uname") == {"sched_yield", "uname"}
    network = names("network")
    assert {"socket", "connect", "accept4", "sendto", "socketpair"} <= network
    assert not network & {"read", "close", "openat"}
    memory = names("trace=%memory")
    assert {"mmap", "munmap", "mprotect", "madvise"} <= memory and "futex" not in memory
    rest = names("!desc,memory,network,file")
    assert {"futex", "uname", "getpid"} <= rest
    assert not rest & {"read", "mmap", "socket", "rename"}
    assert names("signal,!kill", "uname") >= {"rt_sigaction", "uname"}


def test_summary(target):
    trace = start_trace(target.pid, "-c")
    target.tell("storm 0 500")
    target.said("done storm")
    target.finish()
    done = outcome(trace)
    assert done.rc == 0, done
    lines = done.out.splitlines()
    assert lines[0].split() == ["%", "time", "seconds", "us/call", "calls", "errors", "call"]
    rows = {line.split()[-1]: line.split() for line in lines[1:]}
    assert rows["getppid"][3] == "500"
    shares = [float(line.split()[0]) for line in lines[1:-1]]
    assert shares == sorted(shares, reverse=True) and 99 < sum(shares) < 101
    assert lines[-1].split()[0] == "100.00" and lines[-1].endswith("  total")


def test_summary_as_json(caller, tmp_path):
    _, done = traced(caller, tmp_path / "calls", "all", "-c")
    sums = {one["call"]: one for one in done.json()["calls"]}
    assert (sums["sched_yield"]["calls"], sums["sched_yield"]["errors"]) == (1, 0)
    assert (sums["futex"]["calls"], sums["futex"]["errors"]) == (3, 2)
    assert sums["futex"]["seconds"] > 0.001


def test_output_file(target, tmp_path):
    file = tmp_path / "trace.txt"
    trace = start_trace(target.pid, "-o", file)
    target.tell("storm 0 10")
    target.said("done storm")
    target.finish()
    done = outcome(trace)
    assert (done.rc, done.out, done.err) == (0, "", "")
    assert file.read_text().count(" getppid() = ") == 10


def test_count(target):
    trace = start_trace(target.pid, "-e", "getppid", "-n", "5", "--json")
    target.tell("storm 0 100")
    target.said("done storm")
    done = outcome(trace)
    assert done.rc == 0 and len(calls_of(done.out)) == 5, done
    target.finish()


def test_what_lasts_is_shown_before_it_is_over(target):
    """The one thread of it waits in read for what to do."""
    done = hangdbg("trace", target.pid, "--for", "0.6", "--json")
    assert done.rc == 0, done
    waits, = calls_of(done.out)
    assert (waits["call"], waits["result"], waits["resumed"]) == ("read", None, True)
    assert waits["args"][0].startswith("0<pipe:[") and waits["duration_s"] > 0.2
    assert not is_traced(target.pid)
    target.finish()


def test_ctrl_c(target):
    trace = start_trace(target.pid)
    trace.send_signal(signal.SIGINT)
    done = outcome(trace)
    assert done.rc == 130 and "still in it" in done.out, done
    assert done.seconds < 5
    assert not is_traced(target.pid)
    target.finish()


# ---- threads and children


def test_threads_that_come_are_traced(caller, tmp_path):
    target, done = traced(caller, tmp_path / "calls", "storm 3 50")
    calls = [one for one in calls_of(done.out) if one["call"] == "getppid"]
    counts = {}
    for one in calls:
        counts[one["tid"]] = counts.get(one["tid"], 0) + 1
    assert len(counts) == 3 and set(counts.values()) == {50}, counts
    started = [one for one in objects(done.out) if one.get("event") == "started"]
    assert {one["tid"] for one in started} == set(counts)


def test_children(caller, tmp_path):
    target, done = traced(caller, tmp_path / "calls", "all", "-f")
    events = [one for one in objects(done.out) if "event" in one]
    children = [one["pid"] for one in events
                if one["event"] == "started" and one["pid"] != target.pid]
    assert len(children) == 2
    ended = {one["pid"]: one.get("exit_code") for one in events if one["event"] == "ended"}
    assert ended == {children[0]: 3, children[1]: 0, target.pid: 7}
    assert [one["pid"] for one in events if one["event"] == "executed"] == [children[1]]
    execve, = [one for one in calls_of(done.out) if one["call"] == "execve"]
    assert execve["args"][:2] == ['"/bin/true"', '["true", "a word"]']
    assert (execve["pid"], execve["result"]) == (children[1], 0)


def test_children_are_not_traced_unasked(caller, tmp_path):
    target, done = traced(caller, tmp_path / "calls", "all")
    assert {one["pid"] for one in objects(done.out)} == {target.pid}


# ---- no harm


def test_an_endless_epoll_wait_is_not_interrupted(target):
    """The kernel would return EINTR to it for our stop (signal(7))."""
    target.tell("epoll")
    target.said("waits")
    until("the wait", lambda: open("/proc/%d/syscall" % target.pid).read().startswith("232 "))
    for _ in range(3):
        assert hangdbg("trace", target.pid, "--for", "0.05").rc == 0
    target.tell("exit")
    target.said("epoll_wait 1 0")
    target.said("done epoll")
    target.said_nothing_more()


def test_signals_that_are_ignored_interrupt_nothing(target):
    """Traced threads are given them, and would come back with EINTR."""
    target.tell("epoll")
    target.said("waits")
    trace = start_trace(target.pid, "--json")
    until("the wait", lambda: open("/proc/%d/syscall" % target.pid).read().startswith("232 "))
    os.kill(target.pid, signal.SIGWINCH)
    os.kill(target.pid, signal.SIGCHLD)
    time.sleep(0.1)  # nothing is to come of it
    target.tell("exit")
    target.said("epoll_wait 1 0")
    target.said("done epoll")
    target.said_nothing_more()
    signals = [one["signal"] for one in objects(outcome(trace).out) if one.get("event") == "signal"]
    assert sorted(signals) == ["SIGCHLD", "SIGWINCH"]


def test_signals_that_are_caught_come_as_they_would(target):
    target.tell("epoll")
    target.said("waits")
    trace = start_trace(target.pid, "--json")
    until("the wait", lambda: open("/proc/%d/syscall" % target.pid).read().startswith("232 "))
    os.kill(target.pid, signal.SIGUSR1)
    target.said("epoll_wait -1 4")  # EINTR
    target.said("done epoll")
    target.finish()
    assert outcome(trace).rc == 0


def test_a_blocked_write_is_left_alone(caller, tmp_path):
    """A stop would make it return what it has written so far, and so would a signal that
    the kernel drops unless its receiver is traced."""
    reader, writer = os.pipe()
    target = Caller(caller, tmp_path / "calls", stderr=writer)
    os.close(writer)
    target.tell("write")
    target.said("waits")
    until("the write", lambda: open("/proc/%d/syscall" % target.pid).read().startswith("1 "))
    told = tmp_path / "told"
    trace = start_hangdbg("trace", target.pid, "--json", "-o", told)
    until("it is told", lambda: told.exists() and "left_alone" in told.read_text())
    assert not is_traced(target.pid)
    os.kill(target.pid, signal.SIGCHLD)
    left = 300000
    while left:
        left -= len(os.read(reader, 65536))
    os.close(reader)
    target.said("write 300000")
    target.said("done write")
    # What comes after it is seen.
    until("the trace", lambda: is_traced(target.pid))
    until("the next call", lambda: '"read"' in told.read_text())
    target.tell("storm 0 3")
    target.said("done storm")
    target.finish()
    done = outcome(trace)
    calls = calls_of(told.read_text())
    assert calls[0]["call"] == "write" and calls[0]["left_alone"], done
    assert [one["call"] for one in calls].count("getppid") == 3


def test_a_stopped_process_stays_stopped(target):
    os.kill(target.pid, signal.SIGSTOP)
    until("the stop", lambda: status(target.pid, "State")[0] == "T")
    done = hangdbg("trace", target.pid, "--for", "0.3", "--json")
    assert done.rc == 0, done
    assert [one.get("event") for one in objects(done.out)] == ["stopped"]
    until("the stop", lambda: status(target.pid, "State")[0] == "T" and not is_traced(target.pid))
    trace = start_hangdbg("trace", target.pid, "--json", "-e", "getppid")
    until("the trace", lambda: is_traced(target.pid))
    os.kill(target.pid, signal.SIGCONT)
    until("it goes on", lambda: status(target.pid, "State")[0] == "S")
    target.tell("storm 0 3")
    target.said("done storm")
    target.finish()
    assert len(calls_of(outcome(trace).out)) == 3


def test_it_is_stopped_and_continued_meanwhile(target):
    trace = start_trace(target.pid, "--json")
    os.kill(target.pid, signal.SIGSTOP)
    while '"event":"stopped"' not in trace.stdout.readline():
        assert trace.poll() is None
    os.kill(target.pid, signal.SIGCONT)
    target.tell("storm 0 3")
    target.said("done storm")
    target.finish()
    done = outcome(trace)
    assert [one["call"] for one in calls_of(done.out)].count("getppid") == 3


def test_it_is_killed_meanwhile(target):
    trace = start_trace(target.pid, "-e", "futex,clone3")
    target.tell("storm 2 100000000")
    until("the storm", lambda: status(target.pid, "Threads") == "3")
    target.process.kill()
    done = outcome(trace)
    assert done.rc == 0 and done.out.splitlines()[-1].endswith("+++ killed by SIGKILL"), done.err


def test_sigkill_of_the_trace_in_a_storm(target):
    """Twenty times: whatever stop a thread was in, it goes on."""
    count = 150000
    target.tell("storm 3 %d" % count)
    until("the storm", lambda: status(target.pid, "Threads") == "4")
    for _ in range(20):
        trace = start_hangdbg("trace", target.pid, "-o", "/dev/null")
        until("the trace", lambda: is_traced(target.pid) or trace.poll() is not None)
        trace.kill()
        trace.wait(harness.PATIENCE)
        until("let go of", lambda: all(
            "TracerPid:\t0" in open("/proc/%d/task/%s/status" % (target.pid, tid)).read()
            for tid in os.listdir("/proc/%d/task" % target.pid)))
    target.said("done storm")
    target.finish()


def test_no_signal_is_lost_by_sigkill(target):
    """of the trace, at whatever moment."""
    count = 5000
    target.tell("signals 0 %d" % count)
    target.said("waits")
    for _ in range(20):
        trace = start_hangdbg("trace", target.pid, "-o", "/dev/null")
        until("the trace", lambda: is_traced(target.pid) or trace.poll() is not None)
        time.sleep(0.01)  # some signals later
        trace.kill()
        trace.wait(harness.PATIENCE)
    target.said("came %d" % count)
    target.said("done signals")
    target.finish()


def test_nothing_changes_in_it(some_python):
    target = start("lock_main", some_python)
    before = target.snapshot()
    assert hangdbg("trace", target.pid, "--for", "0.2").rc == 0
    target.assert_as_before(before, arenas=0)
    target.finish()


# ---- refused


def test_one_that_is_traced(target):
    first = start_trace(target.pid)
    second = hangdbg("trace", target.pid)
    second.assert_refused(4, "traced", first.pid)
    first.send_signal(signal.SIGINT)
    outcome(first)
    target.finish()


@needs_root
def test_who_may_not(target, public):
    behind(*as_nobody(public + "/hangdbg"))("trace", target.pid).assert_refused(3, target.pid)
    target.finish()


@pytest.mark.parametrize("words, said", [
    (["-e", "nosuchcall"], "nosuchcall"),
    (["-e", ""], '""'),
    (["-n", "0"], "--count"),
    (["--for", "-1"], "--for"),
    (["--python=-2"], "--python"),
    (["-o", "/no/such/folder/file"], "/no/such/folder/file"),
    (["--python"], "not Python"),
])
def test_bad_input(target, words, said):
    hangdbg("trace", target.pid, *words).assert_refused(2, said)
    assert not is_traced(target.pid)
    target.finish()


def test_of_what_is_no_process():
    hangdbg("trace", 2 ** 22 - 1).assert_refused(2, "no process", "hangdbg ps")
    hangdbg("trace", "one").assert_refused(2, "not the number of a process")


def test_nobody_reads_it_any_more(target):
    trace = start_trace(target.pid)
    trace.stdout.close()
    target.tell("storm 0 100")
    target.said("done storm")
    assert trace.wait(harness.PATIENCE) == -signal.SIGPIPE
    target.finish()


def test_a_reader_that_does_not_read(target):
    """holds up neither the process nor Ctrl-C."""
    trace = start_trace(target.pid)
    target.tell("storm 0 20000")
    target.said("done storm")
    trace.send_signal(signal.SIGINT)
    target.finish()

    def ends():  # the first stops the trace, the next what is still to be written
        trace.send_signal(signal.SIGINT)
        return trace.poll() is not None
    until("it ends", ends)
    assert trace.returncode == 130


def test_a_terminal_that_nobody_reads(target):
    reader, terminal = os.openpty()
    trace = track(subprocess.Popen([PROGRAM, "trace", str(target.pid), "--for", "1"],
                                   stdout=terminal, stderr=subprocess.DEVNULL,
                                   start_new_session=True, preexec_fn=harness.die_with_us))
    until("the trace", lambda: is_traced(target.pid))
    target.tell("storm 0 20000")
    target.said("done storm")
    until("the time is over", lambda: not is_traced(target.pid))
    trace.send_signal(signal.SIGINT)
    assert trace.wait(harness.PATIENCE) == 130
    os.close(reader)
    os.close(terminal)
    target.finish()


@needs_root
def test_a_memory_that_does_not_answer(newest_python, tmp_path):
    """Its threads stand still while we read it, and are let go."""
    if not os.path.exists("/dev/fuse") or subprocess.run(
            ["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("needs /dev/fuse and a mount namespace")
    target = Target(["unshare", "-m", newest_python, TARGETS / "causes_fuse.py", "unmaps_later",
                     tmp_path])
    try:
        trace = start_hangdbg("trace", target.pid)
        until("the trace", lambda: is_traced(target.pid))
        target.process.stdin.write(b"\n")
        target.process.stdin.flush()
        done = outcome(trace)
        assert done.rc == 4 and "in time" in done.err, done
        assert not is_traced(target.pid)
        caller, = [int(tid) for tid in os.listdir("/proc/%d/task" % target.pid)
                   if int(tid) != target.pid]
        before = switches(caller)
        until("it goes on", lambda: switches(caller) > before + 3)
        done = hangdbg("trace", target.pid, "--timeout", "1")
        assert done.rc == 4 and not is_traced(target.pid), done
    finally:
        os.kill(target.ready["server"], signal.SIGKILL)


# ---- Python


def test_python_lines(readable_edge_python):
    target = start("file_baton", readable_edge_python)
    done = hangdbg("trace", target.pid, "--python", "--json", "-n", "4", "-e", "!futex")
    assert done.rc == 0, done
    calls = calls_of(done.out)
    assert {one["python"][0]["function"] for one in calls} <= {"wait", "exists", "<module>"}
    sleeps = [one for one in calls if "sleep" in one["call"] or "select" in one["call"]]
    assert sleeps and all(one["python"][0]["function"] == "wait" for one in sleeps), calls
    assert all(one["python"][0]["file"].endswith("file_baton.py") for one in sleeps)
    target.finish()


def test_python_frames(newest_python):
    target = start("file_baton", newest_python)
    done = hangdbg("trace", target.pid, "--python=3", "-n", "3")
    line = next(line for line in done.out.splitlines() if "sleep(" in line and "<-" in line)
    assert re.search(r"<- wait \(\S*file_baton\.py:\d+\) <- ", line), done
    target.finish()
