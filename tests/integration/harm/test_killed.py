"""SIGKILL to hangdbg at every named point of the injection and at random moments:
the target lives, its call ends on time and without error, and it can be attached
again. A debugger of the classic kind does not pass the same test.

`hangdbg doctor --injection-points` prints the points, one a line; with
HANGDBG_TEST_DIE_AT=POINT the program kills itself there.
"""

import collections
import os
import random
import signal
import statistics
import subprocess
import time

import pytest

import processes
from harness import PROGRAM, evaluate, hangdbg, place, start
from stress import MODES, Churn, compile_churn, run_to_end
from test_restart import ends_on_time

pytestmark = pytest.mark.once
NAIVE = PROGRAM.parent / "tests" / "naive" / "naive_debugger"
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
    def die(target):
        before = target.snapshot()
        died = hangdbg("eval", target.pid, "answer", env={"HANGDBG_TEST_DIE_AT": point})
        assert died.rc == -signal.SIGKILL, died
        assert target.alive()
        assert processes.tracer(target.pid) == 0
        assert evaluate(target, "answer + 1") == "42"
        target.assert_as_before(before, arenas=3)

    ends_on_time(SECONDS, lambda: start("timed_call", edge_python, call, SECONDS), die)


KILLS = 50  # of each of the hangs below, with the oldest and the newest Python: 500


@pytest.mark.slow
@pytest.mark.parametrize("hang", ["busy", "futex", "nanosleep", "poll", "read"])
def test_killed_at_random_moments(hang, edge_python, tmp_path, record_property):
    """Moments as they come, over the whole life of an eval and a little more."""
    moments = random.Random(hang)
    last_point = tmp_path / "last_point"
    killed_after = collections.Counter()
    left = KILLS
    tries = 0
    while left > 0:
        killed = kill_some(hang, edge_python, left, moments, last_point, killed_after)
        left -= killed
        tries += killed
        if left == 0 and in_the_middle(killed_after) <= KILLS / 5 and tries < 4 * KILLS:
            left = KILLS // 5  # on a busy machine most may come too early or too late
    record_property("killed after", ", ".join(
        "%s %d" % (point, killed_after[point])
        for point in ["start", *POINTS, "its end"] if killed_after[point]))
    assert in_the_middle(killed_after) > KILLS / 5, "the moments were the wrong ones"


def in_the_middle(killed_after):
    return sum(killed_after[point] for point in POINTS)


def kill_some(hang, python, count, moments, last_point, killed_after):
    """Kills on one target, `count` or as many as its call's time allows; how many."""
    seconds = 8
    done = []

    def kill(target):
        done.append(0)
        enough = time.monotonic() + seconds - 2
        before = target.snapshot()
        command = [PROGRAM, "eval", target.pid, "answer", *place(target)]

        def undisturbed():
            seconds = run_to_end(command).seconds
            target.assert_as_before(before, arenas=3)
            return seconds

        median = statistics.median(undisturbed() for _ in range(5))
        while done[-1] < count and (done[-1] == 0 or time.monotonic() < enough):
            last_point.write_bytes(b"\0")
            died = run_to_end(command, moments.uniform(0, 1.3 * median),
                              env={"HANGDBG_TEST_LAST_POINT": str(last_point)})
            done[-1] += 1
            assert target.alive(), target.stderr()
            assert processes.tracer(target.pid) == 0
            if died.rc == -signal.SIGKILL:
                killed_after[["start", *POINTS][last_point.read_bytes()[0]]] += 1
            else:
                assert (died.rc, died.output.splitlines()[-1:]) == (0, ["41"]), died
                killed_after["its end"] += 1
            assert evaluate(target, "answer + 1") == "42"
            # Masks, descriptors, threads. In a busy program the two threads of the
            # one that was killed may still wait for the GIL beside the next one's.
            target.assert_as_before(before, arenas=4)

    if hang == "busy":
        target = start(hang, python)
        kill(target)
        assert target.finish()["answer"] == 41
    else:
        ends_on_time(seconds, lambda: start("timed_call", python, hang, seconds), kill)
    return sum(done)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", MODES)
def test_stress_harms_with_a_naive_debugger_only(
    mode, newest_python, tmp_path, record_property
):
    """The control: what finds no harm in hangdbg is able to find some."""
    library = compile_churn(tmp_path)

    def naive(target, run):
        return [NAIVE, target.pid, run]

    def ours(target, _):
        return [PROGRAM, "eval", target.pid, "answer", "--thread", target.pid]

    def until_harm(name, command, most):
        harm, runs = stress(command, Churn(newest_python, library, mode), most)
        record_property("%s, %s" % (name, mode), "%d runs: %s" % (runs, harm or "no harm"))
        return harm, runs

    # On a busy machine its luck may hold.
    harm, runs = until_harm("naive", naive, 1000)
    assert harm
    harm, _ = until_harm("hangdbg", ours, min(max(30, 5 * runs), 100))
    assert not harm


def stress(command, target, most):
    """Runs of a debugger, every other one killed, until there is harm; what the
    harm was, and after how many runs. With no harm: `most`, or as many as fit."""
    moments = random.Random(5)
    enough = time.monotonic() + 0.6 * min(most, 200)
    with target:
        times = [0.01]
        for runs in range(1, most + 1):
            kill_after = None
            if runs % 2 == 0:
                kill_after = moments.uniform(0, 1.3 * statistics.median(times))
            run = run_to_end(command(target, runs), kill_after)
            if run.rc == 0:
                times.append(run.seconds)
            harm = target.harm()
            if harm:
                return harm.splitlines()[0], runs
            if runs >= 30 and time.monotonic() > enough:
                break
        return target.end(), runs
