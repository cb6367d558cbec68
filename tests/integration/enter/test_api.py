"""The package hangdbg (python/): a program waits for a debugger, which finds itself
where it was called for."""

import os
import re
import signal
import subprocess

import pytest

import harness
from dap_client import DapClient
from harness import hangdbg

PACKAGE = str(harness.ROOT / "python")

PROGRAM = '''
import sys, threading, time
import hangdbg

def calls():
    near = 40
    %s
    return near

def in_thread():
    thread = threading.Thread(target=calls, name="one that calls")
    thread.start()
    thread.join()

print("result", %s)
'''


class Process:
    def __init__(self, command, environment, folder):
        self.written = {name: folder / name for name in ("out", "err")}
        self.process = harness.track(subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.written["out"].open("w"),
            stderr=self.written["err"].open("w"), env=environment,
            start_new_session=True, preexec_fn=harness.die_with_us))
        self.pid = self.process.pid

    def wait_for_call(self):
        """For a debugger."""
        call = "pid %d waits: hangdbg attach %d\n" % (self.pid, self.pid)
        harness.until("its call", lambda: self.written["err"].read_text() == call)

    def result(self, seconds=harness.PATIENCE):
        return self.process.wait(seconds), self.written["out"].read_text()


@pytest.fixture
def program(some_python, tmp_path):
    """Starts PROGRAM with these two pieces."""
    def start(statement, result="calls()", **environment):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        path = folder / "program.py"
        path.write_text(PROGRAM % (statement, result))
        environment = dict(os.environ, PYTHONPATH=PACKAGE, **environment)
        return Process([some_python, path], environment, folder)
    return start


def test_set_trace(program):
    process = program("hangdbg.set_trace()")
    process.wait_for_call()
    listed = {one["pid"]: one for one in hangdbg("ps", "--json").json()["processes"]}
    assert listed[process.pid]["waits"].startswith("a debugger at program.py:7 in calls")
    done = hangdbg("attach", process.pid, "-c", "p near", "-c", "n", "-c", "near = 42", "-c", "w")
    assert done.rc == 0 and "it was waiting for a debugger" in done.out, done
    assert re.search(r"program\.py\(7\)calls\(\)\n.*\n40\n(.*\n)*> \S*program\.py\(8\)calls\(\)",
                     done.out), done
    assert process.result() == (0, "result 42\n")


def test_breakpoint(program):
    process = program("breakpoint()", PYTHONBREAKPOINT="hangdbg.breakpoint")
    process.wait_for_call()
    done = hangdbg("attach", process.pid, "-c", "p near", "-c", "c")
    assert re.search(r"^40$", done.out, re.M), done
    assert process.result() == (0, "result 40\n")


JOB = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000)}


@pytest.mark.parametrize("ranks", ["1", "(1, 5)", "range(1, 2)"])
def test_breakpoint_on_a_rank(program, ranks):
    """That one alone stops, for who attaches to it by its number."""
    first, second = (program("hangdbg.breakpoint(rank=%s)" % ranks, RANK=str(rank), **JOB)
                     for rank in range(2))
    assert first.result() == (0, "result 40\n")
    second.wait_for_call()
    done = hangdbg("attach", "--job", second.pid, "--ranks", "1", "-c", "near = 42", "-c", "w")
    assert done.rc == 0 and re.search(r"> \S*program\.py\(\d+\)calls\(\)", done.out), done
    assert second.result() == (0, "result 42\n")


def test_breakpoint_on_rank_0_of_no_job(program):
    process = program("hangdbg.breakpoint(rank=1); hangdbg.breakpoint(rank=0)")
    process.wait_for_call()
    assert hangdbg("attach", process.pid, "-c", "near = 42").rc == 0
    assert process.result() == (0, "result 42\n")


