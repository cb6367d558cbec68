"""A thread that is held: it runs what is asked, and goes on as if nothing had been."""

import os
import random
import re
import signal
import statistics
import subprocess
import threading
from pathlib import Path

import pytest

import interpreters
import processes
from hangs import WAITS_AT, start_hang
from harness import (
    AGENT_GONE, PATIENCE, PROGRAM, TARGETS, Target, die_with_us, evaluate, hangdbg, place, start,
    track, until)
from stress import run_to_end

THREAD = "int(__import__('os').path.basename(__import__('os').readlink('/proc/thread-self')))"
OWN = "__import__('sys').modules['own']"
BLOCKED = [hang for hang in WAITS_AT if hang not in ("spin", "churn")]


def values(done):
    """What `p` has printed."""
    return [line for line in done.out.splitlines() if re.match(r"[\[0-9]|True|False", line)]


def commands(*commands):
    return [word for command in commands for word in ("-c", command)]


@pytest.mark.parametrize("hang", BLOCKED)
def test_hang(hang, python, library):
    """Held, asked, written to and let go, twice: on its own thread."""
    musl = interpreters.variant(python) == interpreters.MUSL
    target = start_hang(hang, python, library,
                        env=None if musl else {"HANGDBG_TEST_OWN": "1"})
    before = target.snapshot()
    if musl and hang == "lock_worker":
        done = hangdbg("attach", target.pid, *place(target), *commands("hold"))
        assert "short of stack" in done.err, done
        target.finish()
        return
    own = ["p [%s.local.word, %s.context.get()]" % (OWN, OWN)] * (not musl)
    for answer in (42, 43):
        done = hangdbg(
            "attach", target.pid, *place(target), *commands(
                "p %s" % THREAD, "hold", "p %s" % THREAD, *own,
                "answer = %d" % answer, "p answer", "release", "p answer"))
        assert done.rc == 0, done
        ours, *found = values(done)
        assert int(ours) != target.tid
        assert found == [str(target.tid), *[repr([target.function] * 2)] * (not musl),
                         str(answer), str(answer)], done
        target.assert_as_before(before, arenas=4)
    result = target.finish()
    assert (result["answer"], result["seen"]) == (43, [0, 2, 4])


@pytest.mark.parametrize("hang", ["spin", "churn"])
def test_running_in_c(hang, python, library):
    """No place to go in by; what can be done instead is done."""
    target = start_hang(hang, python, library)
    before = target.snapshot()
    asked = []

    def caught_running():  # churn: now and then it is in a call that asks for memory
        asked.append(hangdbg(
            "attach", target.pid, *place(target), *commands("hold", "p answer")))
        return "which manages memory" not in asked[-1].err

    until("a look at it while it runs", caught_running)
    done = asked[-1]
    assert (done.rc, values(done)) == (0, ["41"]), done
    assert "cannot be held" in done.err and "running" in done.err, done
    target.assert_as_before(before, arenas=4)
    target.finish()


