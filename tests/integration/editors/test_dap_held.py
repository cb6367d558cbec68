"""Breakpoints that an editor, or the prompt, asks for while native code keeps the GIL:
refused in time, with the reason and what can be done; and set, once it is free, for
who asks again."""

import time

import pytest

from dap_client import DapClient, Refused
from harness import hangdbg, in_targets, start, until
from processes import thread_activity
from test_hold import commands

FILE = in_targets("gil_held_once.py")
LINE = next(number for number, line in enumerate(FILE.read_text().splitlines(), 1)
            if "return answer" in line)
REQUESTS = {
    "setBreakpoints": {"source": {"path": str(FILE)}, "breakpoints": [{"line": LINE}]},
    "setFunctionBreakpoints": {"breakpoints": [{"name": "call_c_with_gil"}]},
    "setExceptionBreakpoints": {"filters": ["raised"]},
}


def set_free(target):
    target.process.stdin.write(b"\n")
    target.process.stdin.flush()
    until("it waits for the lock",
          lambda: thread_activity(target.pid, target.pid).syscall == "futex")


@pytest.mark.parametrize("first", sorted(REQUESTS))
def test_of_an_editor(first, edge_python):
    target = start("gil_held_once", edge_python)
    with DapClient.stdio("--timeout", 10) as editor:
        editor.initialize()
        attached = editor.request("attach", processId=target.pid)
        editor.event("initialized")
        begun = time.monotonic()
        for request in [first, *REQUESTS]:
            with pytest.raises(Refused, match="by thread %d in read" % target.tid) as refused:
                editor.call(request, **REQUESTS[request])
            assert "set it again when that is free" in refused.value.text
        assert time.monotonic() - begun < 6
        assert editor.call("setBreakpoints", source={"path": str(FILE)},
                           breakpoints=[]) == {"breakpoints": []}
        editor.call("configurationDone")
        assert editor.response(attached)["success"]
        thread = editor.event("stopped")["threadId"]
        set_free(target)
        one, = editor.call("setBreakpoints", **REQUESTS["setBreakpoints"])["breakpoints"]
        assert one["verified"] and one["line"] == LINE, one
        editor.call("setFunctionBreakpoints", **REQUESTS["setFunctionBreakpoints"])
        editor.call("setExceptionBreakpoints", **REQUESTS["setExceptionBreakpoints"])
        target.go_on()
        stopped = editor.event("stopped", reason="breakpoint")
        assert (stopped["threadId"], stopped["hitBreakpointIds"]) == (thread, [one["id"]])
        editor.disconnect()
    assert target.read_line(20)["answer"] == 41


def test_of_the_prompt(edge_python):
    target = start("gil_held_once", edge_python)
    begun = time.monotonic()
    done = hangdbg("attach", target.pid, *commands("b %s:%d" % (FILE, LINE), "b", "w"),
                   "--timeout", "2")
    assert time.monotonic() - begun < 10
    assert "by thread %d in read" % target.tid in done.err, done
    assert "Breakpoint" not in done.out and "call_c_with_gil()" in done.out, done
    set_free(target)
    done = hangdbg("attach", target.pid, *commands("b %s:%d" % (FILE, LINE), "b"))
    assert "Breakpoint 1 at %s:%d\n" % (FILE, LINE) in done.out, done
    assert target.finish()["answer"] == 41
