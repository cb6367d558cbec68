"""`hangdbg dap`: an editor's session with a process that hangs. Each message that
comes is held against DAP's schema (dap_client.py)."""

import linecache
import os

import pytest

import harness
from dap_client import DapClient, Refused
from hangs import start_hang
from harness import TARGETS, in_targets, start, until
from test_hold import call_of
from test_namespaces import needs_root
from test_namespaces import start as start_behind
from test_step import in_second_wait


@pytest.fixture
def editor():
    with DapClient.stdio() as client:
        yield client


def stack(editor, thread, **which):
    return editor.call("stackTrace", threadId=thread, **which)["stackFrames"]


# ---- a session


def test_attach_look_and_leave(python, editor):
    target = start("frames", python)
    before = target.snapshot()
    stopped = editor.attach(target.pid)
    assert stopped["threadId"] == target.tid and stopped["reason"] == "entry"
    assert stopped["description"].startswith("futex")
    assert stopped["text"] == "asleep in " + stopped["description"]
    assert stopped["allThreadsStopped"] is False
    assert [thread["id"] for thread in editor.call("threads")["threads"]] == [target.tid]

    frames = stack(editor, target.tid)
    assert [frame["name"] for frame in frames[:3]] == ["coroutine", "generator", "<genexpr>"]
    assert frames[0]["source"]["path"] == str(in_targets("frames.py"))
    three_up = frames[3]
    assert three_up["name"] == "has_free_variable"
    scopes = editor.call("scopes", frameId=three_up["id"])["scopes"]
    assert scopes[0]["name"] == "Locals"
    (local, scope), = [
        (variable, scope["variablesReference"]) for scope in scopes[:2]
        for variable in editor.call(
            "variables", variablesReference=scope["variablesReference"])["variables"]
        if variable["name"] == "number"]
    assert (local["value"], local["type"]) == ("0", "int")
    answer = editor.call("evaluate", expression="number + 41", frameId=three_up["id"],
                         context="watch")
    assert (answer["result"], answer["type"]) == ("41", "int")
    assert editor.call("setVariable", variablesReference=scope,
                       name="number", value="7")["value"] == "7"
    editor.disconnect()
    target.assert_as_before(before, arenas=4)
    assert target.finish()["numbers"].count(7) == 2  # the generator expression sees it


def test_the_stack_in_pieces(newest_python, editor):
    """As VS Code asks: the innermost frame, then the others."""
    target = start("frames", newest_python)
    thread = editor.attach(target.pid)["threadId"]
    whole = stack(editor, thread)
    assert stack(editor, thread, startFrame=0, levels=1) == whole[:1]
    assert stack(editor, thread, startFrame=1, levels=3) == whole[1:4]
    rest = editor.call("stackTrace", threadId=thread, startFrame=1, levels=1000)
    assert rest["stackFrames"] == whole[1:] and rest["totalFrames"] == len(whole)
    editor.disconnect()
    target.finish()


def test_c_functions_in_the_stack(python, editor):
    """Where they are asked for; in the same pieces."""
    target = start("lock_main", python)
    thread = editor.attach(target.pid, native=True)["threadId"]
    whole = stack(editor, thread)
    subtle = [frame.get("presentationHint") == "subtle" for frame in whole]
    (innermost,) = [at for at, frame in enumerate(whole) if frame["name"] == "wait_for_lock"]
    assert innermost > 0 and all(subtle[:innermost]) and not subtle[innermost], whole
    assert all(frame["name"] for frame in whole[:innermost]), whole
    assert not [frame for frame in whole[:innermost] if frame.get("source", {}).get(
        "path", "").startswith(os.getcwd())], whole  # what is relative is not our folder's
    frame = whole[innermost]
    assert editor.call("evaluate", expression="answer", frameId=frame["id"])["result"] == "41"
    assert editor.call("scopes", frameId=whole[0]["id"])["scopes"] == []
    with pytest.raises(Refused, match="a C function has no Python names"):
        editor.call("evaluate", expression="answer", frameId=whole[0]["id"])

    def shown(frames):
        return [(frame["name"], frame["line"]) for frame in frames]

    assert shown(stack(editor, thread, startFrame=0, levels=1)) == shown(whole[:1])
    for levels in (100, 2 ** 63 - 1):
        assert shown(stack(editor, thread, startFrame=1, levels=levels)) == shown(whole[1:])
    editor.call("pause", threadId=thread)
    held = stack(editor, thread)
    assert [frame["name"] for frame in held if "presentationHint" not in frame] == [
        "wait_for_lock", "<module>"], held
    editor.disconnect()
    target.finish()