def holding(target, env=None):
    """A hangdbg that holds the target's hung thread: its Popen, with pipes."""
    process = track(subprocess.Popen(
        [str(word) for word in (PROGRAM, "attach", target.pid, *place(target))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=dict(os.environ, **(env or {})), start_new_session=True, preexec_fn=die_with_us))
    ask(process, "hold", "is suspended")
    return process


def typed(process, command):
    process.stdin.write(command + "\n")
    process.stdin.flush()


def ask(process, command, answer):
    """Types a command and reads until its answer comes, which is returned."""
    seen = []
    late = threading.Timer(PATIENCE, process.kill)
    late.start()
    try:
        typed(process, command)
        for line in process.stdout:
            seen.append(line)
            if answer in line:
                return line
    finally:
        late.cancel()
    raise AssertionError("%s: %s: %s" % (command, "".join(seen), process.stderr.read()))


def call_of(target):
    """The system call that the hung thread sleeps in, with its stack and place."""
    return Path("/proc/%d/task/%d/syscall" % (target.pid, target.tid)).read_text()


@pytest.mark.once
@pytest.mark.parametrize("hang", ["lock_main", "lock_worker", "recv"])
@pytest.mark.parametrize("kills", [3, pytest.param(23, marks=pytest.mark.slow)])
def test_goes_on_when_we_die(hang, kills, edge_python):
    target = start(hang, edge_python)
    before, call = target.snapshot(), call_of(target)
    for _ in range(kills):
        process = holding(target)
        assert call_of(target) != call
        process.kill()
        until("the thread in its call", lambda: call_of(target) == call, seconds=1)
        process.wait()
    target.assert_as_before(before, arenas=4)
    assert target.finish()["answer"] == 41


@pytest.mark.parametrize("point", [
    "hold-stopped", "hold-frame-written", "hold-marked", "hold-switched", "hold-masked"])
def test_killed_at(point, edge_python):
    target = start("lock_main", edge_python)
    before, call, code = target.snapshot(), call_of(target), processes.anonymous_code(target.pid)
    died = hangdbg("attach", target.pid, *place(target), *commands("hold"),
                   env={"HANGDBG_TEST_DIE_AT": point})
    assert died.rc == -signal.SIGKILL, died
    assert processes.tracer(target.pid) == 0
    until("the thread in its call", lambda: call_of(target) == call, seconds=1)
    target.assert_as_before(before, arenas=4)
    # Of a thread that has not come, nobody in the program can tell whether it was sent; the
    # next hangdbg can, from outside.
    left = processes.anonymous_code(target.pid)
    assert (left != code) == (point == "hold-marked"), left
    for _ in range(2):
        done = hangdbg("attach", target.pid, *place(target), *commands(
            "hold", "p %s" % THREAD, "release"))
        assert values(done) == [str(target.tid)], done
    until("no code of ours", lambda: processes.anonymous_code(target.pid) == code,
          AGENT_GONE)
    assert target.finish()["answer"] == 41


@pytest.mark.once
@pytest.mark.slow
def test_killed_at_random_moments(edge_python):
    """Over the whole life of a hold: no code of ours is left, but until the next attach."""
    moments = random.Random(1)
    target = start("lock_main", edge_python)
    before, call, code = target.snapshot(), call_of(target), processes.anonymous_code(target.pid)
    command = [PROGRAM, "attach", target.pid, *place(target), *commands("hold")]
    median = statistics.median(run_to_end(command).seconds for _ in range(5))
    for _ in range(100):
        run_to_end(command, moments.uniform(0, 1.2 * median))
        until("the thread in its call", lambda: call_of(target) == call, seconds=1)
        target.assert_as_before(before, arenas=4)
    assert evaluate(target, "answer") == "41"
    until("no code of ours", lambda: processes.anonymous_code(target.pid) == code,
          AGENT_GONE)
    assert target.finish()["answer"] == 41


def test_another_client(newest_python):
    """Only one holds it; what the other asks runs on our thread as ever."""
    target = start("lock_main", newest_python)
    process = holding(target)
    done = hangdbg("attach", target.pid, *place(target), *commands("hold", "p %s" % THREAD))
    assert "already suspended" in done.err, done
    assert int(values(done)[0]) != target.tid
    assert ask(process, "p %s" % THREAD, str(target.tid))
    ask(process, "release", "resumed")
    target.finish()


def test_signal_while_held(python):
    """It comes when the thread goes on."""
    target = start("lock_main", python)
    process = holding(target)
    os.kill(target.pid, signal.SIGUSR1)
    assert ask(process, "p answer", "41")
    target.go_on = lambda: process.stdin.close()  # which detaches
    assert target.finish()["answer"] == 41


def test_expression_that_fails_and_one_that_is_cancelled(edge_python):
    target = start("lock_main", edge_python)
    process = holding(target)
    ask(process, "p 1 / 0 if answer else 0 ;; p answer", "41")
    typed(process, "p [None for _ in iter(int, 1)]")
    until("it computes", lambda: processes.thread_activity(
        target.pid, target.tid).syscall == "running")
    process.send_signal(signal.SIGINT)
    assert ask(process, "p answer + 1", "42")
    ask(process, "release", "resumed")
    target.finish()


@pytest.mark.parametrize("way", ["interrupt", "handler", "other-thread"])
def test_what_is_raised_meanwhile(way, edge_python, tmp_path):
    """Comes up in the program's own code when that goes on; what our own code
    raises does not."""
    source = tmp_path / "raises.py"
    source.write_text(
        "import ctypes, signal, sys, threading\n"
        "sys.path.insert(0, %r)\n"
        "from common import finish, ready\n"
        "class Own(Exception): pass\n"
        "def handler(*_): raise Own\n"
        "signal.signal(signal.SIGUSR1, handler)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "me = ctypes.c_ulong(threading.get_ident())\n"
        "def wait(lock):\n"
        "    ready('wait', ['futex'], go_on='wait')\n"
        "    lock.acquire()\n"
        "lock = threading.Lock()\n"
        "lock.acquire()\n"
        "try:\n"
        "    wait(lock)\n"
        "except BaseException as error:\n"
        "    finish(raised=type(error).__name__)\n" % str(TARGETS))
    target = Target([edge_python, source])
    target.wait_hung()
    process = holding(target)
    if way == "interrupt":
        os.kill(target.pid, signal.SIGINT)
    elif way == "handler":
        os.kill(target.pid, signal.SIGUSR1)
    else:
        done = hangdbg("eval", target.pid, "ctypes.pythonapi.PyThreadState_SetAsyncExc("
                       "me, ctypes.py_object(Own))", "--frame", "1")
        assert done.out == "1\n", done
    assert ask(process, "p 1 + 1", "2")
    assert ask(process, "p 2 + 2", "4")
    process.stdin.close()
    if way == "other-thread":
        # It comes up when the thread runs Python again, at the latest now; if it has
        # not, while it was on its way back to its lock.
        until("released", lambda: process.wait() == 0)
        assert hangdbg("eval", target.pid, "lock.release()").rc in (0, 2, 4)
    assert target.finish()["raised"] == ("KeyboardInterrupt" if way == "interrupt" else "Own")
