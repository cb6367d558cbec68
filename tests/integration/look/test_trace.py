"""hangdbg trace: the system calls of a process as they happen, how they are shown, and the Python
that makes them."""

import os
import re
import signal
import subprocess
import time

import pytest

import harness
from harness import (PROGRAM, Target, as_nobody, behind, hangdbg, in_targets, outcome, start,
                     start_hangdbg, track, until)
from test_namespaces import needs_root
from traced import caller, calls_of, is_traced, objects, start_trace, switches, target, traced


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
    trace = start_trace(target.pid, "--json")
    time.sleep(0.3)  # of which all is in the call
    trace.send_signal(signal.SIGINT)
    done = outcome(trace)
    assert done.rc == 130, done
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
    hangdbg("trace", "one").assert_refused(2, "is not a PID")


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


@pytest.mark.parametrize("seconds", ["1", "1000"], ids=["over", "traced"])
def test_a_terminal_that_nobody_reads(target, seconds):
    """One Ctrl-C is enough, also while it still traces."""
    reader, terminal = os.openpty()
    trace = track(subprocess.Popen([PROGRAM, "trace", str(target.pid), "--for", seconds],
                                   stdout=terminal, stderr=subprocess.DEVNULL,
                                   start_new_session=True, preexec_fn=harness.die_with_us))
    until("the trace", lambda: is_traced(target.pid))
    target.tell("storm 0 20000")
    target.said("done storm")
    until("the time is over", lambda: seconds != "1" or not is_traced(target.pid))
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
    target = Target(["unshare", "-m", newest_python, in_targets("causes_fuse.py"), "unmaps_later",
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