def test_what_an_expression_prints_and_raises(newest_python, editor):
    target = start("lock_main", newest_python)
    frame = stack(editor, editor.attach(target.pid)["threadId"])[0]["id"]
    editor.call("evaluate", expression="print('out')", frameId=frame, context="repl")
    assert editor.event("output", category="stdout")["output"] == "out\n"
    with pytest.raises(Refused) as refused:
        editor.call("evaluate", expression="1 / 0", frameId=frame, context="repl")
    body = refused.value.response["body"]
    assert body["hangdbg"]["type"] == "ZeroDivisionError"
    assert body["error"]["showUser"] is False
    labels = [item["label"] for item in editor.call(
        "completions", text="answ", column=5, frameId=frame)["targets"]]
    assert "answer" in labels
    editor.disconnect()
    target.finish()


def test_a_running_expression_is_cancelled(edge_python, editor):
    target = start("lock_main", edge_python)
    frame = stack(editor, editor.attach(target.pid)["threadId"])[0]["id"]
    loop = editor.request("evaluate", expression="while True: pass", frameId=frame,
                          context="repl")
    waits = editor.request("evaluate", expression="answer", frameId=frame, context="repl")
    until("the loop runs", lambda: any(
        harness.processes.thread_activity(target.pid, tid).syscall == "running"
        for tid in harness.processes.threads(target.pid)))
    editor.call("cancel", requestId=waits)
    editor.call("cancel", requestId=loop)
    for number in (loop, waits):
        response = editor.response(number)
        assert not response["success"] and response["message"] == "cancelled"
    editor.call("cancel", requestId=loop)  # it is over: nothing
    assert editor.call("evaluate", expression="answer", frameId=frame)["result"] == "41"
    editor.disconnect()
    target.finish()


def on_thread(editor, frame):
    """On which thread an expression in that frame runs."""
    return int(editor.call("evaluate", frameId=frame, context="watch", expression=(
        "int(__import__('os').path.basename(__import__('os').readlink('/proc/thread-self')))"
    ))["result"])


def line_of(editor, thread):
    frame = stack(editor, thread)[0]
    return linecache.getline(frame["source"]["path"], frame["line"]).strip()


def test_pause_step_and_continue(python, editor):
    """From the hung frame: held, stepped out of the call when that ends, let go."""
    target = start("stepped", python)
    thread = editor.attach(target.pid)["threadId"]
    frame = stack(editor, thread)[0]["id"]
    assert on_thread(editor, frame) != target.tid
    for _ in range(2):  # says so again
        editor.call("pause", threadId=thread)
        assert editor.event("stopped")["description"] == "held"
    assert on_thread(editor, stack(editor, thread)[0]["id"]) == target.tid
    editor.call("next", threadId=thread)
    target.go_on()
    assert editor.event("stopped")["reason"] == "step"
    assert line_of(editor, thread) == "answer += 1"
    for request, line in (("next", "total = compute(3)"), ("stepIn", "total = 0"),
                          ("stepOut", "total = compute(3)")):
        editor.call(request, threadId=thread)
        editor.event("stopped")
        assert line_of(editor, thread) == line
    assert on_thread(editor, stack(editor, thread)[0]["id"]) == target.tid
    assert returned(editor, thread) == {"(return) compute": "6"}
    frame = stack(editor, thread)[0]
    target_line, = editor.call("gotoTargets", source=frame["source"], line=frame["line"])["targets"]
    with pytest.raises(Refused, match="in the middle of one: n first"):
        editor.call("goto", threadId=thread, targetId=target_line["id"])
    editor.call("next", threadId=thread)
    editor.event("stopped")
    assert line_of(editor, thread) == "pair = list(numbers())"
    assert returned(editor, thread) == {}
    assert editor.call("continue", threadId=thread) == {"allThreadsContinued": False}
    editor.disconnect()
    until("the second wait", lambda: in_second_wait(target))
    assert target.finish()["total"] == 6


