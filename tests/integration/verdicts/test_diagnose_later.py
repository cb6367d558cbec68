"""hangdbg diagnose: locks of open file descriptions, pidfds, timers, the data connection of FTP,
keys that do not come, streams, and interpreters (later_waits.py), each judged beside the others."""

import re

import pytest

import interpreters
from diagnosed import LOOKS, diagnosed, keep, named_first, not_hung, ten_looks
from harness import Target, hangdbg, in_targets, until
from test_diagnose_many import begin, looked_at

FILE = "later_waits.py"
# What is waited for first, and what is at the end.
HANG = {
    "description_locks_crosswise": (r"2 processes wait for each other: .* held by", "deadlock"),
    "waits_for_a_pidfd": (r"the end of its child", "deadlock"),
    "loop_drains_into_cat": (r"whose task Task-1 (writes into a pipe|waits)", "subprocess-pipe"),
    "data_of_ftp": (r"waits for the FTP server 127\.0\.0\.1 to connect", "peer-silent"),
    "timer_is_not_armed": (r"its timer \(timerfd\), which is not armed", "nobody-left"),
    "first_of_two_futures": (r"result of a Future \(as_completed\)", "pipe-read"),
    "peer_shows_no_key": (r"show that it has the key: waits for what process", "writer-gone"),
}
WELL = ["locks_apart", "timer_of_a_second", "waits_with_key", "has_many_tasks",
        "drains_into_a_slow_one", "drains_into_itself", "serves_in_a_loop", "workers_of_one_task"]


def test_what_hangs():
    programs, first = begin(HANG, FILE), {}

    def all_told():
        for name, said in looked_at(programs).items():
            if said["stalled"] and name not in first:
                first[name] = said
                keep("later: " + name, HANG[name][1], said)
        return len(first) == len(HANG)
    until("each is said to hang", all_told)
    ten_looks("hangs", lambda: looked_at(programs))
    wrong = {name: said for name, said in first.items()
             if said["cause"] != HANG[name][1] or not said["evidence"]
             or not re.search(HANG[name][0], said["chain"][0]["summary"] + said["summary"])}
    assert not wrong, wrong


def test_a_pool_whose_initializer_fails():
    """Its workers end one after the other: each look finds the same."""
    (pid,) = begin(["initializer_fails"], FILE)
    until("it is seen", lambda: diagnosed(pid)["cause"] == "pool-result")
    said = named_first("later: initializer_fails", pid, "pool-result", "likely",
                       "whose workers end, and are started anew, again and again")
    assert any("maxtasksperchild is not set" in one for one in said["evidence"]), said
    assert [diagnosed(pid)["cause"] for _ in range(LOOKS)] == ["pool-result"] * LOOKS


def test_who_is_well():
    programs = begin(WELL, FILE)
    looks = [looked_at(programs) for _ in range(LOOKS)]
    for name in WELL:
        keep("later: " + name, "well", looks[-1][name])
    ten_looks("well", lambda: looked_at(programs))
    wrong = [(name, said) for look in looks for name, said in look.items()
             if said["stalled"] or said["state"] == "stuck" or said["also"]]
    assert not wrong, wrong


def test_pools_whose_workers_end_as_they_are_told():
    """By maxtasksperchild, and with their pool."""
    programs = begin(["worker_for_each_task", "begins_pool_after_pool"], FILE)
    looks = [looked_at(programs) for _ in range(LOOKS)]
    wrong = [said for look in looks for said in look.values() if said["cause"] == "pool-result"
             and "started anew" in said["summary"]]
    assert not wrong, wrong


def test_a_pool_whose_tasks_sleep(edge_python):
    """In a function of C: up to 3.10 that is a select() of nothing."""
    target = Target([edge_python, in_targets(FILE), "has_many_tasks"])
    until("its tasks have begun", lambda: any(
        link["cause"] == "sleeps" for link in diagnosed(target.pid)["chain"]))
    said = not_hung("a pool whose tasks sleep", target.pid)
    assert said["cause"] in ("sleeps", "condition", "runs") and not said["also"], said


def test_a_server_that_reads_a_stream_of_its_own():
    """That it serves, too, does not make its main task idle."""
    (pid,) = begin(["stream_of_its_own_loop"], FILE)
    until("it waits", lambda: diagnosed(pid)["state"] == "blocked")
    said = diagnosed(pid)
    assert not said["stalled"] and said["cause"] == "condition", said
    assert "whose task Task-1 awaits `reader.read(1)`" in said["summary"], said


@pytest.mark.once
def test_a_thread_in_another_interpreter(newest_python):
    """It is one thread, with a state and frames in each interpreter that it has entered."""
    if interpreters.minor(newest_python) < 14:
        pytest.skip("InterpreterPoolExecutor came with CPython 3.14")
    target = Target([newest_python, in_targets(FILE), "interpreter_waits"])
    said = named_first("a thread in another interpreter", target.pid, "nobody-left", "likely",
                       "all 2 threads that are here wait for each other")
    assert said["state"] == "stuck" and len(said["chain"]) == 2, said
    assert 'InterpreterPoolExecutor-0_0"' in said["chain"][1]["who"], said
    threads = hangdbg("threads", target.pid).out
    assert " 2 threads " in threads and threads.count("InterpreterPoolExecutor-0_0") == 1, threads
