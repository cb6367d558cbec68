"""hangdbg diagnose: what the tasks of an event loop are at, where the loop itself only waits;
coroutines that wait for their own loop; what a fork leaves of pools and loops."""

import os
import re
import subprocess

import pytest

import library_rows

from diagnosed import diagnosed, named_first, not_hung
from harness import DYING_WITH_US, Target, in_targets, track
from versions import by_case

LIBRARIES = library_rows.PYTHON
LOOKS = 10


def begin(case, python):
    return Target([python, in_targets("causes_coroutines.py"), case],
                  env={"PYTHONWARNINGS": "ignore"})


# case: its cause, how sure, and what is in the sentence
CASES = {
    "asks_own_loop": ("asyncio-blocked", "likely",
                      "blocks its event loop: waits for the result of a Future .* no other thread"),
    "asks_by_thread": ("nobody-left", "likely", "all 2 threads that are here wait for each other"),
    "cancelled": ("exit-join", "likely",
                  r"the end of asyncio\.run\(\), and waits for task .* which was cancelled"),
    "pool_at_end": ("condition", "possible", r"waits in Event\.wait for another thread"),
    "closes_generator": ("future-unset", "likely",
                         r"has come to the end of asyncio\.run\(\), and runs an event loop until"),
    "forked_pool": ("nobody-left", "likely", "result of a Future .* no other thread is here"),
    "forked_loop": ("nobody-left", "likely", "result of a Future .* no other thread is here"),
}


@by_case(sorted(CASES), on_edges={"asks_own_loop", "asks_by_thread", "forked_loop"})
def test_what_hangs(case, python):
    target = begin(case, python)
    said = named_first(case, target.pid, *CASES[case])
    assert not case.startswith("forked") or any("without that one's other threads" in one
                                                for one in said["evidence"]), said


# case: what is in the sentence
POLL = {
    "polls": r"whose task \S+ polls `os\.path\.exists\(NEVER\)` at .* in until_there, and sleeps",
    "polls_by_tasks": r"whose task \S+ polls `is_there\(\)` at .* in wait, and sleeps",
    "asks_queue": r"whose task \S+ polls `\S+` at .* in asks_queue, for a limited time each$",
    "polls_with_limit": r"whose task \S+ polls `os\.path\.exists\(NEVER\)` at .* in until_there",
}


@by_case(sorted(POLL), on_edges=set(POLL))
def test_coroutines_that_poll(case, python):
    target = begin(case, python)
    for _ in range(LOOKS):
        said = diagnosed(target.pid, after="10")
        assert (said["state"], said["cause"], said["stalled"]) == ("polling", "polls", False), said
        assert re.search(POLL[case], said["summary"]), said


@by_case(["works_now_and_then", "producer", "waits_for_handler"],
         on_edges={"works_now_and_then", "producer", "waits_for_handler"})
def test_who_is_well(case, python):
    said = not_hung(case, begin(case, python).pid)
    assert said["state"] == "idle", said


@by_case(["take_turns"], on_edges={"take_turns"})
def test_threads_that_take_turns(case, python):
    target = begin(case, python)
    for _ in range(LOOKS):
        said = diagnosed(target.pid, after="10")
        assert said["state"] != "stuck" and not said["stalled"], said


def test_threads_that_take_turns_without_a_cpu(newest_python):
    """Who is given the lock is to run, and no longer waits, though it has not run yet."""
    target = begin("take_turns", newest_python)
    busy = track(subprocess.Popen(
        [*DYING_WITH_US, newest_python, "-c", "while True: pass"], start_new_session=True))
    try:
        cpu = {min(os.sched_getaffinity(0))}
        os.sched_setaffinity(busy.pid, cpu)
        for tid in map(int, os.listdir("/proc/%d/task" % target.pid)):
            os.sched_setaffinity(tid, cpu)
        # The kernel leaves the others 5 % of a CPU (sched(7), "Limiting the CPU usage").
        os.sched_setscheduler(busy.pid, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("SCHED_FIFO is not permitted")
    for _ in range(LOOKS):
        said = diagnosed(target.pid, after="10")
        assert said["state"] != "stuck" and not said["stalled"], said


def test_a_join_with_a_time_limit(newest_python):
    target = begin("joins_again_and_again", newest_python)
    said = not_hung("joins_again_and_again", target.pid)
    assert said["chain"][0]["summary"].startswith(
        "waits for the end of its child, process %d" % target.ready["child"]), said


@pytest.mark.skipif(not LIBRARIES.exists(), reason="the libraries cannot be had here")
def test_tasks_of_trio():
    said = diagnosed(begin("trio_polls", LIBRARIES).pid, after="10")
    assert said["state"] == "polling", said
    assert re.search(r"polls `os\.path\.exists\(NEVER\)` at .* in main", said["summary"]), said
    said = named_first("trio: locks", begin("trio_locks", LIBRARIES).pid, "future-unset", "likely",
                       r"runs an event loop \(Trio\) whose \d tasks wait for what nobody is left")
    assert said["state"] == "stuck", said
    assert any("takes" in one for one in said["evidence"]), said
    said = not_hung("trio: works", begin("trio_works", LIBRARIES).pid)
    assert said["state"] == "idle", said
