"""The schema check itself lets nothing bad through."""

import pytest

from validation import validated


def stopped(**body):
    return {"seq": 1, "type": "event", "event": "stopped", "body": {"reason": "pause", **body}}


def failure(**error):
    return {"seq": 1, "type": "response", "request_seq": 1, "success": False, "command": "next",
            "message": "no", "body": {"error": {"id": 1, "format": "no", **error}}}


GOOD = [
    stopped(threadId=3, description="hung in lock.acquire", allThreadsStopped=False),
    stopped(hangdbg={"anything": 1}),
    failure(showUser=True),
    {"seq": 1, "type": "request", "command": "startDebugging",
     "arguments": {"request": "attach", "configuration": {"processId": 1}}},
    {"seq": 1, "type": "response", "request_seq": 1, "success": True, "command": "next"},
    {"seq": 1, "type": "event", "event": "hangdbg/failure", "body": {"reason": "no"}},
]

BAD = [
    {**stopped(), "seq": 0},
    {**stopped(), "seq": "1"},
    {**stopped(), "event": "halted"},
    {**stopped(), "type": "reply"},
    {**stopped(), "body": {}},
    stopped(threadId="3"),
    stopped(threadID=3),
    stopped(threadId=2**31),
    failure(id="1"),
    failure(shown=True),
    {"seq": 1, "type": "response", "success": True, "command": "next"},
    {"seq": 1, "type": "response", "request_seq": 1, "success": True, "command": "threads",
     "body": {"threads": [{"id": 1}]}},
    {"seq": 1, "type": "response", "request_seq": 1, "success": True, "command": "threads",
     "body": {"threads": [{"id": 1, "name": "a", "tid": 2}]}},
    {"seq": 1, "type": "event", "event": "module",
     "body": {"reason": "loaded", "module": {"id": 1, "name": "a"}}},
]


@pytest.mark.parametrize("message", GOOD)
def test_good(message):
    assert validated(message) is message


@pytest.mark.parametrize("message", BAD)
def test_bad(message):
    with pytest.raises(AssertionError):
        validated(message)
