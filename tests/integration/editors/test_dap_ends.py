"""An editor's requests that are out of order, or none; and how its session ends."""

import os
import signal
import time

import pytest

import harness
from dap_client import DapClient, Refused
from harness import evaluate, hangdbg, start, until
from test_dap import editor, stack  # noqa: F401

# ---- order and junk


def test_the_order_of_requests(newest_python, editor):
    target = start("lock_main", newest_python)
    with pytest.raises(Refused, match="initialize comes first"):
        editor.call("threads")
    editor.initialize()
    with pytest.raises(Refused, match="initialize was there"):
        editor.initialize()
    with pytest.raises(Refused, match="attach comes first"):
        editor.call("stackTrace", threadId=1)
    # Before the attach response, as some do: it is remembered.
    done = editor.request("configurationDone")
    attached = editor.request("attach", processId=target.pid)
    assert editor.response(done)["success"] and editor.response(attached)["success"]
    editor.event("stopped")
    with pytest.raises(Refused, match="attached already"):
        editor.call("attach", processId=target.pid)
    with pytest.raises(Refused, match="was there already"):
        editor.call("configurationDone")
    editor.disconnect()
    target.finish()


def test_requests_that_are_none(newest_python, editor):
    target = start("lock_main", newest_python)
    editor.initialize()
    for command, arguments, words in (
            ("attach", {}, "wants a processId"),
            ("attach", {"processId": "some"}, "no process number: some"),
            ("attach", {"processId": []}, r"\(root\).arguments.processId"),
            ("attach", {"processId": 2 ** 22 + 1}, "no such process|no process"),
            ("launch", {}, "wants a program or a module"),
            ("terminate", {}, "not ours to end"),
            ("x" * 10000, {}, "no such request: x{100}'")):
        with pytest.raises(Refused, match=words):
            editor.call(command, **arguments)
    editor.call("attach", processId=target.pid)
    for command, arguments in (("stackTrace", {}), ("evaluate", {}), ("scopes", {}),
                               ("stackTrace", {"threadId": "1"}), ("pause", {})):
        with pytest.raises(Refused, match=r"\(root\).arguments"):
            editor.call(command, **arguments)
    for text in ("", "{", "[]", "1", "null", '{"type": "request"}', '{"seq": 1}',
                 '{"type": "response", "seq": 9, "request_seq": 1, "success": true, '
                 '"command": "runInTerminal"}', "[" * 100000):
        editor.send_text(text)
    assert editor.call("threads")["threads"]
    editor.disconnect()
    target.finish()


@pytest.mark.parametrize("junk", [
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"Content-Length: 99999999999\r\n\r\n",
    b"Content-Length: -1\r\n\r\n",
    b"\x00" * 100,
    b"x" * 1000000,
], ids=["http", "too-long", "negative", "zeros", "much"])
def test_what_is_no_dap_ends_the_session(newest_python, junk):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    with DapClient.stdio() as editor:
        editor.attach(target.pid)
        try:
            editor.send_bytes(junk)
        except BrokenPipeError:
            pass
        assert editor.at_end(2)
        assert editor.process.wait(1) == 0
    target.assert_as_before(before, arenas=4)
    target.finish()


def test_attach_to_what_is_no_python(editor):
    editor.initialize()
    with pytest.raises(Refused) as refused:
        editor.call("attach", processId=editor.process.pid)
    error = refused.value.response["body"]["error"]
    assert error["showUser"] is True and "Python" in error["format"]


# ---- the end


@pytest.mark.parametrize("how", ["eof", "SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "evaluating"])
def test_the_agent_leaves_with_the_editor(newest_python, how, busy):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    with DapClient.stdio() as editor:
        frame = stack(editor, editor.attach(target.pid)["threadId"])[0]["id"]
        if busy:
            editor.request("evaluate", expression="while True: pass", frameId=frame)
            until("the loop runs", lambda: any(
                harness.processes.thread_activity(target.pid, tid).syscall == "running"
                for tid in harness.processes.threads(target.pid)))
        started = time.monotonic()
        if how == "eof":
            editor.process.stdin.close()
        else:
            editor.process.send_signal(getattr(signal, how))
        assert editor.process.wait(5) == (-signal.SIGKILL if how == "SIGKILL" else 0)
        assert time.monotonic() - started < 1
    target.assert_as_before(before, arenas=4)
    target.finish()


def test_the_target_ends(newest_python, editor):
    target = start("lock_main", newest_python)
    editor.attach(target.pid)
    os.kill(target.pid, signal.SIGKILL)
    assert "killed by SIGKILL" in editor.event("output", category="console")["output"]
    editor.event("terminated")
    with pytest.raises(Refused):
        editor.call("threads")
    editor.disconnect()


def test_the_targets_exit_code(newest_python, editor):
    target = start("lock_main", newest_python)
    frame = stack(editor, editor.attach(target.pid)["threadId"])[0]["id"]
    # Nobody asks for it before we do: the harness waits later.
    editor.request("evaluate", expression="__import__('os')._exit(3)", frameId=frame)
    assert editor.event("exited") == {"exitCode": 3}
    editor.event("terminated")
    editor.disconnect()


def test_two_editors_and_a_command(newest_python):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    with DapClient.stdio() as one, DapClient.stdio() as two:
        for editor in (one, two):
            editor.attach(target.pid)
        assert evaluate(target, "answer + 1") == "42"
        for editor in (one, two):
            assert editor.call("threads")["threads"][0]["id"] == target.pid
            editor.disconnect()
    target.assert_as_before(before, arenas=4)
    target.finish()


def test_nobody_at_the_other_end():
    done = hangdbg("dap")
    assert (done.rc, done.out, done.err) == (0, "", ""), done
