"""Breakpoints of an editor: set while one thread hangs, hit by others that run."""

import linecache

import pytest

import harness
from dap_client import DapClient, Refused
from harness import NORMAL_EXIT, PATIENCE, in_targets, start, until

FILE = str(in_targets("loop_beside.py"))
SLEEPS = ("clock_nanosleep", "select", "pselect6")


@pytest.fixture
def editor():
    with DapClient.stdio() as client:
        yield client


def line_of(text):
    number, = [number for number, line in enumerate(linecache.getlines(FILE), 1)
               if line.strip() == text]
    return number


def set_breakpoints(editor, *breakpoints, path=FILE):
    return editor.call("setBreakpoints", source={"path": path},
                       breakpoints=list(breakpoints))["breakpoints"]


def hit(editor, breakpoint, reason="breakpoint"):
    """The thread that has come to a breakpoint."""
    stopped = editor.event("stopped", reason=reason)
    assert stopped["hitBreakpointIds"] == [breakpoint["id"]]
    assert stopped["allThreadsStopped"] is False
    return stopped["threadId"]


def top(editor, thread):
    return editor.call("stackTrace", threadId=thread, levels=1)["stackFrames"][0]


def line_at(editor, thread):
    frame = top(editor, thread)
    return linecache.getline(frame["source"]["path"], frame["line"]).strip()


def value(editor, thread, expression):
    return editor.call("evaluate", expression=expression, frameId=top(editor, thread)["id"],
                       context="watch")["result"]


def go_on(editor, thread):
    assert editor.call("continue", threadId=thread) == {"allThreadsContinued": False}


def loops(target, thread):
    """Whether that thread sleeps in its own call, not in ours."""
    return harness.processes.thread_activity(target.pid, thread).syscall in SLEEPS


# After it has told its client that it stands, a thread stands only half a second later.
LATE = """[names.__setitem__("tell", lambda session, event, tell=names["tell"], **body: (
    tell(session, event, **body), event == "stopped" and __import__("time").sleep(0.5)))
 for names in [__import__("sys")._getframe(back).f_globals for back in range(1, 5)]
 if "keep_standing" in names][:1]"""


def test_asked_before_it_stands(edge_python, editor):
    """Where the machine is busy, a client is quicker than the thread that has stopped."""
    target = start("loop_beside", edge_python)
    editor.attach(target.pid)
    breakpoint, = set_breakpoints(editor, {"line": line_of("check(turns, text)")})
    thread = hit(editor, breakpoint)
    assert value(editor, thread, LATE) == "[None]"
    for _ in range(3):
        before = int(value(editor, thread, "turns"))
        go_on(editor, thread)
        assert hit(editor, breakpoint) == thread
        assert int(value(editor, thread, "turns")) == before + 1
    editor.disconnect()
    target.finish()


def test_beside_the_thread_that_hangs(python, editor):
    target = start("loop_beside", python)
    before = target.snapshot()
    hung = editor.attach(target.pid)["threadId"]
    assert hung == target.tid
    three_up = editor.call("stackTrace", threadId=hung)["stackFrames"][3]
    assert editor.call("evaluate", expression="name", frameId=three_up["id"],
                       context="watch")["result"] == "'outermost'"

    called, = set_breakpoints(editor, dict(line=line_of("check(turns, text)")))
    assert called["verified"] and called["line"] == line_of("check(turns, text)")
    assert called["source"]["path"] == FILE
    worker = hit(editor, called)
    assert worker != hung and line_at(editor, worker) == "check(turns, text)"
    turns = int(value(editor, worker, "turns"))
    for request, line in (("stepIn", "doubled = double(turns)"),
                          ("next", "assert doubled == 2 * int(text)"),
                          ("stepOut", "check(turns, text)"),
                          ("next", "time.sleep(0.001)")):
        editor.call(request, threadId=worker)
        assert editor.event("stopped", threadId=worker)["reason"] == "step"
        assert line_at(editor, worker) == line
    scope = editor.call("scopes", frameId=top(editor, worker)["id"])["scopes"][0]
    names = {one["name"]: one["value"] for one in editor.call(
        "variables", variablesReference=scope["variablesReference"])["variables"]}
    assert (names["turns"], names["bonus"]) == (str(turns), "0")
    assert editor.call("setVariable", variablesReference=scope["variablesReference"],
                       name="bonus", value="7")["value"] == "7"
    assert value(editor, hung, "seen") == "[0, 2, 4]"

    go_on(editor, worker)
    assert hit(editor, called) == worker
    assert value(editor, worker, "turns") == str(turns + 1)
    assert set_breakpoints(editor) == []
    go_on(editor, worker)
    until("the loop", lambda: loops(target, worker))
    editor.disconnect()
    target.assert_as_before(before, arenas=4)
    result = target.finish()
    assert result["exact"] and result["bonuses"] == [7] and result["answer"] == 41