def returned(editor, thread):
    """What the function has returned that was stepped out of, or those that a line called."""
    frame = stack(editor, thread)[0]["id"]
    return {variable["name"]: variable["value"]
            for scope in editor.call("scopes", frameId=frame)["scopes"]
            if scope["name"] == "Return value"
            for variable in editor.call(
                "variables", variablesReference=scope["variablesReference"])["variables"]}


def test_step_of_what_is_only_looked_at(newest_python, editor):
    """It is held first."""
    target = start("stepped", newest_python)
    thread = editor.attach(target.pid)["threadId"]
    editor.call("next", threadId=thread)
    assert editor.event("stopped")["description"] == "held"
    target.go_on()
    assert editor.event("stopped")["reason"] == "step"
    assert line_of(editor, thread) == "answer += 1"
    editor.disconnect()
    until("the second wait", lambda: in_second_wait(target))
    target.finish()


def test_editor_vanishes_while_it_holds(edge_python, editor):
    target = start("lock_worker", edge_python)
    before, call = target.snapshot(), call_of(target)
    thread = editor.attach(target.pid)["threadId"]
    editor.call("pause", threadId=thread)
    editor.event("stopped")
    assert call_of(target) != call
    editor.__exit__()
    until("the thread in its call", lambda: call_of(target) == call, seconds=1)
    target.assert_as_before(before, arenas=4)
    target.finish()


def test_pause_of_what_cannot_be_held(newest_python, library, editor):
    """It is shown where it is, with the reason."""
    target = start_hang("spin", newest_python, library)
    thread = editor.attach(target.pid)["threadId"]
    editor.call("pause", threadId=thread)
    stopped = editor.event("stopped")
    assert "observed" in stopped["description"] and "running" in stopped["description"]
    frame = stack(editor, thread)[target.ready.get("frame", 0)]["id"]
    assert editor.call("evaluate", frameId=frame, expression="answer")["result"] == "41"
    with pytest.raises(Refused, match="cannot be held"):
        editor.call("next", threadId=thread)
    editor.disconnect()
    target.finish()


def test_continue_and_pause(newest_python, editor):
    """What is not held goes on anyway; main waits for the worker."""
    target = start("lock_worker", newest_python)
    stopped = editor.attach(target.pid)
    assert stopped["threadId"] == target.tid
    assert editor.call("continue", threadId=target.tid) == {"allThreadsContinued": False}
    editor.call("pause", threadId=target.pid)
    assert editor.event("stopped")["threadId"] == target.pid
    assert stack(editor, target.pid)
    with pytest.raises(Refused, match="not ours to end"):
        editor.call("terminate")
    editor.disconnect()
    target.finish()


def test_threads_come_and_go(newest_python, editor):
    target = start("lock_main", newest_python)
    frame = stack(editor, editor.attach(target.pid)["threadId"])[0]["id"]
    assert len(editor.call("threads")["threads"]) == 1
    editor.call("evaluate", frameId=frame, context="repl", expression=(
        "import threading; go = threading.Event(); "
        "other = threading.Thread(target=go.wait, name='other'); other.start()"))
    tid = editor.event("thread", reason="started")["threadId"]
    names = {thread["id"]: thread["name"] for thread in editor.call("threads")["threads"]}
    assert names[tid] == "other"
    editor.call("evaluate", frameId=frame, context="repl", expression="go.set()")
    assert editor.event("thread", reason="exited")["threadId"] == tid
    editor.disconnect()
    target.finish()


# ---- files and lines


