"""SIGKILL to hangdbg at every named point of the injection: the target lives, its
call ends on time and without error, and it can be attached again.

`hangdbg doctor --injection-points` prints the points, one a line; with
HANGDBG_TEST_DIE_AT=POINT the program kills itself there.
"""

import os
import random
import signal
import subprocess
import time

import pytest

import processes
from harness import PROGRAM, evaluate, hangdbg, outcome, start, start_hangdbg
from test_restart import ends_on_time

SECONDS = 2.5  # how long the target's call takes


def injection_points():
    try:
        done = subprocess.run(
            [str(PROGRAM), "doctor", "--injection-points"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=20,
        )
    except FileNotFoundError:
        return []
    return done.stdout.decode().split()


POINTS = injection_points()


def test_there_are_points():
    assert len(POINTS) >= 5, "doctor --injection-points printed %s" % POINTS


@pytest.mark.parametrize(
    "call", ["futex", pytest.param("nanosleep", marks=pytest.mark.slow),
             pytest.param("poll", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("point", POINTS)
def test_killed_at(point, call, edge_python):
    target = start("timed_call", edge_python, call, SECONDS)
    before = target.snapshot()
    died = hangdbg("eval", target.pid, "answer", env={"HANGDBG_TEST_DIE_AT": point})
    assert died.rc == -signal.SIGKILL, died
    assert target.alive()
    assert processes.tracer(target.pid) == 0
    assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before, arenas=3)
    ends_on_time(target, call, SECONDS)


@pytest.mark.slow
def test_killed_at_random(newest_python):
    """100 times within the first 20 ms, while threads of the target work."""
    moments = random.Random(3)
    target = start("lock_worker", newest_python)
    before = target.snapshot()
    for _ in range(100):
        run = start_hangdbg("eval", target.pid, "answer")
        time.sleep(moments.uniform(0, 0.02))
        os.kill(run.pid, signal.SIGKILL)
        outcome(run)
        assert target.alive(), target.stderr()
    assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before, arenas=3)
    assert target.finish()["answer"] == 41