def test_in_the_hung_frame(python, editor):
    """It stands in its call, and comes to the breakpoint when that ends."""
    target = start("loop_beside", python)
    hung = editor.attach(target.pid)["threadId"]
    back, = set_breakpoints(editor, dict(line=line_of("return seen")))
    target.go_on()
    assert hit(editor, back) == hung and line_at(editor, hung) == "return seen"
    go_on(editor, hung)
    editor.disconnect()
    assert target.read_line(PATIENCE)["found"] == [3, [0, 2, 4]]
    assert target.process.wait(PATIENCE) == NORMAL_EXIT


def test_condition_hits_and_message(edge_python, editor):
    target = start("loop_beside", edge_python)
    editor.attach(target.pid)
    line = line_of("doubled = double(turns)")

    conditional, = set_breakpoints(editor, dict(line=line, condition="turns % 5 == 3"))
    worker = hit(editor, conditional)
    for _ in range(2):
        turns = int(value(editor, worker, "turns"))
        assert turns % 5 == 3
        go_on(editor, worker)
        assert hit(editor, conditional) == worker
        assert int(value(editor, worker, "turns")) == turns + 5

    counted, = set_breakpoints(editor, dict(line=line, hitCondition="% 4"))
    turns = int(value(editor, worker, "turns"))
    go_on(editor, worker)
    assert hit(editor, counted) == worker
    assert int(value(editor, worker, "turns")) == turns + 4

    printing, stopping = set_breakpoints(
        editor, dict(line=line, logMessage="turn {turns} of {{all}}"),
        dict(line=line_of("turns += 1"), condition="turns == %d" % (turns + 7)))
    go_on(editor, worker)
    assert hit(editor, stopping) == worker
    for turn in (5, 6, 7):
        said = editor.event("output", line=line)
        assert said["output"] == "turn %d of {all}\n" % (turns + turn)
        assert said["source"]["path"] == FILE
    editor.disconnect()
    assert target.finish()["exact"]


def test_functions(edge_python, editor):
    target = start("loop_beside", edge_python)
    editor.attach(target.pid)
    double, = editor.call("setFunctionBreakpoints", breakpoints=[
        dict(name="double", condition="number % 2")])["breakpoints"]
    worker = hit(editor, double, "function breakpoint")
    assert line_at(editor, worker) == "return number + number"
    number = int(value(editor, worker, "number"))
    go_on(editor, worker)
    assert hit(editor, double, "function breakpoint") == worker
    assert int(value(editor, worker, "number")) == number + 2
    editor.disconnect()
    assert target.finish()["exact"]


def test_goto(edge_python, editor):
    """Back to the first line of its function: it counts from there again."""
    target = start("loop_beside", edge_python)
    editor.attach(target.pid)
    worker = hit(editor, *set_breakpoints(editor, dict(line=line_of("turns += 1"))))

    def send_to(line, path=FILE):
        place, = editor.call("gotoTargets", source={"path": path}, line=line)["targets"]
        assert place["line"] == line
        editor.call("goto", threadId=worker, targetId=place["id"])
        assert editor.event("stopped", threadId=worker)["reason"] == "goto"
        last = [message for message in editor.received if "command" in message][-1]
        assert last["command"] == "goto" and last["seq"] < editor.last_seq

    set_breakpoints(editor)
    send_to(line_of("turns = 0"))
    editor.call("next", threadId=worker)
    editor.event("stopped", reason="step")
    assert value(editor, worker, "turns") == "0" and line_at(editor, worker) == "bonus = 0"
    with pytest.raises(Refused, match="another file"):
        send_to(3, path="/no/such.py")
    with pytest.raises(Refused):
        send_to(line_of("return number + number"))
    with pytest.raises(Refused, match="no such target"):
        editor.call("goto", threadId=worker, targetId=99)
    go_on(editor, worker)
    editor.disconnect()
    assert target.finish()["exact"]


