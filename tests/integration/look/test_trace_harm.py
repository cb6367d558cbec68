"""hangdbg trace does no harm: calls go on as they would, nothing is lost and nothing stays, also when
it is killed."""

import os
import signal
import time

import harness
from harness import hangdbg, outcome, start, start_hangdbg, until
from traced import Caller, caller, calls_of, is_traced, objects, start_trace, status, target


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
