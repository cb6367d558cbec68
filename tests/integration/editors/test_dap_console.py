"""pdb's commands in an editor's console."""

import linecache

import pytest

from dap_client import Refused
from harness import in_targets, start
from test_dap import editor, stack  # noqa: F401


def test_commands_in_the_console(edge_python, editor):
    target = start("loop_beside", edge_python)
    thread = editor.attach(target.pid)["threadId"]
    frames = stack(editor, thread)
    inner, outer = frames[0], frames[3]
    assert outer["name"] == "start_work"

    def typed(line, frame=outer):
        return editor.call("evaluate", expression=line, frameId=frame["id"],
                           context="repl")["result"]

    assert typed("p name") == typed("name") == typed("!name") == "'outermost'"
    assert typed("pp {name: 1}") == "{'outermost': 1}"
    assert typed("whatis name") == "<class 'str'>"
    assert typed("a").startswith("lock = <")
    where = typed("w").splitlines()
    assert where[-1] == "-> lock.acquire()" and where[-2].startswith("  ")
    assert [line for line in where if line.startswith("> ")] == [
        "> %s(%d)start_work()" % (outer["source"]["path"], outer["line"])]
    assert "%3d  ->\t    return name, load(lock)" % outer["line"] in typed("l").splitlines()
    assert typed("l 1, 2").startswith('  1    \t"""Main hangs')
    assert typed("ll").splitlines()[0].endswith("def start_work(lock):")
    # What a name could mean, or a sum, is Python.
    assert typed("n = 3") == "" and typed("n") == "3" and typed("n + 1") == "4"
    for line, words in (("up", "call stack"), ("b 12", "beside the line"),
                        ("p nothing", "not defined")):
        with pytest.raises(Refused, match=words):
            typed(line)
    with pytest.raises(Refused, match="choose one in the call stack"):
        editor.call("evaluate", expression="w", context="repl")
    assert "whatis" in typed("h")
    editor.disconnect()
    assert target.finish()["exact"]


def test_steps_in_the_console(newest_python, editor):
    target = start("loop_beside", newest_python)
    editor.attach(target.pid)
    path = str(in_targets("loop_beside.py"))
    number = next(number for number, line in enumerate(linecache.getlines(path), 1)
                  if "check(turns, text)" in line)
    source = {"path": path}
    editor.call("setBreakpoints", source=source, breakpoints=[{"line": number}])
    worker = editor.event("stopped", reason="breakpoint")["threadId"]
    editor.call("setBreakpoints", source=source, breakpoints=[])
    for line, function in (("s", "check"), ("unt", "check"), ("r", "loop"), ("n", "loop")):
        editor.call("evaluate", expression=line, context="repl",
                    frameId=stack(editor, worker)[0]["id"])
        assert editor.event("continued")["threadId"] == worker
        assert editor.event("stopped")["threadId"] == worker
        assert stack(editor, worker)[0]["name"] == function
    editor.call("evaluate", expression="c", context="repl",
                frameId=stack(editor, worker)[0]["id"])
    assert editor.event("continued")["threadId"] == worker
    editor.disconnect()
    assert target.finish()["exact"]


def test_an_exception_of_ones_own(edge_python, editor):
    target = start("raised", edge_python)
    thread = editor.attach(target.pid)["threadId"]

    def typed(line):
        return editor.call("evaluate", expression=line, context="repl",
                           frameId=stack(editor, thread)[0]["id"])["result"]

    with pytest.raises(Refused, match="not suspended"):
        typed("raise TimeoutError('enough')")
    editor.call("pause", threadId=thread)
    assert editor.event("stopped")["threadId"] == thread
    with pytest.raises(Refused, match="BaseException"):
        typed("raise 3")
    assert typed("raise TimeoutError('enough')") == "it is raised now"
    assert editor.event("continued")["threadId"] == thread
    editor.disconnect()
    assert target.finish()["caught"] == ["TimeoutError: enough"]