@pytest.mark.parametrize("how", ["disconnect", "eof", "kill"])
def test_the_editor_leaves_at_a_breakpoint(how, edge_python, editor):
    target = start("loop_beside", edge_python)
    before = target.snapshot()
    editor.attach(target.pid)
    worker = hit(editor, *set_breakpoints(editor, dict(line=line_of("turns += 1"))))
    assert not loops(target, worker)
    if how == "disconnect":
        editor.disconnect()
    elif how == "eof":
        editor.process.stdin.close()
    else:
        editor.process.kill()
    until("the loop", lambda: loops(target, worker), seconds=1)
    target.assert_as_before(before, arenas=4)
    assert target.finish()["exact"]


def test_several_threads_at_one(edge_python, editor):
    """Each stands for itself."""
    target = start("loop_beside", edge_python, "4")
    editor.attach(target.pid)
    turn, = set_breakpoints(editor, dict(line=line_of("text = str(turns)")))
    workers = {hit(editor, turn) for _ in range(4)}
    assert len(workers) == 4
    first, second, *others = workers
    for worker in (second, first):
        turns = int(value(editor, worker, "turns"))
        go_on(editor, worker)
        assert hit(editor, turn) == worker
        assert int(value(editor, worker, "turns")) == turns + 1
    set_breakpoints(editor)
    for worker in workers:
        go_on(editor, worker)
    until("all loops", lambda: all(loops(target, worker) for worker in others))
    editor.disconnect()
    assert target.finish()["exact"]


def test_two_editors(edge_python, editor):
    """Neither hears of what is the other's; at a line of both a thread stands for one
    after the other."""
    target = start("loop_beside", edge_python)
    before = target.snapshot()
    with DapClient.stdio() as other:
        for one in (editor, other):
            one.attach(target.pid)
        mine, = set_breakpoints(editor, dict(line=line_of("turns += 1")))
        worker = hit(editor, mine)
        both = [set_breakpoints(one, dict(line=line_of("check(turns, text)")))[0]
                for one in (editor, other)]
        go_on(editor, worker)
        waiting = [(editor, both[0]), (other, both[1])]
        for one, breakpoint in waiting:
            assert hit(one, breakpoint) == worker
            set_breakpoints(one)
            go_on(one, worker)
        until("the loop", lambda: loops(target, worker))
        for one in (editor, other):
            assert not one.events or not [
                event for event in one.events if event["event"] == "stopped"]
            one.disconnect()
    target.assert_as_before(before, arenas=4)
    assert target.finish()["exact"]


def test_in_code_that_is_not_there_yet(edge_python, editor, tmp_path):
    target = start("loop_beside", edge_python)
    (tmp_path / "later.py").write_text("first = 1\nsecond = first + 1\n")
    editor.initialize()
    editor.call("attach", processId=target.pid, pathMappings=[
        {"localRoot": "/home/ada", "remoteRoot": str(tmp_path)}])
    editor.call("configurationDone")
    hung = editor.event("stopped")["threadId"]
    second, = set_breakpoints(editor, dict(line=2), path="/home/ada/later.py")
    assert not second["verified"] and second["reason"] == "pending"
    editor.call("evaluate", frameId=top(editor, hung)["id"], context="repl", expression=(
        "sys.path.append(%r); threading.Thread(target=__import__, args=('later',)).start()"
        % str(tmp_path)))
    changed = editor.event("breakpoint", reason="changed")["breakpoint"]
    assert changed["id"] == second["id"] and changed["verified"]
    assert changed["source"]["path"] == "/home/ada/later.py"
    thread = hit(editor, second)
    assert value(editor, thread, "first") == "1"
    editor.disconnect()
    assert target.finish()["exact"]


