"""An expression that blocks in C costs only itself: the session that asked it goes on,
and what it began is cancelled when its call returns."""

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from dap_client import DapClient
from harness import PATIENCE, PROGRAM, die_with_us, in_targets, place, start, track, until
from test_hold import ask, typed

SESSIONS = 8  # that one target can have
LINE = next(number for number, line in enumerate(
    in_targets("lock_main.py").read_text().splitlines(), 1) if "return answer" in line)


class Pipe:
    """A named pipe: who opens it waits until somebody writes."""

    def __init__(self, folder):
        self.path = str(folder / "pipe")
        os.mkfifo(self.path)
        self.expression = "open(%r).read()" % self.path

    def end(self):
        """Whoever waits gets it open, and reads nothing."""
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            pass  # nobody waits

    def waiting(self, pid):
        """How many threads of that process are inside open(2) of something."""
        calls = []
        for tid in os.listdir("/proc/%d/task" % pid):
            try:
                with open("/proc/%d/task/%s/syscall" % (pid, tid)) as call:
                    calls.append(call.read().split()[0])
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has just ended
        return calls.count("257") + calls.count("2")  # openat, and of musl open


@pytest.fixture
def pipe(tmp_path):
    return Pipe(tmp_path)


def session_in(target, timeout=2 * PATIENCE):
    return track(subprocess.Popen(
        [str(word) for word in (
            PROGRAM, "attach", target.pid, *place(target), "--timeout", timeout)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=die_with_us))


def blocks(process, target, pipe, already=0):
    """Types it, and Ctrl-C."""
    typed(process, "p " + pipe.expression)
    until("it is blocked", lambda: pipe.waiting(target.pid) == already + 1)
    process.send_signal(signal.SIGINT)


def nobody_waits(pipe, target):
    def ended():
        pipe.end()
        return pipe.waiting(target.pid) == 0
    until("all are cancelled", ended)


def end(process):
    process.stdin.close()
    error = process.stderr.read()
    process.wait()
    return error


def test_beside_the_program(python, pipe):
    target = start("lock_main", python)
    before = target.snapshot()
    process = session_in(target)
    ask(process, "p answer", "41")
    blocks(process, target, pipe)
    assert ask(process, "p answer + 1", "42")
    typed(process, "print('printed'); mine = 7")
    assert ask(process, "p mine + answer", "48")
    assert ask(process, "w", "wait_for_lock()")
    assert pipe.waiting(target.pid) == 1
    nobody_waits(pipe, target)
    assert ask(process, "p answer + 2", "43")
    assert "does not react: it is inside a C call" in end(process)
    target.assert_as_before(before, arenas=4)
    assert target.finish()["answer"] == 41


def test_when_time_is_up(edge_python, pipe):
    target = start("lock_main", edge_python)
    process = session_in(target, timeout=2)
    ask(process, "p answer", "41")
    typed(process, "p " + pipe.expression)
    assert ask(process, "p answer + 1", "42")
    nobody_waits(pipe, target)
    assert "does not react: it is inside a C call" in end(process)
    target.finish()


def test_in_a_held_thread(edge_python, pipe):
    """That one waits for its call; others can be asked, and it stands as before when
    that has returned."""
    target = start("lock_worker", edge_python)
    process = session_in(target)
    ask(process, "hold", "is suspended")
    blocks(process, target, pipe)
    typed(process, "p answer")
    typed(process, "thread main")
    assert ask(process, "p 6 * 7", "42")
    nobody_waits(pipe, target)
    typed(process, "thread %d" % target.tid)

    def stands():
        typed(process, "p 'it is %s' % answer")
        return ask(process, "p 'asked'", "")
    until("it stands again", lambda: "it is 41" in stands())
    ask(process, "release", "resumed")
    assert "still inside an expression" in end(process)
    assert target.finish()["answer"] == 41


def test_as_many_as_there_is_room_for(edge_python, pipe):
    """And one more, which is waited for then."""
    target = start("lock_main", edge_python)
    before = target.snapshot()
    process = session_in(target)
    ask(process, "p answer", "41")
    for already in range(SESSIONS):
        blocks(process, target, pipe, already)
        if already < SESSIONS - 1:
            assert ask(process, "p answer + %d" % already, str(41 + already))
    typed(process, "p 'in its turn'")
    nobody_waits(pipe, target)
    assert ask(process, "p answer + 100", "141")
    end(process)
    target.assert_as_before(before, arenas=2 * SESSIONS + 2)
    assert target.finish()["answer"] == 41


def test_threads_with_breakpoints_go_on_meanwhile(python, pipe):
    """Up to 3.12 an exception that one thread is to take is a flag for all; 3.11 never
    left a traced function while it was set."""
    target = start("lock_main", python)
    process = session_in(target)
    ask(process, "b %s:%d, answer == -5" % (in_targets("lock_main.py"), LINE), "Breakpoint")
    blocks(process, target, pipe)
    assert ask(process, "p answer + 1", "42")
    assert target.finish()["answer"] == 41


def test_no_thread_can_be_started(edge_python, pipe):
    """Then the session waits, as it is, and nothing of it is lost."""
    target = start("lock_main", edge_python)
    process = session_in(target)
    ask(process, "b %s:%d, answer == -5" % (in_targets("lock_main.py"), LINE), "Breakpoint")
    typed(process, "p " + pipe.expression)
    until("it is blocked", lambda: pipe.waiting(target.pid) == 1)
    before = resource.prlimit(target.pid, resource.RLIMIT_AS)
    now = int(Path("/proc/%d/statm" % target.pid).read_text().split()[0]) * 4096
    resource.prlimit(target.pid, resource.RLIMIT_AS, (now + (1 << 20), before[1]))
    process.send_signal(signal.SIGINT)
    assert "does not react" in process.stderr.readline()
    resource.prlimit(target.pid, resource.RLIMIT_AS, before)
    nobody_waits(pipe, target)
    assert ask(process, "p answer + 1", "42")
    assert target.finish()["answer"] == 41


@pytest.mark.parametrize("thread", ["ours", "held"])
def test_killed_afterwards(thread, edge_python, pipe):
    target = start("lock_main", edge_python)
    before = target.snapshot()
    process = session_in(target)
    ask(process, "hold" if thread == "held" else "p answer",
        "is suspended" if thread == "held" else "41")
    blocks(process, target, pipe)
    ask(process, "threads", str(target.pid))
    process.kill()
    process.wait()
    nobody_waits(pipe, target)
    target.assert_as_before(before, arenas=4)
    assert target.finish()["answer"] == 41


def test_a_watch_of_an_editor(edge_python, pipe):
    target = start("lock_main", edge_python)
    with DapClient.stdio("--timeout", 2 * PATIENCE) as editor:
        thread = editor.attach(target.pid)["threadId"]
        frame = next(one["id"] for one in editor.call(
            "stackTrace", threadId=thread)["stackFrames"]
            if one["name"] == target.function)
        number = editor.request("evaluate", expression=pipe.expression, frameId=frame,
                                context="watch")
        until("it is blocked", lambda: pipe.waiting(target.pid) == 1)
        editor.call("cancel", requestId=number)
        refused = editor.response(number)
        assert not refused["success"], refused
        assert "does not react" in refused["body"]["error"]["format"], refused
        for _ in range(2):
            assert editor.call("evaluate", expression="answer + 1", frameId=frame,
                               context="watch")["result"] == "42"
            assert editor.call("threads")["threads"]
            nobody_waits(pipe, target)
        editor.disconnect()
    assert target.finish()["answer"] == 41
