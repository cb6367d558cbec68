"""disconnect with suspendDebuggee: the program is stopped whole, and goes on as it was."""

import os
import signal
from pathlib import Path

from harness import start, until
from test_dap import editor, stack  # noqa: F401
from test_hold import call_of
from test_step import asleep_at


def state_of(target):
    return Path("/proc/%d/stat" % target.pid).read_text().rpartition(")")[2].split()[0]


def goes_on(target, before):
    """After the agent has left."""
    os.kill(target.pid, signal.SIGCONT)
    until("it goes on", lambda: state_of(target) in "SR")
    target.assert_as_before(before, arenas=4)


def test_of_what_is_only_looked_at(edge_python, editor):
    target = start("lock_main", edge_python)
    before = target.snapshot()
    editor.attach(target.pid)
    editor.call("disconnect", suspendDebuggee=True)
    assert "kill -CONT %d" % target.pid in editor.event("output", category="console")["output"]
    assert editor.process.wait(5) == 0
    until("it is stopped", lambda: state_of(target) == "T", 3)
    goes_on(target, before)
    assert target.finish()["answer"] == 41


def test_of_what_is_held(edge_python, editor):
    """Nothing of it runs until then."""
    target = start("stepped", edge_python)
    before = target.snapshot()
    thread = editor.attach(target.pid)["threadId"]
    editor.call("pause", threadId=thread)
    editor.event("stopped", description="held")
    editor.call("next", threadId=thread)
    target.go_on()
    editor.event("stopped", reason="step")
    assert stack(editor, thread)[0]["line"]
    editor.call("disconnect", suspendDebuggee=True)
    assert editor.process.wait(5) == 0
    until("it is stopped", lambda: state_of(target) == "T", 3)
    stands = call_of(target)
    assert stands == call_of(target) and not asleep_at(target, "second.acquire()")
    goes_on(target, before)
    until("the second wait", lambda: asleep_at(target, "second.acquire()"))
    assert target.finish()["total"] == 6
