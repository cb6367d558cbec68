"""Where a thread must not be entered, it never is, however often one tries: in
take_gil, in malloc, in zlib, in C that computes. It goes on, and its result is right."""

import collections

import pytest

import interpreters
from dap_client import DapClient
from harness import start

pytestmark = pytest.mark.once
CASES = ["take_gil", "churn", "zlib", "spin"]  # churn is in malloc


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("times", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_never_entered(case, times, edge_python, library):
    if case == "take_gil" and (
            interpreters.variant(edge_python) == interpreters.FREE_THREADED):
        pytest.skip("there is no GIL to wait for")
    tries(case, times, edge_python, library)


def tries(case, times, python, library):
    target = start("deadly", python, case, library)
    said = collections.Counter()
    with DapClient.stdio() as editor:
        thread = editor.attach(target.pid)["threadId"]
        for _ in range(times):
            said[one_try(editor, thread)] += 1
        editor.disconnect()
    assert sum(said.values()) == times
    # Between two calls it is stopped at a line of its own.
    assert said["at a line"] == 0 or case in ("take_gil", "zlib"), said
    assert target.alive()
    result = target.finish()
    assert result["answer"] == 41 and result["right"], result
    return said


def one_try(editor, thread):
    editor.call("pause", threadId=thread)
    description = editor.event("stopped", threadId=thread).get("description", "")
    if description.startswith("observed, it goes on: thread %d" % thread):
        return "refused"
    assert description in ("", "held"), description
    editor.call("continue", threadId=thread)
    return "at a line"