# ---- order and junk


@pytest.mark.parametrize("beside", [False, True])
def test_the_answer_comes_before_the_stop(beside, newest_python, editor):
    """Also where the line is hit a thousand times a second, and where another request
    is answered beside it."""
    target = start("loop_beside", newest_python, "2")
    editor.initialize()
    editor.call("attach", processId=target.pid)
    editor.event("initialized")
    early = editor.request("setBreakpoints", source={"path": FILE},
                           breakpoints=[dict(line=line_of("turns += 1"))])
    done = editor.request("configurationDone")
    editor.event("stopped", reason="breakpoint")
    order = [message.get("request_seq") or message["event"] for message in editor.received]
    assert order.index(early) < order.index(done) < order.index("stopped")
    threads = {1, 2}
    for _ in range(20):
        set_breakpoints(editor)
        for thread in editor.call("threads")["threads"]:
            go_on(editor, thread["id"])
        editor.events.clear()
        number = editor.request("setBreakpoints", source={"path": FILE},
                                breakpoints=[dict(line=line_of("turns += 1"))])
        if beside:
            for _ in range(20):
                editor.request("cancel", requestId=0)
        ids = [one["id"] for one in editor.response(number)["body"]["breakpoints"]]
        threads = {hit(editor, dict(id=ids[0])) for _ in range(2)}
        at = [message.get("request_seq") for message in editor.received].index(number)
        assert not [message for message in editor.received[:at] if message.get(
            "body", {}).get("hitBreakpointIds") == ids]
        assert len(threads) == 2
    editor.disconnect()
    assert target.finish()["exact"]


def test_what_cannot_be_set(newest_python, editor):
    target = start("loop_beside", newest_python)
    editor.initialize()
    with pytest.raises(Refused, match="attach comes first"):
        set_breakpoints(editor)
    editor.call("attach", processId=target.pid)
    editor.call("configurationDone")
    line = line_of("turns += 1")
    for breakpoint, words in (
            (dict(line=line, condition="turns =="), "invalid syntax"),
            (dict(line=line, condition="turns = 3"), "invalid syntax"),
            (dict(line=line, hitCondition="often"), "no count of hits: often"),
            (dict(line=line, logMessage="{turns"), "not closed"),
            (dict(line=100000), "no such code")):
        answer, = set_breakpoints(editor, breakpoint)
        assert not answer["verified"] and words in answer["message"], answer
    assert not set_breakpoints(editor, dict(line=1), path="/no/such.py")[0]["verified"]
    for arguments in ({}, {"source": FILE}, {"source": {"path": FILE}, "breakpoints": 1},
                      {"source": {"path": FILE}, "breakpoints": [{"line": "1"}]},
                      {"source": {"path": FILE}, "breakpoints": [{}]}):
        with pytest.raises(Refused, match=r"\(root\).arguments"):
            editor.call("setBreakpoints", **arguments)
    with pytest.raises(Refused):
        set_breakpoints(editor, dict(line=1), path=None)
    thousands = [dict(line=line, condition="False") for line in range(1, 1001)]
    assert len(set_breakpoints(editor, *thousands)) == 1000
    set_breakpoints(editor)
    hit(editor, *set_breakpoints(editor, dict(line=line)))
    editor.disconnect()
    assert target.finish()["exact"]


def test_nothing_set_costs_nothing(newest_python, editor):
    """Editors send all kinds of sets when they attach, also without a GIL to be had."""
    target = start("lock_main", newest_python)
    editor.attach(target.pid)
    assert set_breakpoints(editor) == []
    assert editor.call("setFunctionBreakpoints", breakpoints=[]) == {"breakpoints": []}
    assert editor.call("setExceptionBreakpoints", filters=[]) == {}
    thread = editor.call("threads")["threads"][0]["id"]
    assert value(editor, thread, "[tool for tool in range(6) if __import__('sys')"
                 ".monitoring.get_tool(tool)]") == "[]"
    editor.disconnect()
    target.finish()
