"""hangdbg peek: a name and what can be reached from it, read where nothing can run."""

import os
import signal
import subprocess

import pytest

import processes
from harness import hangdbg, start, until


def test_is_what_eval_says(python):
    target = start("file_baton", python)
    expressions = ["self.lock_file_path", "self.wait_seconds", "answer", "seen",
                   "self.wait_seconds < 1", "len(self.lock_file_path)", "lock_path",
                   "self.__class__.__name__", "'stale' in lock_path"]
    for expression in expressions:
        peeked = hangdbg("peek", target.pid, expression)
        said = hangdbg("eval", target.pid, expression)
        assert peeked.rc == said.rc == 0, (peeked, said)
        assert peeked.out == said.out, expression
    target.finish()


def test_changes_nothing(edge_python):
    target = start("lock_worker", edge_python)
    before = target.snapshot()
    for expression in ("answer", "lock", "seen", "absent", "f()"):
        hangdbg("peek", target.pid, expression)
    assert processes.differences(before, target.snapshot()) == []
    target.finish()


def test_gil_is_held_for_ever(readable_python, library):
    held = start("gil_held_by_library", readable_python, library)
    assert hangdbg("peek", held.pid, "answer").out == "41\n"
    worker = ("--thread", held.ready["worker"])
    assert hangdbg("peek", held.pid, "begun[0] == %d" % held.ready["worker"],
                   *worker).out == "True\n"


def test_stopped(readable_python):
    target = start("lock_main", readable_python)
    os.kill(target.pid, signal.SIGSTOP)
    until("it is stopped", lambda: processes.state(target.pid) == "T")
    done = hangdbg("peek", target.pid, "answer", "--json")
    os.kill(target.pid, signal.SIGCONT)
    assert done.rc == 0 and done.json() == {
        "pid": target.pid, "rank": None, "host": os.uname().nodename, "thread": target.pid,
        "exact": True,
        "frame": {**done.json()["frame"], "function": target.function},
        "type": "int", "repr": "41", "error": None}, done
    target.finish()


def test_runs(readable_python):
    """The thread goes on all the while, in one frame."""
    target = start("busy", readable_python)
    for _ in range(20):
        done = hangdbg("peek", target.pid, "answer")
        assert done.rc == 0 and done.out == "41\n", done
    target.finish()


def test_suspended_for_somebody_else(python, terminal):
    """The frames of the program count, and not what the thread runs for that client."""
    target = start("lock_main", python)
    session = terminal(target.pid)
    session.expect_prompt()
    session.ask("hold", "is suspended")
    place = hangdbg("peek", target.pid, "answer", "--json").json()["frame"]
    assert place["function"] == target.function, place
    session.type("p [__import__('time').sleep(0.1) for _ in iter(int, 1)]\r")
    until("it evaluates", lambda: "<expression>" in hangdbg("dump", target.pid).out)
    assert hangdbg("peek", target.pid, "answer", "--json").json()["frame"] == place
    session.type("\x03")
    session.expect_prompt()
    session.ask("release", "resumed")
    session.detach()
    target.finish()


def test_place(edge_python):
    target = start("lock_worker", edge_python)
    worker = target.tid
    # main only waits for the worker: that one is meant.
    assert hangdbg("peek", target.pid, "answer").out == "41\n"
    for name in ("the-worker", str(worker)):
        assert hangdbg("peek", target.pid, "answer", "--thread", name).out == "41\n"
    main = hangdbg("peek", target.pid, "answer", "--thread", "main")
    assert main.rc == 1 and "NameError: name 'answer' is not defined" in main.err
    outer = hangdbg("peek", target.pid, "self._name", "--frame=1")
    assert outer.out == "'the-worker'\n", outer
    absent = hangdbg("peek", target.pid, "x", "--thread", "absent")
    assert absent.rc == 2 and '"the-worker"' in absent.err, absent
    deep = hangdbg("peek", target.pid, "x", "--frame=99")
    assert deep.rc == 2 and "has no frame 99" in deep.err, deep
    target.finish()


@pytest.mark.parametrize(
    "expression, rc, says",
    [
        ("absent", 1, "NameError: name 'absent' is not defined"),
        ("absent", 1, "try: hangdbg dump PID --locals"),
        ("self.absent", 1, "try: hangdbg eval PID self.absent"),
        ("self.absent", 1, "AttributeError: "),
        ("seen['a']", 1, "TypeError: "),
        ("lock_path[9999]", 1, "IndexError: "),
        ("os.getpid()", 2, "try: hangdbg eval PID 'os.getpid()'"),
        ("answer + 1", 2, "try: hangdbg eval PID 'answer + 1'"),
        ("answer\x1b[31m", 2, "\\x1b[31m"),
        ("", 2, "missing argument: EXPR"),
    ],
)
def test_bad_expressions(newest_python, expression, rc, says):
    target = start("file_baton", newest_python)
    done = hangdbg("peek", target.pid, expression)
    assert done.rc == rc and done.out == "", done
    assert says.replace("PID", str(target.pid)) in done.err, done
    assert len(done.err.splitlines()) <= 2 and "\x1b" not in done.err
    if expression:
        error = hangdbg("peek", target.pid, expression, "--json")
        assert error.rc == rc and error.json()["error"]["message"], error
    target.finish()


def test_property_is_not_run(newest_python):
    script = (
        "import os, time\n"
        "class A:\n"
        "    @property\n"
        "    def b(self): os._exit(3)\n"
        "def f(a):\n"
        "    os.write(1, b'ready\\n'); time.sleep(1000)\n"
        "f(A())\n"
    )
    child = subprocess.Popen([newest_python, "-c", script], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"ready\n"
        done = hangdbg("peek", child.pid, "a.b")
        assert done.rc == 1 and "b is a property of A" in done.err, done
        assert "try: hangdbg eval %d a.b" % child.pid in done.err
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    "words, rc", [((), 2), (("zero", "x"), 2), ((2**22 + 1, "x"), 2), (("1",), 2)])
def test_bad_input(words, rc):
    done = hangdbg("peek", *words)
    assert done.rc == rc and done.out == "" and "try: " in done.err, done