def test_path_mappings_and_lines_from_0(newest_python, editor):
    target = start("frames", newest_python)
    editor.call("initialize", adapterID="hangdbg", linesStartAt1=False)
    editor.call("attach", processId=str(target.pid), pathMappings=[
        {"localRoot": "/home/ada/src/", "remoteRoot": str(in_targets("frames.py").parent)}])
    editor.call("configurationDone")
    thread = editor.event("stopped")["threadId"]
    frame = stack(editor, thread)[0]
    assert frame["source"]["path"] == "/home/ada/src/frames.py"
    lines = in_targets("frames.py").read_text().splitlines()
    assert lines[frame["line"]].strip() == "lock.acquire()"
    editor.disconnect()
    target.finish()


@needs_root
def test_a_source_that_only_the_target_sees(newest_python, editor):
    target = start_behind(
        "unshare", "--mount", "sh", "-c", 'mount --bind "$0" /mnt && exec "$@"', TARGETS,
        targets="/mnt/hangs", python=newest_python)
    frame = stack(editor, editor.attach(target.pid)["threadId"])[0]
    source = frame["source"]
    assert source["path"] == "/mnt/hangs/lock_main.py" and source["sourceReference"] > 0
    text = editor.call("source", sourceReference=source["sourceReference"])["content"]
    assert text == in_targets("lock_main.py").read_text()
    with pytest.raises(Refused, match="no source has the number 99"):
        editor.call("source", sourceReference=99)
    editor.disconnect()
    target.finish()


@needs_root
def test_threads_go_by_our_numbers(newest_python, editor):
    target = start_behind("unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                          name="lock_worker", python=newest_python)
    assert editor.attach(target.pid)["threadId"] == target.tid
    assert {thread["id"] for thread in editor.call("threads")["threads"]} == {
        target.pid, target.tid}
    assert stack(editor, target.tid)[0]["name"] == target.function
    editor.disconnect()
    target.finish()


# ---- the GIL is held


def test_stacks_while_the_gil_is_held(edge_python, library, editor):
    target = start("gil_held_by_library", edge_python, library)
    stopped = editor.attach(target.pid)
    assert stopped["threadId"] == target.tid
    assert "read-only: " in editor.event("output", category="console")["output"]
    assert len(editor.call("threads")["threads"]) == 2
    frames = stack(editor, target.tid)
    assert frames[0]["name"] == "hold_gil"
    editor.disconnect()
    target.finish()


def test_values_while_the_gil_is_held(python, library, editor):
    """From memory alone; the frame is another thread's, which waits for a lock."""
    target = start("gil_held_by_library", python, library)
    editor.attach(target.pid)

    def variables(holder, **which):
        return {one["name"]: one for one in editor.call(
            "variables", variablesReference=holder["variablesReference"], **which)["variables"]}

    frame = stack(editor, target.tid)[0]["id"]
    local, module = editor.call("scopes", frameId=frame)["scopes"]
    assert local["presentationHint"] == "locals" and module["expensive"]
    values = variables(local)
    assert values["answer"]["value"] == "41" and values["answer"]["type"] == "int"
    assert values["answer"]["presentationHint"] == {"attributes": ["readOnly"]}
    assert values["answer"]["variablesReference"] == 0
    assert values["seen"]["value"] == "{0, 2, 4}" and values["seen"]["indexedVariables"] == 3
    assert {one["value"] for one in variables(values["seen"]).values()} == {"0", "2", "4"}
    assert len(variables(values["seen"], start=1, count=1)) == 1
    begun = variables(module)["begun"]
    (worker,) = variables(begun).values()
    assert int(worker["value"]) == target.ready["worker"]

    worker = next(thread["id"] for thread in editor.call("threads")["threads"]
                  if thread["id"] != target.tid)
    frame = stack(editor, worker)[0]
    assert frame["name"] == "wait_in_worker"
    for expression, value in (("begun[0]", str(worker)), ("len(begun) == 1", "True")):
        assert editor.call("evaluate", expression=expression, frameId=frame["id"],
                           context="watch")["result"] == value
    with pytest.raises(Refused, match="not now, .* by thread %d" % target.tid) as refused:
        editor.call("evaluate", expression="begun.pop()", frameId=frame["id"], context="repl")
    assert "PID" not in refused.value.text
    editor.disconnect()
    assert target.finish()["answer"] == 41
