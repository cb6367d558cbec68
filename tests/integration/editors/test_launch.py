"""`launch`: a program that an editor has us start."""

import os
import signal

import pytest

import harness
import processes
from dap_client import DapClient, Refused
from dap_server import Server
from harness import PATIENCE
from test_dap import stack

PROGRAM = '''\
import os
import sys

def work(words):
    total = 0
    for number in range(3):
        total += number
    print("total", total, words, os.environ.get("COLOUR"), os.environ.get("HOME"), os.getcwd())
    sys.stderr.write("\\u00fcber\\n")
    return total

if "waits" in sys.argv:
    os.write(1, b"waits\\n")
    sys.stdin.read()
    import time
    time.sleep(1000)
result = work(sys.argv[1:])
if "raises" in sys.argv:
    raise ValueError("enough")
sys.exit(result)
'''


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.fixture
def editor():
    with DapClient.stdio() as client:
        yield client


def launch(editor, breakpoints=(), filters=(), **arguments):
    """Up to the program's start; the pid."""
    editor.initialize()
    number = editor.request("launch", **arguments)
    editor.event("initialized")
    if breakpoints:
        answer = editor.call("setBreakpoints", source={"path": arguments["program"]},
                             breakpoints=[{"line": line} for line in breakpoints])
        assert len(answer["breakpoints"]) == len(breakpoints)
    if filters:
        editor.call("setExceptionBreakpoints", filters=list(filters))
    editor.call("configurationDone")
    response = editor.response(number)
    if not response["success"]:
        raise Refused(response)
    process = editor.event("process")
    assert process["startMethod"] == "launch"
    return process["systemProcessId"]


def environment(pid):
    with open("/proc/%d/environ" % pid, "rb") as file:
        return file.read().split(b"\0")


def printed(editor, category):
    """All that came, once the program has ended."""
    return "".join(message["body"]["output"] for message in editor.received
                   if message.get("event") == "output" and
                   message["body"].get("category") == category)


def ends(editor, code):
    assert editor.event("exited")["exitCode"] == code
    editor.event("terminated")


def test_to_its_end(some_python, program, editor, tmp_path):
    pid = launch(editor, program=program, args=["a b", "c"], python=some_python,
                 env={"COLOUR": "red", "HOME": None}, cwd=str(tmp_path))
    ends(editor, 3)
    assert printed(editor, "stdout") == "total 3 ['a b', 'c'] red None %s\n" % tmp_path
    assert printed(editor, "stderr") == "\u00fcber\n"
    editor.disconnect()
    assert not os.path.exists("/proc/%d" % pid)


def test_what_is_not_for_it(newest_python, program, monkeypatch):
    """Neither the server's token nor its descriptors: an editor waits for the end of the
    pipes that it has us on."""
    monkeypatch.setenv("HANGDBG_TOKEN", "secret")
    with DapClient.stdio() as editor:
        pid = launch(editor, program=program, python=newest_python, args=["waits"])
        assert b"HANGDBG_TOKEN=secret" in environment(editor.process.pid)
        assert not [one for one in environment(pid) if one.startswith(b"HANGDBG_TOKEN")]
        ours = {os.readlink("/proc/%d/fd/%d" % (editor.process.pid, fd)) for fd in range(3)}
        its = {os.readlink(fd.path) for fd in os.scandir("/proc/%d/fd" % pid)}
        assert len(its) > 3 and not ours & its, (ours, its)
        editor.disconnect()


def test_stops(some_python, program, editor):
    """At the first line, and at a breakpoint that was set before it."""
    launch(editor, program=program, python=some_python, stopOnEntry=True, breakpoints=[7])
    entry = editor.event("stopped")
    assert entry["reason"] == "entry"
    frame, = stack(editor, entry["threadId"])
    assert (frame["name"], frame["line"], frame["source"]["path"]) == ("<module>", 1, program)
    thread = entry["threadId"]
    for number in range(3):
        editor.call("continue", threadId=thread)
        assert editor.event("stopped")["reason"] == "breakpoint"
        frames = stack(editor, thread)
        assert [(frame["name"], frame["line"]) for frame in frames] == [
            ("work", 7), ("<module>", 17)]
        assert editor.call("evaluate", expression="number", frameId=frames[0]["id"])[
            "result"] == str(number)
    editor.call("setVariable", name="total", value="40", variablesReference=editor.call(
        "scopes", frameId=frames[0]["id"])["scopes"][0]["variablesReference"])
    editor.call("continue", threadId=thread)
    ends(editor, 42)
    editor.disconnect()


LIBRARY = """\
import json

def mine(value):
    return str(value)

text = json.dumps(
    {1: object}, indent=1, default=mine)
print("done")
"""


