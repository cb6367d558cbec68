"""Data breakpoints: a thread that an editor has suspended stops where a value changes."""

import pytest

from harness import NORMAL_EXIT, PATIENCE, start
from test_dap_breakpoints import (  # noqa: F401
    editor, go_on, hit, line_at, line_of, set_breakpoints, top, value)


def watchable(editor, thread, scope, name):
    """The dataId of a variable in a scope of the thread's innermost frame."""
    scopes = editor.call("scopes", frameId=top(editor, thread)["id"])["scopes"]
    reference, = [one["variablesReference"] for one in scopes if one["name"] == scope]
    about = editor.call("dataBreakpointInfo", variablesReference=reference, name=name)
    assert about["accessTypes"] == ["write"] and about["canPersist"] is False
    return about["dataId"]


def watch(editor, *breakpoints):
    return editor.call("setDataBreakpoints", breakpoints=list(breakpoints))["breakpoints"]


def changed(editor, data, thread):
    stopped = editor.event("stopped", reason="data breakpoint")
    assert (stopped["threadId"], stopped["hitBreakpointIds"]) == (thread, [data["id"]])
    return stopped["description"]


def ends(target):
    """One that continues already."""
    result = target.read_line(PATIENCE)
    assert target.process.wait(PATIENCE) == NORMAL_EXIT, target.stderr()
    return result


def test_a_variable_changes(python, editor):  # noqa: F811
    target = start("loop_beside", python)
    editor.attach(target.pid)
    breakpoint, = set_breakpoints(editor, {"line": line_of("check(turns, text)")})
    worker = hit(editor, breakpoint)
    set_breakpoints(editor)
    turns = int(value(editor, worker, "turns"))
    id = watchable(editor, worker, "Locals", "turns")
    data, = watch(editor, {"dataId": id, "accessType": "write"})
    assert data["verified"]
    for _ in range(3):
        go_on(editor, worker)
        turns += 1
        assert changed(editor, data, worker) == "turns = %d, was %d" % (turns, turns - 1)
        assert line_at(editor, worker) == "text = str(turns)"
    # It is no matter of steps.
    editor.call("next", threadId=worker)
    assert editor.event("stopped", threadId=worker)["reason"] == "step"
    some, = watch(editor, {"dataId": id, "condition": "turns % 5 == 0", "hitCondition": "2"})
    assert some["verified"] and some["id"] != data["id"]
    go_on(editor, worker)
    fifth = turns - turns % 5 + 10
    assert changed(editor, some, worker) == "turns = %d, was %d" % (fifth, fifth - 1)
    # The thread goes on, and what it went on for is taken back meanwhile.
    wrong, every = watch(editor, {"dataId": id, "condition": "= 3"}, {"dataId": id})
    assert not wrong["verified"] and "SyntaxError" in wrong["message"]
    assert watch(editor, {"dataId": watchable(editor, worker, "Globals", "over")})[0]["verified"]
    go_on(editor, worker)
    assert watch(editor) == []
    breakpoint, = set_breakpoints(editor, {"line": line_of("check(turns, text)")})
    assert hit(editor, breakpoint) == worker
    set_breakpoints(editor)
    over, = watch(editor, {"dataId": watchable(editor, worker, "Globals", "over")})
    go_on(editor, worker)
    target.go_on()
    assert changed(editor, over, worker) == "over = [True], was []"
    editor.disconnect()
    assert ends(target)["exact"]


def test_in_callers_and_to_the_end(python, editor):  # noqa: F811
    target = start("stepped", python)
    main = editor.attach(target.pid)["threadId"]
    asks = {"name": "answer", "frameId": top(editor, main)["id"]}
    about = editor.call("dataBreakpointInfo", **asks)
    assert about["dataId"] is None and "pause it first" in about["description"]
    editor.call("pause", threadId=main)
    editor.event("stopped", reason="pause")
    frame = editor.call("stackTrace", threadId=main)["stackFrames"][0]["id"]
    ids = [editor.call("dataBreakpointInfo", name=name, frameId=frame)["dataId"]
           for name in ("answer", "[total]")]
    answer, total = watch(editor, *[{"dataId": id} for id in ids])
    go_on(editor, main)
    target.go_on()
    assert changed(editor, answer, main) == "answer = 42, was 41"
    inner, = editor.call("setFunctionBreakpoints", breakpoints=[{"name": "twice"}])["breakpoints"]
    go_on(editor, main)
    assert hit(editor, inner, "function breakpoint") == main
    editor.call("setFunctionBreakpoints", breakpoints=[])
    caller = editor.call("stackTrace", threadId=main)["stackFrames"][1]["id"]
    id = editor.call("dataBreakpointInfo", name="total", frameId=caller)["dataId"]
    own, = watch(editor, {"dataId": id})
    for shown in ("total = 2, was 0", "total = 6, was 2"):
        go_on(editor, main)
        assert changed(editor, own, main) == shown
    go_on(editor, main)
    gone = editor.event("breakpoint")
    assert gone["reason"] == "changed" and gone["breakpoint"]["id"] == own["id"]
    assert not gone["breakpoint"]["verified"] and "returned" in gone["breakpoint"]["message"]
    assert changed(editor, own, main) == "total = 6, and its function has returned"
    again, whole = watch(editor, {"dataId": id}, {"dataId": ids[1]})
    assert not again["verified"] and whole["verified"]
    editor.disconnect()
    assert target.finish()["total"] == 6


@pytest.mark.parametrize("wanted", ["nonsense", "7", "9999 x", ""])
def test_no_such_data(edge_python, editor, wanted):  # noqa: F811
    target = start("loop_beside", edge_python)
    editor.attach(target.pid)
    data, = watch(editor, {"dataId": wanted})
    assert not data["verified"] and data["message"]
    editor.disconnect()
    target.finish()
