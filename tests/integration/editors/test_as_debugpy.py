"""What debugpy has taught users of editors to expect. The rows are those of the table in
docs/editors.md, which says where we differ."""

import os
import stat
import subprocess
import time

import pytest

import processes
from dap_client import DapClient, Refused
from harness import AGENT_GONE, PATIENCE, start, until
from test_dap import returned
from test_launch import launch, printed


@pytest.fixture
def editor():
    with DapClient.stdio() as client:
        yield client


@pytest.fixture
def written(tmp_path, edge_python):
    """Launches a program of that text up to its first stop; (thread, its innermost frame)."""
    def run(editor, text, breakpoints=(), filters=(), **arguments):
        path = tmp_path / "program.py"
        path.write_text(text)
        launch(editor, breakpoints, filters, program=str(path), python=edge_python, **arguments)
        return path
    return run


def next_stop(editor):
    """(thread, its innermost frame), or None at the program's end."""
    name, body = first_of(editor, "stopped", "terminated")
    return None if name == "terminated" else (body, innermost(editor, body["threadId"]))


def first_of(editor, *names):
    end = time.monotonic() + PATIENCE
    while True:
        for event in editor.events:
            if event["event"] in names:
                editor.events.remove(event)
                return event["event"], event.get("body", {})
        editor._receive(end)


def is_alive(pid):
    return os.path.exists("/proc/%d" % pid) and processes.state(pid) != "Z"


def innermost(editor, thread):
    return editor.call("stackTrace", threadId=thread, levels=1)["stackFrames"][0]


def stops(editor):
    """Where it stops until it ends: (what, file, line)."""
    found = []
    while True:
        stop = next_stop(editor)
        if stop is None:
            return found
        body, frame = stop
        found.append((body.get("text"), frame["source"]["name"], frame["line"]))
        editor.call("continue", threadId=body["threadId"])


RAISES = """\
import json

def mine():
    try:
        json.loads("{")
    except ValueError:
        pass
    try:
        import nothing_of_that_name
    except ImportError:
        pass
mine()
"""


def test_raised_exceptions_of_ones_own_code(editor, written):
    written(editor, RAISES, filters=["raised", "uncaught"], justMyCode=True)
    assert stops(editor) == [("JSONDecodeError", "program.py", 5),
                             ("ModuleNotFoundError", "program.py", 9)]


def test_raised_exceptions_without_those_of_imports(editor, written):
    written(editor, "def f():\n    {}[1]\ntry:\n    f()\nexcept KeyError:\n    pass\n",
            filters=["raised"])
    assert stops(editor) == [("KeyError", "program.py", 2)]


@pytest.mark.parametrize("code, kind, stopped", [
    ("0", "raised", False), ("0", "uncaught", False), ("None", "uncaught", False),
    ("3", "uncaught", True), ("'text'", "raised", True)])
def test_an_exit_that_is_no_success(editor, written, code, kind, stopped):
    written(editor, "import sys\nsys.exit(%s)\n" % code, filters=[kind], justMyCode=True)
    assert stops(editor) == [("SystemExit", "program.py", 2)] * stopped


def test_no_debug(editor, written):
    written(editor, "x = 1\nprint('through')\n", breakpoints=[2], noDebug=True)
    editor.event("terminated")
    assert printed(editor, "stdout") == "through\n"


def test_a_breakpoint_on_a_function(editor, written, tmp_path, edge_python):
    path = tmp_path / "program.py"
    path.write_text("def f():\n    return 1\nf()\n")
    editor.initialize()
    number = editor.request("launch", program=str(path), python=edge_python)
    editor.event("initialized")
    editor.call("setFunctionBreakpoints", breakpoints=[{"name": "f"}])
    editor.call("configurationDone")
    assert editor.response(number)["success"]
    assert editor.event("stopped")["reason"] == "function breakpoint"


def test_formats_and_columns(editor, written):
    written(editor, "import array\ndef f():\n    x = 255\n    many = [16]\n    row = "
            "array.array('i', [1, 2])\n    return x\nf()\n", breakpoints=[6])
    thread = editor.event("stopped")["threadId"]
    frames = editor.call("stackTrace", threadId=thread,
                         format={"module": True, "line": True})["stackFrames"]
    assert [frame["name"] for frame in frames] == ["__main__.f : 6", "__main__.<module> : 7"]
    assert frames[0]["column"] == 1
    frame = frames[0]["id"]
    scope = editor.call("scopes", frameId=frame)["scopes"][0]["variablesReference"]
    values = {one["name"]: one for one in editor.call(
        "variables", variablesReference=scope, format={"hex": True})["variables"]}
    assert (values["x"]["value"], values["many"]["value"]) == ("0xff", "[0x10]")
    assert [one["value"] for one in editor.call(
        "variables", variablesReference=values["row"]["variablesReference"])["variables"]] == [
            "1", "2"]
    for context in ("watch", "repl"):
        assert editor.call("evaluate", expression="x", frameId=frame, context=context,
                           format={"hex": True})["result"] == "0xff"
        assert editor.call("evaluate", expression="x", frameId=frame,
                           context=context)["result"] == "255"