@pytest.mark.parametrize("only_mine", [True, False])
def test_just_my_code(only_mine, some_python, editor, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(LIBRARY)
    launch(editor, program=str(program), python=some_python, breakpoints=[6],
           justMyCode=only_mine)
    thread = editor.event("stopped")["threadId"]
    while True:  # a call may have more than one line
        editor.call("stepIn", threadId=thread)
        assert editor.event("stopped")["threadId"] == thread
        frames = stack(editor, thread)
        if frames[0]["name"] != "<module>":
            break
    hints = {frame["name"]: frame.get("presentationHint") for frame in frames}
    if not only_mine:
        assert frames[0]["name"] == "dumps" and set(hints.values()) == {None}
    else:
        assert frames[0]["name"] == "mine" and len(frames) > 3
        assert hints["mine"] is None and hints["<module>"] is None and hints["dumps"] == "subtle"
        editor.call("stepOut", threadId=thread)
        editor.event("stopped")
        assert stack(editor, thread)[0]["name"] == "<module>"
    editor.call("continue", threadId=thread)
    ends(editor, 0)
    editor.disconnect()


def test_an_exception_that_nobody_catches(some_python, program, editor):
    launch(editor, program=program, python=some_python, args=["raises"], filters=["uncaught"])
    stopped = editor.event("stopped")
    assert stopped["reason"] == "exception" and "enough" in stopped["description"]
    assert stack(editor, stopped["threadId"])[0]["line"] == 19
    assert editor.call("exceptionInfo", threadId=stopped["threadId"])["exceptionId"] == "ValueError"
    editor.call("continue", threadId=stopped["threadId"])
    ends(editor, 1)
    trace = printed(editor, "stderr")
    assert "line 19, in <module>" in trace and "hangdbg" not in trace, trace
    editor.disconnect()


def test_module(newest_python, editor, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text("import sys\nprint(sys.argv[1:], __name__)\n")
    launch(editor, module="package", args=["-x"], python=newest_python, cwd=str(tmp_path))
    ends(editor, 0)
    assert printed(editor, "stdout") == "['-x'] __main__\n"
    editor.disconnect()


def test_terminate(newest_python, program, editor):
    launch(editor, program=program, python=newest_python, args=["waits"])
    editor.event("output", category="stdout", output="waits\n")
    assert editor.event("capabilities")["capabilities"]["supportsTerminateRequest"]
    editor.call("terminate")
    ends(editor, 128 + signal.SIGTERM)
    editor.disconnect()


@pytest.mark.parametrize("how", ["disconnect", "vanish", "leave alone"])
def test_the_editor_leaves(how, newest_python, program, editor):
    pid = launch(editor, program=program, python=newest_python, args=["waits"])
    editor.event("output", category="stdout", output="waits\n")
    if how == "vanish":
        editor.process.stdin.close()
    else:
        editor.call("disconnect", terminateDebuggee=how == "disconnect")
    assert editor.process.wait(PATIENCE) == 0
    if how == "leave alone":
        assert processes.threads(pid)
        os.kill(pid, signal.SIGKILL)
    harness.until("its end", lambda: not os.path.exists("/proc/%d" % pid))


PRINTS = """\
import os, sys, time
while True:
    for _ in range(100):
        print("x" * 1000, flush=True)
    with open(sys.argv[1], "a") as file:
        file.write("still here\\n")
    time.sleep(0.01)
"""


def test_left_alone_by_a_server(newest_python, tmp_path):
    """It prints on, to nobody; when it ends, nothing of it is left."""
    server = Server("unix:%s/s" % tmp_path)
    program, log = tmp_path / "program.py", tmp_path / "log"
    program.write_text(PRINTS)
    editor = server.editor()
    pid = launch(editor, program=str(program), python=newest_python, args=[str(log)])
    harness.until("it runs", log.exists)
    editor.call("disconnect", terminateDebuggee=False)
    assert editor.at_end(2)
    size = log.stat().st_size
    harness.until("it prints on", lambda: log.stat().st_size > size + 100)
    second = server.editor()
    other = launch(second, program=str(program), python=newest_python, args=[str(log)])
    os.kill(pid, signal.SIGKILL)
    harness.until("its end", lambda: not os.path.exists("/proc/%d" % pid))
    assert os.path.exists("/proc/%d" % other)
    server.stop()
    assert not os.path.exists("/proc/%d" % other)


def test_a_server_that_ends_leaves_it_alone(newest_python, program, tmp_path):
    server = Server("unix:%s/s" % tmp_path)
    editor = server.editor()
    pid = launch(editor, program=program, python=newest_python, args=["waits"])
    editor.event("output", category="stdout", output="waits\n")
    editor.call("disconnect", terminateDebuggee=False)
    assert editor.at_end(2)
    server.stop()
    assert processes.threads(pid)
    os.kill(pid, signal.SIGKILL)


def test_what_cannot_be_launched(newest_python, program, editor, tmp_path):
    editor.initialize()
    for arguments, words in (
            ({}, "wants a program or a module"),
            ({"program": program, "module": "os"}, "wants a program or a module"),
            ({"program": program, "python": "/nowhere/python"}, "cannot run /nowhere/python(.|\n)*\"python\": "),
            ({"program": program, "cwd": "/nowhere"}, "cannot go to /nowhere"),
            ({"program": program, "python": "/bin/true"}, "ended before its first line"),
            ({"program": program, "args": 3}, r"\(root\).arguments.args")):
        with pytest.raises(Refused, match=words):
            editor.call("launch", **{"python": newest_python, **arguments})
    number = editor.request("launch", program=str(tmp_path / "none.py"), python=newest_python)
    assert editor.response(number)["success"]
    editor.call("configurationDone")
    ends(editor, 2)
    assert "can't open file" in printed(editor, "stderr")
    with pytest.raises(Refused, match="attached already"):
        editor.call("launch", program=program, python=newest_python)
    editor.disconnect()
