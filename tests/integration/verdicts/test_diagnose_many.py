"""hangdbg diagnose: programs of many kinds that no rule was made for, judged side by side, so that
each costs little."""

import re
import sys

import pytest

from diagnosed import LOOKS, hangdbg, keep, ten_looks
from harness import Target, in_targets, until

HANG = {
    "finalizer_in_with": "deadlock", "collected_in_queue": "deadlock",
    "weakref_callback": "deadlock", "terminal_is_full": "peer-does-not-read",
    "fifo_is_full": "pipe-full", "simple_queue_is_full": "pipe-full",
    "simple_queue_is_empty": "nobody-left", "feeder_is_full": "subprocess-pipe",
    "errors_are_not_read": "subprocess-pipe", "grandchild_has_the_pipe": "pipe-read",
    "imports_in_a_thread": "deadlock", "locks_in_a_circle": "deadlock",
    "pool_waits_for_itself": "deadlock", "condition_of_a_task": "future-unset",
    "tasks_are_not_done": "future-unset", "plain_future": "future-unset",
    "waits_at_exit": "nobody-left", "queue_without_reader": "nobody-left",
    "party_is_missing": "nobody-left", "worker_has_died": "task-lost",
}
MORE_HANG = {
    "lock_of_map": "python-lock", "thread_pool_in_itself": "deadlock",
    "initializer_is_stuck": "deadlock", "other_party_has_ended": "nobody-left",
    "both_wait_for_notify": "nobody-left", "epoll_of_nothing": "nobody-left",
    "eventfd_of_nobody": "nobody-left", "semaphore_in_c": "nobody-left",
    "first_of_two_cats": "subprocess-pipe", "pidfd_of_a_reader": "subprocess-pipe",
    "queue_of_a_loops_thread": "nobody-left", "output_of_a_loops_grandchild": "pipe-read",
}
POLL = ["asks_condition", "asks_shared_queue", "asks_connection", "asks_child", "asks_quickly",
        "asks_task_queue", "asks_socket"]
WELL = ["server_with_selector", "waits_for_signal", "timer_after_timer", "tasks_take_turns",
        "sends_now_and_then", "worker_waits_for_work", "pool_sleeps_in_c"]


MORE_WELL = ["task_sleeps_and_computes", "selects_nothing", "plays_ping_pong", "supervises",
             "asks_child_with_limit", "web_server"]


def begin(names, file="many_waits.py"):
    """By their PID."""
    return {Target([sys.executable, in_targets(file), name],
                   env={"PYTHONWARNINGS": "ignore"}).pid: name for name in names}


def looked_at(programs):
    done = hangdbg("diagnose", *programs, "--json", "--hung-after", "0.3")
    assert done.rc == 0, done
    return {programs[one["pid"]]: one["diagnosis"] for one in done.json()["processes"]}


@pytest.mark.parametrize("file, hang", [("many_waits.py", HANG), ("more_waits.py", MORE_HANG)])
def test_what_hangs(file, hang):
    programs, first = begin(hang, file), {}

    def all_told():
        for name, said in looked_at(programs).items():
            if said["stalled"] and name not in first:
                first[name] = said
                keep("many: " + name, hang[name], said)
        return len(first) == len(hang)
    until("each is said to hang", all_told)
    ten_looks("hangs", lambda: looked_at(programs))
    wrong = {name: said for name, said in first.items()
             if said["cause"] != hang[name] or not said["evidence"]}
    assert not wrong, wrong


def test_who_polls_and_who_is_well():
    programs = begin(POLL + WELL)
    until("each is past its first line", lambda: all(
        said["state"] == "polling"
        for name, said in looked_at(programs).items() if name in POLL))
    looks = [looked_at(programs) for _ in range(LOOKS)]
    for name in POLL + WELL:
        keep("many: " + name, "well", looks[-1][name])
    ten_looks("well", lambda: looked_at(programs))
    wrong = [(name, said) for look in looks for name, said in look.items()
             if said["stalled"] or said["state"] == "stuck"
             or (name in POLL and said["state"] != "polling")]
    assert not wrong, wrong


def test_who_works_for_others_and_is_well():
    """What is said of it is so, too."""
    programs = begin(MORE_WELL, "more_waits.py")
    looks = [looked_at(programs) for _ in range(LOOKS)]
    for name in MORE_WELL:
        keep("many: " + name, "well", looks[-1][name])
    for look in looks:
        for name, said in look.items():
            assert not said["stalled"] and said["state"] != "stuck", (name, said)
        sleeps = look["task_sleeps_and_computes"]
        assert not re.search(r"polls|pool\.py", sleeps["summary"]), sleeps
        assert re.search(r" on 127\.0\.0\.1:\d{1,5}, as a server", look["web_server"]["summary"])
        assert look["selects_nothing"]["summary"] == "waits for a signal", look
        assert look["asks_child_with_limit"]["chain"][0]["cause"] == "child", look
        assert look["supervises"]["chain"][0]["summary"].startswith("waits until one of 3 "), look