def test_a_relative_remote_root(editor, written, tmp_path):
    written(editor, "x = 1\nprint(x)\n", cwd=str(tmp_path), breakpoints=[2],
            pathMappings=[{"localRoot": "/elsewhere", "remoteRoot": "."}])
    body, frame = next_stop(editor)
    assert frame["source"]["path"] == "/elsewhere/program.py"
    assert "sourceReference" not in frame["source"]


def test_a_file_that_is_not_mapped(editor, written):
    path = written(editor, "x = 1\nprint(x)\n", breakpoints=[2],
                   pathMappings=[{"localRoot": "/elsewhere", "remoteRoot": "/nowhere"}])
    body, frame = next_stop(editor)
    reference = frame["source"]["sourceReference"]
    assert editor.call("source", sourceReference=reference)["content"] == path.read_text()
    assert editor.call("source", source={"path": str(path)},
                       sourceReference=0)["content"] == path.read_text()
    with pytest.raises(Refused):
        editor.call("source", source={"path": "/etc/passwd"}, sourceReference=0)


def test_a_long_traceback(editor, written):
    written(editor, "def f(n):\n    if n == 0:\n        raise ValueError\n    f(n - 1)\nf(149)\n",
            filters=["uncaught"])
    thread = editor.event("stopped")["threadId"]
    trace = editor.call("exceptionInfo", threadId=thread)["details"]["stackTrace"]
    assert trace.count(", in f") == 150 and "hangdbg" not in trace


def test_children_end_with_the_program(editor, written, tmp_path):
    child, pid = tmp_path / "child.py", tmp_path / "pid"
    child.write_text("import os, sys, time\nwith open(sys.argv[1], 'w') as file:\n"
                     "    file.write('%d.' % os.getpid())\ntime.sleep(1000)\n")
    written(editor, "import subprocess, sys\n"
            "subprocess.call([sys.executable] + sys.argv[1:])\n", args=[str(child), str(pid)])
    number = int(until("the child", lambda: pid.exists() and pid.read_text().endswith(".") and
                       pid.read_text()[:-1]))
    editor.call("terminate")
    editor.event("terminated")
    until("the child gone", lambda: not is_alive(number))


def test_python_by_a_script(editor, tmp_path, edge_python):
    script = tmp_path / "python.sh"
    script.write_text('#!/bin/sh\n%s "$@"\nexit $?\n' % edge_python)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    program = tmp_path / "program.py"
    program.write_text("import sys\nsys.exit(7)\n")
    launch(editor, [2], program=str(program), python=str(script))
    body, frame = next_stop(editor)
    assert frame["line"] == 2
    editor.call("continue", threadId=body["threadId"])
    assert editor.event("exited")["exitCode"] == 7


def test_no_such_thread_to_pause(editor, edge_python):
    target = start("frames", edge_python)
    editor.attach(target.pid)
    with pytest.raises(Refused, match="no Python thread 999999"):
        editor.call("pause", threadId=999999)
    target.finish()


WAITS = """\
import sys
sys.path.insert(0, sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
breakpoint()
import hangdbg
hangdbg.breakpoint()
print("there", flush=True)
sys.stdin.readline()
print(sys.breakpointhook is sys.__breakpointhook__, flush=True)
"""