def test_prompt_of_a_thread(program, terminal):
    """Also one that main only waits for; then the next call stops at once."""
    process = program("hangdbg.set_trace(); near += 1; hangdbg.set_trace(); near += 1",
                      "in_thread()")
    process.wait_for_call()
    session = terminal(process.pid)
    session.expect(r"^> \S*program\.py\(7\)calls\(\)$")
    session.expect_prompt()
    session.ask("p near", "^40$")
    session.type("c\r")
    harness.until("it stands again", lambda: stands_with(session, "41"))
    session.detach()
    assert process.result() == (0, "result None\n")


def stands_with(session, value):
    session.type("p near\r")
    session.expect_prompt()
    return re.search(r"^%s$" % value, session.text, re.M)


def test_time_is_up(program):
    process = program("near = hangdbg.wait(0.2)")
    assert process.result() == (0, "result False\n")


def test_a_debugger_that_is_killed(program, terminal):
    process = program("near = hangdbg.wait()")
    process.wait_for_call()
    session = terminal(process.pid)
    session.expect_prompt()
    os.kill(session.process.pid, signal.SIGKILL)
    assert process.result(seconds=5) == (0, "result True\n")


def test_post_mortem(program):
    process = program("""
    try:
        far = near / 0
    except ZeroDivisionError:
        hangdbg.post_mortem()""")
    process.wait_for_call()
    done = hangdbg("attach", process.pid, "-c", "p near", "-c", "w")
    assert re.search(r"program\.py\(9\)calls\(\)\n-> far = near / 0\n(.*\n)*40$", done.out,
                     re.M), done
    assert process.result() == (0, "result 40\n")


def test_exceptions(program):
    """What was raised, and what that came of."""
    process = program("""
    try:
        try:
            far = near / 0
        except ZeroDivisionError as error:
            raise ValueError("too near") from error
    except ValueError:
        hangdbg.post_mortem()""")
    process.wait_for_call()
    commands = ["exceptions", "exceptions 0", "p $_exception", "exceptions", "exceptions 2"]
    done = hangdbg("attach", process.pid, *[word for one in commands for word in ("-c", one)])
    lines = done.out.splitlines()
    assert any("stands: ValueError: too near" in line for line in lines), done
    assert "    0 ZeroDivisionError: division by zero" in lines, done
    assert ">   1 ValueError: too near" in lines, done
    assert "-> far = near / 0" in lines, done
    assert "ZeroDivisionError('division by zero')" in "".join(lines).replace(",)", ")"), done
    assert ">   0 ZeroDivisionError: division by zero" in lines, done
    assert "no exception has the number 2" in done.err, done
    assert process.result() == (0, "result 40\n")


def test_an_editor(program):
    """Finds it stopped where it was called for."""
    process = program("hangdbg.set_trace()")
    process.wait_for_call()
    with DapClient.stdio() as editor:
        stopped = editor.attach(process.pid)
        assert (stopped["reason"], stopped["threadId"]) == ("breakpoint", process.pid), stopped
        top = editor.call("stackTrace", threadId=process.pid)["stackFrames"][0]
        assert (top["name"], top["line"]) == ("calls", 7), top
        editor.call("next", threadId=process.pid)
        assert editor.event("stopped")["reason"] == "step"
        editor.call("continue", threadId=process.pid)
        assert process.result() == (0, "result 40\n")


def test_others_leave_it_waiting(program):
    """`eval` has not come for it."""
    process = program("hangdbg.set_trace()")
    process.wait_for_call()
    done = hangdbg("eval", process.pid, "near")
    assert (done.rc, done.out) == (0, "40\n"), done
    assert process.process.poll() is None
    hangdbg("attach", process.pid, "-c", "c")
    assert process.result() == (0, "result 40\n")


def test_types_and_names(newest_python):
    done = subprocess.run(
        [newest_python, "-W", "error", "-c",
         "import hangdbg, inspect\n"
         "for name in hangdbg.__all__:\n"
         "    function = getattr(hangdbg, name)\n"
         "    assert function.__doc__ and 'return' in function.__annotations__, name\n"
         "try:\n    hangdbg.post_mortem()\nexcept ValueError as error: print(error)\n"],
        env=dict(os.environ, PYTHONPATH=PACKAGE), capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "no exception" in done.stdout
