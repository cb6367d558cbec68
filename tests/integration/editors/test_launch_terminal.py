"""`launch` with `console`: the program runs in a terminal of the editor's."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import time

import pytest

import harness
from dap_client import Refused
from harness import PATIENCE
from test_dap import stack
from test_launch import editor, ends, printed

PROGRAM = '''\
import os
import sys
said = input("what? ")
print("said", said, sys.argv[1:], os.environ.get("COLOUR"), os.isatty(1), os.getcwd())
breakpoint() if "breaks" in sys.argv else None
sys.exit(3)
'''
KERNEL = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
CAN = dict(supportsRunInTerminalRequest=True)


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


class Shell:
    """An editor's terminal, in which it has started what it was asked to start."""

    def __init__(self, question):
        asked = question["arguments"]
        self.master, slave = pty.openpty()
        environment = dict(os.environ)
        for name, value in asked.get("env", {}).items():
            environment.pop(name, None)
            if value is not None:
                environment[name] = value

        def take_terminal():
            harness.die_with_us()
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = harness.track(subprocess.Popen(
            asked["args"], cwd=asked["cwd"], env=environment, stdin=slave, stdout=slave,
            stderr=slave, preexec_fn=take_terminal))
        os.close(slave)
        self.text = ""

    def expect(self, words, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while words not in self.text:
            assert select.select([self.master], [], [], end - time.monotonic())[0], self.text
            try:
                self.text += os.read(self.master, 4096).decode().replace("\r", "")
            except OSError:
                raise AssertionError("it has ended: " + self.text)

    def type(self, text):
        os.write(self.master, text.encode())


def launch(editor, breakpoints=(), **arguments):
    """Up to configurationDone; the terminal."""
    editor.initialize(**CAN)
    number = editor.request("launch", **{"console": "integratedTerminal", **arguments})
    question = editor.question("runInTerminal")
    shell = Shell(question)
    editor.answer(question)
    editor.event("initialized")
    if breakpoints:
        editor.call("setBreakpoints", source={"path": arguments["program"]},
                    breakpoints=[{"line": line} for line in breakpoints])
    editor.call("configurationDone")
    assert editor.response(number)["success"]
    assert editor.event("process")["systemProcessId"] == shell.process.pid
    return shell, question["arguments"]


def test_to_its_end(some_python, program, editor, tmp_path):
    shell, asked = launch(
        editor, breakpoints=[6], program=program, args=["a b", "'c'"], python=some_python,
        pythonArgs=["-X", "dev"], env={"COLOUR": "red", "HOME": None}, cwd=str(tmp_path))
    assert asked["kind"] == "integrated" and asked["title"] == program
    assert asked["args"][:3] == [some_python, "-X", "dev"]
    shell.expect("what? ")
    shell.type("this\n")
    shell.expect('''said this ['a b', "'c'"] red True %s\n''' % tmp_path)
    stopped = editor.event("stopped")
    frame, = stack(editor, stopped["threadId"])
    assert (frame["name"], frame["line"], stopped["reason"]) == ("<module>", 6, "breakpoint")
    editor.call("continue", threadId=stopped["threadId"])
    ends_here(editor, shell, 3)
    assert not printed(editor, "stdout") and not printed(editor, "stderr")
    editor.disconnect()


def ends_here(editor, shell, code):
    """Its exit code is its parent's to know: it is asked at once, as a shell does."""
    assert shell.process.wait(PATIENCE) == code
    editor.event("terminated")
    told = [message["body"]["exitCode"] for message in editor.received
            if message.get("event") == "exited"]
    if told or KERNEL >= (6, 15):
        assert told == [code if code >= 0 else 128 - code]


def test_stop_on_entry(some_python, program, editor):
    shell, asked = launch(editor, program=program, python=some_python, args=["breaks"],
                          stopOnEntry=True, console="externalTerminal")
    assert asked["kind"] == "external" and asked["cwd"] == os.getcwd()
    entry = editor.event("stopped")
    assert (entry["reason"], stack(editor, entry["threadId"])[0]["line"]) == ("entry", 1)
    editor.call("continue", threadId=entry["threadId"])
    shell.type("x\n")
    assert stack(editor, editor.event("stopped")["threadId"])[-1]["line"] in (5, 6)
    assert "hangdbg" not in shell.text
    editor.call("disconnect")  # it ends with its session
    assert shell.process.wait(PATIENCE) == -signal.SIGTERM
    assert editor.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("how", ["terminate", "vanish", "leave alone"])
def test_its_end_and_ours(how, newest_python, program, editor):
    shell, _ = launch(editor, program=program, python=newest_python)
    shell.expect("what? ")
    if how == "terminate":
        editor.call("terminate")
        ends_here(editor, shell, -signal.SIGTERM)
        editor.disconnect()
    elif how == "vanish":
        editor.process.stdin.close()
        assert shell.process.wait(PATIENCE) == -signal.SIGTERM
    else:
        editor.call("disconnect", terminateDebuggee=False)
        assert editor.process.wait(PATIENCE) == 0
        shell.type("on\n")
        shell.expect("said on")
        assert shell.process.wait(PATIENCE) == 3


def test_an_editor_without_a_terminal(newest_python, program, editor):
    editor.initialize()
    number = editor.request("launch", program=program, python=newest_python,
                            console="integratedTerminal")
    assert "no terminal" in editor.event("output", category="console")["output"]
    editor.call("configurationDone")
    assert editor.response(number)["success"]
    ends(editor, 1)  # there is nothing to read
    assert "EOFError" in printed(editor, "stderr")
    editor.disconnect()


def test_an_editor_that_does_not_start_it(newest_python, program, editor):
    """Then there is nothing, and another try is free."""
    editor.initialize(**CAN)
    wanted = dict(program=program, python=newest_python, console="integratedTerminal")
    number = editor.request("launch", **wanted)
    editor.answer(editor.question("runInTerminal"), refusal="no terminal today")
    assert "no terminal today" in editor.response(number)["body"]["error"]["format"]
    for arguments, words in (({"cwd": "/nowhere"}, "cannot go to /nowhere"),
                             ({"module": "os"}, "a program or a module")):
        with pytest.raises(Refused, match=words):
            editor.call("launch", **wanted, **arguments)
    number = editor.request("launch", **wanted)
    question = editor.question("runInTerminal")
    editor.answer(question)
    editor.request("disconnect")  # nobody waits for what does not come
    response = editor.response(number)
    assert "has not started" in response["body"]["error"]["format"]
    assert editor.at_end(2)
    late = Shell(question)  # finds nothing of ours any more
    assert late.process.wait(PATIENCE) == 2


@pytest.mark.slow
def test_an_editor_that_never_starts_it(newest_python, program, editor):
    editor.initialize(**CAN)
    number = editor.request("launch", program=program, python=newest_python,
                            console="integratedTerminal")
    editor.answer(editor.question("runInTerminal"))
    response = editor.response(number, seconds=40)
    assert "has not started" in response["body"]["error"]["format"]
    editor.disconnect()


def test_we_die_while_it_starts(newest_python, program, editor):
    """It does not wait for who is gone."""
    editor.initialize(**CAN)
    editor.request("launch", program=program, python=newest_python,
                   console="integratedTerminal")
    question = editor.question("runInTerminal")
    os.kill(editor.process.pid, signal.SIGKILL)
    editor.process.wait()
    assert Shell(question).process.wait(PATIENCE) == 2