def test_breakpoints_of_the_programs_own(editor, edge_python, tmp_path):
    """In an editor that has attached; the hook is the program's own again afterwards."""
    path = tmp_path / "program.py"
    path.write_text(WAITS)
    package = os.path.join(os.path.dirname(__file__), "..", "..", "..", "python")
    with subprocess.Popen([edge_python, str(path), package], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            editor.attach(program.pid)
            program.stdin.write("go\n")
            program.stdin.flush()
            for line in (5, 7):
                body, frame = next_stop(editor)
                assert (body["reason"], frame["line"]) == ("breakpoint", line)
                editor.call("continue", threadId=body["threadId"])
            assert program.stdout.readline() == "there\n"
            editor.disconnect()
            until("the agent gone", lambda: not processes.debugger_threads(program.pid),
                  AGENT_GONE)
            program.stdin.write("go\n")
            program.stdin.flush()
            assert program.stdout.readline() == "True\n"
        finally:
            program.kill()


def test_children_of_a_launched_program(editor, tmp_path, edge_python):
    program = tmp_path / "program.py"
    program.write_text("import subprocess, sys\nsubprocess.run([sys.executable, '-c', "
                       "'import time; time.sleep(1000)'])\n")
    editor.initialize(supportsStartDebuggingRequest=True)
    number = editor.request("launch", program=str(program), python=edge_python, subProcess=True)
    editor.event("initialized")
    editor.call("configurationDone")
    assert editor.response(number)["success"]
    question = editor.question("startDebugging")
    assert question["arguments"]["request"] == "attach"
    wanted = question["arguments"]["configuration"]
    assert is_alive(int(wanted["processId"])) and wanted["subProcess"] is True
    editor.answer(question)
    editor.call("disconnect")


CALLS = """\
def double(number):
    return number * 2
def more(number, by=1):
    return number + by
class Made:
    def value(self):
        return double(4)
made = Made()
a = double(more(2))
b = more(double(1), by=more(2)) + made.value()
c = [double(n) for n in (1, 2)]
d = sum(double(n) for n in (1, 2))
print(a, b, c, d)
"""


def test_out_of_a_call_and_into_the_next(python, editor, tmp_path):
    """A step out ends on the call's line, where what that still calls can be stepped into."""
    program = tmp_path / "program.py"
    program.write_text(CALLS)
    launch(editor, [9], program=str(program), python=python)
    thread = editor.event("stopped")["threadId"]
    for request, function, line, shown in (
            ("stepIn", "more", 4, {}), ("stepOut", "<module>", 9, {"(return) more": "3"}),
            ("stepIn", "double", 2, {}), ("stepOut", "<module>", 9, {"(return) double": "6"}),
            ("next", "<module>", 10, {})):
        editor.call(request, threadId=thread)
        editor.event("stopped", reason="step")
        frame = innermost(editor, thread)
        assert (frame["name"], frame["line"]) == (function, line), request
        assert returned(editor, thread) == shown
    result = editor.call("evaluate", expression="a * 7", frameId=frame["id"])["result"]
    assert result == "42"
    editor.call("continue", threadId=thread)
    assert next_stop(editor) is None


def test_values_of_what_a_line_calls(python, editor, tmp_path):
    """In their order; not of what these call in turn, nor of a generator's end."""
    program = tmp_path / "program.py"
    program.write_text(CALLS)
    launch(editor, [9], program=str(program), python=python)
    thread = editor.event("stopped")["threadId"]
    shown = []
    for _ in range(4):
        editor.call("next", threadId=thread)
        editor.event("stopped", reason="step")
        shown.append(list(returned(editor, thread).items()))
    assert shown[0] == [("(return) more", "3"), ("(return) double", "6")]
    assert shown[1] == [("(return) double", "2"), ("(return) more", "3"),
                        ("(return) more, call 2", "5"), ("(return) value", "8")]
    # A comprehension is a function of its own up to 3.11.
    assert shown[2] in ([("(return) double", "2"), ("(return) double, call 2", "4")],
                        [("(return) <listcomp>", "[2, 4]")])
    assert shown[3] == []
    editor.call("continue", threadId=thread)
    assert next_stop(editor) is None


def test_exception_options(edge_python, editor, written):
    """As Visual Studio sends them: a category, and names below it; what comes later decides."""
    everything = {"names": ["Python Exceptions"]}
    text = """\
def fails(kind):
    try:
        raise kind("x")
    except Exception:
        pass
fails(KeyError)
fails(ValueError)
fails(IndexError)
fails(UnicodeError)
raise OSError("end")
"""
    for options, lines in (
            ([{"path": [everything], "breakMode": "always"}], [3, 3, 3, 3, 10]),
            ([{"path": [everything], "breakMode": "always"},
              {"path": [everything, {"names": ["LookupError", "OSError"]}],
               "breakMode": "never"}], [3, 3]),
            ([{"path": [everything, {"names": ["ValueError"]}], "breakMode": "always"}], [3, 3]),
            ([{"path": [everything, {"negate": True, "names": ["ValueError"]}],
               "breakMode": "always"}], [3, 3, 10]),
            ([{"path": [everything], "breakMode": "unhandled"}], [10])):
        with DapClient.stdio() as client:
            path = written(client, text, [6])
            thread = client.event("stopped")["threadId"]
            answers = client.call("setExceptionBreakpoints", filters=[],
                                  exceptionOptions=options)["breakpoints"]
            assert [one["verified"] for one in answers] == [True] * len(options)
            assert len({one["id"] for one in answers}) == len(options)
            assert all("is traced" in one.get("message", "is traced") for one in answers)
            client.call("setBreakpoints", source={"path": str(path)}, breakpoints=[])
            client.call("continue", threadId=thread)
            assert [line for _, _, line in stops(client)] == lines, options
