"""The calls that the kernel can restart end on time and without error, though
they were interrupted by twenty attaches."""

import pytest

from harness import evaluate, start

EARLY = 0.001  # seconds; a call must not end before its time
LATE = 0.150  # seconds; both CPUs may be busy with other tests
# select's timeout is relative, and the kernel restarts it with what was left:
# it alone ends later by the time for which the thread stood still.
STOP = 0.010

# What each call returns when nobody looks, and errno.
NORMAL = {
    "futex": (-1, 110),  # ETIMEDOUT
    "nanosleep": (0, 0),
    "poll": (0, 0),
    "read": (8, 0),
    "select": (0, 0),
}


def ends_on_time(target, call, seconds, stops=1):
    result = target.finish(seconds + 20)
    assert (result["result"], result["errno"]) == NORMAL[call], result
    late = LATE + (stops * STOP if call == "select" else 0)
    assert seconds - EARLY <= result["duration"] <= seconds + late, result


@pytest.mark.parametrize("call", NORMAL)
def test_on_time_after_twenty_evals(call, edge_python):
    seconds = 4.0
    target = start("timed_call", edge_python, call, seconds)
    for _ in range(20):
        assert evaluate(target, "answer") == "41"
    assert target.unread == b"" and target.alive()
    ends_on_time(target, call, seconds, stops=20)
