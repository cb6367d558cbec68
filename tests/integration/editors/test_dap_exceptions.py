"""An editor stops where an exception is raised, or caught by nobody."""

import pytest

import interpreters
import processes
from dap_client import DapClient, Refused
from harness import hangdbg, start, until
from test_dap_breakpoints import editor, go_on, top, value  # noqa: F401


@pytest.fixture
def failing(python, editor, tmp_path):
    """A target; a function that has a thread of it fail; where that will be."""
    target = start("loop_beside", python)
    (tmp_path / "failing.py").write_text(FAILING)
    hung = editor.attach(target.pid)["threadId"]
    editor.call("evaluate", frameId=top(editor, hung)["id"], context="repl", expression=(
        "sys.path.append(%r); import failing; threading.excepthook = lambda *_: None"
        % str(tmp_path)))

    def fail():
        editor.call("evaluate", frameId=top(editor, hung)["id"], context="repl", expression=(
            "threading.Thread(target=failing.fail, args=('x',)).start()"))
    return target, fail


FAILING = """
def fail(key):
    try:
        return {}[key]
    except KeyError as error:
        raise ValueError("not " + key) from error
"""


def test_exceptions(failing, editor, python):
    target, fail = failing
    answers = editor.call("setExceptionBreakpoints", filters=[], filterOptions=[
        {"filterId": "raised", "condition": "KeyError"}])["breakpoints"]
    assert [answer["verified"] for answer in answers] == [True]
    costs = interpreters.minor(python) < 12
    assert ("all that runs is traced" in answers[0].get("message", "")) == costs
    fail()
    stopped = editor.event("stopped", reason="exception")
    thread = stopped["threadId"]
    assert (stopped["text"], stopped["description"]) == ("KeyError", "KeyError: 'x'")
    assert top(editor, thread)["name"] == "fail" and value(editor, thread, "key") == "'x'"
    about = editor.call("exceptionInfo", threadId=thread)
    assert (about["exceptionId"], about["breakMode"]) == ("KeyError", "always")
    assert editor.call("setExceptionBreakpoints", filters=[]) == {"breakpoints": []}
    ends(target, editor, thread)

    for kind, mode in (("userUnhandled", "userUnhandled"), ("uncaught", "unhandled")):
        editor.call("setExceptionBreakpoints", filters=[kind])
        fail()
        thread = editor.event("stopped", reason="exception")["threadId"]
        about = editor.call("exceptionInfo", threadId=thread)
        assert (about["exceptionId"], about["description"]) == ("ValueError", "not x")
        assert about["breakMode"] == mode
        inner, = about["details"]["innerException"]
        assert inner["typeName"] == "KeyError" and "fail" in inner["stackTrace"]
        editor.call("setExceptionBreakpoints", filters=[])
        ends(target, editor, thread)
    hung, = [one["id"] for one in editor.call("threads")["threads"]
             if one["name"] == "MainThread"]
    with pytest.raises(Refused, match="has not stopped for an exception"):
        editor.call("exceptionInfo", threadId=hung)
    wrong, syntax = editor.call("setExceptionBreakpoints", filters=["all"], filterOptions=[
        {"filterId": "raised", "condition": "= KeyError"}])["breakpoints"]
    assert not wrong["verified"] and "no filter all" in wrong["message"]
    assert not syntax["verified"] and "invalid syntax" in syntax["message"]
    editor.disconnect()
    target.noise = target.stderr()  # 3.7 has no excepthook to be quiet in
    assert target.finish()["exact"]


def ends(target, editor, thread):
    """It goes on, and its exception meets no other filter."""
    go_on(editor, thread)
    until("the thread's end", lambda: thread not in processes.threads(target.pid))


@pytest.mark.parametrize("kind, vanishes", [
    ("uncaught", False), ("uncaught", True), ("raised", True)])
def test_exceptions_of_the_main_thread(kind, vanishes, python):
    target = start("told", python)
    with DapClient.stdio() as editor:
        main = editor.attach(target.pid)["threadId"]
        answer, = editor.call("setExceptionBreakpoints", filters=[kind])["breakpoints"]
        assert answer["verified"]
        target.process.stdin.write(b"1 / 0\n")
        target.process.stdin.flush()
        stopped = editor.event("stopped", reason="exception")
        assert (stopped["threadId"], stopped["text"]) == (main, "ZeroDivisionError")
        frames = editor.call("stackTrace", threadId=main)["stackFrames"]
        assert [frame["name"] for frame in frames][1:3] == ["listen", "<module>"]
        assert editor.call("evaluate", frameId=frames[1]["id"], expression="line",
                           context="watch")["result"] == repr("1 / 0\n")
        if vanishes:
            editor.process.kill()
        else:
            editor.disconnect()
    until("told of", lambda: "ZeroDivisionError" in target.stderr(), seconds=1)
    own = "[sys.excepthook is sys.__excepthook__ for sys in [__import__('sys')]][0]"
    assert hangdbg("eval", target.pid, own).out.strip() == "True"
