"""Processes that an editor's target starts: the editor is asked to open a session for
each."""

import pytest

from dap_client import DapClient, Refused
from harness import PATIENCE, start, until
from test_dap import stack

CAN = {"supportsStartDebuggingRequest": True}


def attached(python, **arguments):
    target = start("starter", python)
    editor = DapClient.stdio()
    editor.attach(target.pid, can=CAN, **arguments)
    return target, editor


def told(target, order):
    target.process.stdin.write(order.encode() + b"\n")
    target.process.stdin.flush()


def test_a_session_for_a_fork(python):
    a_session("fork", 42, python)


@pytest.mark.parametrize("order", ["python", "shell"])
def test_a_session_for_another_program(order, newest_python):
    a_session(order, 41, newest_python)


def a_session(order, answer, python):
    target, editor = attached(python, subProcess=True, justMyCode=False)
    told(target, order)
    started = target.read_line(PATIENCE)
    question = editor.question("startDebugging")
    wanted = question["arguments"]["configuration"]
    pid = int(wanted["processId"])
    assert pid == started or order == "shell"
    assert question["arguments"]["request"] == "attach" and "type" not in wanted
    assert wanted["name"] == "Process %d" % pid
    assert wanted["subProcess"] is True and wanted["justMyCode"] is False

    child = DapClient.stdio()
    if order == "shell":
        child.attach(wanted.pop("processId"), can=CAN, **wanted)
    else:
        configured(child, wanted)
    editor.answer(question)
    until("it answers", lambda: answers(child, answer))
    child.disconnect()
    editor.disconnect()
    assert target.finish()["ends"] == [answer if order == "fork" else 0]


def configured(child, wanted):
    """One that has waited for that: no thread of it is shown."""
    child.initialize(**CAN)
    number = child.request("attach", **wanted)
    child.event("initialized")
    child.call("configurationDone")
    assert child.response(number)["success"]


def answers(child, answer):
    """Whether a function of it has come to the answer."""
    for thread in child.call("threads")["threads"]:
        try:
            for frame in stack(child, thread["id"]):
                if child.call("evaluate", expression="answer == %d" % answer,
                              frameId=frame["id"])["result"] == "True":
                    return True
        except Refused:  # there is none yet, or it has gone on
            pass
    return False


def test_exec_into_python(newest_python):
    target, editor = attached(newest_python, subProcess=True)
    told(target, "exec")
    question = editor.question("startDebugging")
    assert int(question["arguments"]["configuration"]["processId"]) == target.pid
    editor.answer(question)
    editor.event("terminated")
    with DapClient.stdio() as child:
        configured(child, {"processId": target.pid})
        until("it answers", lambda: answers(child, 41))
        child.disconnect()
    target.process.stdin.close()
    assert target.process.wait(5) == 0


def test_what_is_not_asked_for(newest_python):
    """No session for a program that is not Python, and none at all without subProcess."""
    target, editor = attached(newest_python, subProcess=True)
    told(target, "cat")
    target.read_line(PATIENCE)
    told(target, "python")
    pid = target.read_line(PATIENCE)
    question = editor.question("startDebugging")
    assert int(question["arguments"]["configuration"]["processId"]) == pid
    editor.answer(question, "no room for it")
    assert "no room for it" in editor.event("output")["output"]
    editor.disconnect()
    assert target.finish()["ends"] == [0, 0]

    target, editor = attached(newest_python)
    told(target, "python")
    target.read_line(PATIENCE)
    told(target, "exec")
    editor.event("terminated")
    assert not editor.questions
    target.process.stdin.close()
    target.process.wait(5)


def test_the_editor_leaves_in_between(newest_python):
    target, editor = attached(newest_python, subProcess=True)
    told(target, "python")
    editor.question("startDebugging")
    editor.disconnect()
    target.read_line(PATIENCE)
    assert target.finish()["ends"] == [0]


FORKS = """\
import os
child = os.fork()
if child == 0:
    first = 41
    os._exit(first + 1)
print("child", os.waitpid(child, 0)[1] >> 8)
"""


@pytest.fixture
def launched(tmp_path):
    def launch(editor, text, python):
        program = tmp_path / "program.py"
        program.write_text(text)
        editor.initialize(**CAN)
        number = editor.request("launch", program=str(program), python=python, subProcess=True)
        editor.event("initialized")
        editor.call("configurationDone")
        assert editor.response(number)["success"]
        return str(program)
    return launch


def test_a_fork_of_a_launched_program_waits_for_its_breakpoints(python, launched):
    with DapClient.stdio() as editor, DapClient.stdio() as child:
        program = launched(editor, FORKS, python)
        question = editor.question("startDebugging")
        child.initialize(**CAN)
        number = child.request("attach", **question["arguments"]["configuration"])
        child.event("initialized")
        child.call("setBreakpoints", source={"path": program}, breakpoints=[{"line": 4}])
        child.call("configurationDone")
        assert child.response(number)["success"]
        editor.answer(question)
        stopped = child.event("stopped", reason="breakpoint")
        assert stack(child, stopped["threadId"])[0]["line"] == 4
        child.call("continue", threadId=stopped["threadId"])
        child.event("terminated")
        editor.event("terminated")
        assert "child 42" in printed(editor)


def printed(editor):
    return "".join(event["body"]["output"] for event in editor.events
                   if event["event"] == "output" and event["body"]["category"] == "stdout")


EXECS = """\
import os, subprocess, sys, time
began = time.monotonic()
def before_exec():  # so long it would have been held
    os.write(1, b"held " if time.monotonic() - began > 9 else b"at once ")
print("code", subprocess.call([sys.executable, "-c", "raise SystemExit(3)"],
                              preexec_fn=before_exec))
"""


def test_what_becomes_another_program_is_not_held(newest_python, launched):
    """Also if Python runs in between."""
    with DapClient.stdio() as editor:
        launched(editor, EXECS, newest_python)
        editor.event("terminated")
        said = printed(editor)
        assert "at once" in said and "code 3" in said, said
