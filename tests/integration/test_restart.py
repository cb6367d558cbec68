"""The blocking system calls, interrupted by twenty attaches, each by the only
thread that there is to borrow: those that the kernel can restart end on time and
as they always do. The others are avoided as long as another thread sleeps.
(thread_choice.cpp: rank_of_call; the table in docs/injection.md.)
"""

import pytest

from harness import evaluate, hangdbg, start

ATTACHES = 20
EARLY = 0.001  # seconds; a call must not end before its time
LATE = 0.010
BUSY = 0.140  # both CPUs may be busy with other tests
# A relative time is restarted with what was left of it: the call ends later by
# the time for which the thread stood still.
STOP = 0.015

RESTARTED = [
    "accept", "accept4", "clock_nanosleep", "clock_nanosleep_until", "connect", "fcntl",
    "flock", "futex", "futex_waitv", "mq_timedreceive", "mq_timedreceive_unlimited",
    "mq_timedsend", "msgrcv", "msgsnd", "nanosleep", "open", "pause", "poll", "read",
    "read_eventfd", "read_inotify", "read_pipe", "read_signalfd", "read_terminal",
    "readv", "recvfrom", "recvmmsg", "recvmsg", "rt_sigsuspend", "sendmsg", "sendto",
    "splice", "wait4", "waitid", "write",
]
RELATIVE = ["ppoll", "pselect6", "select"]
EINTR = [
    "accept4_limited", "accept_limited", "connect_limited", "epoll_pwait",
    "epoll_pwait2", "epoll_wait", "io_getevents", "io_uring_enter", "read_limited",
    "recvfrom_limited", "recvmsg_limited", "rt_sigtimedwait",
    "rt_sigtimedwait_unlimited", "semop", "semtimedop", "sendto_limited",
    "write_limited",
]
WITH_BOTH_PYTHONS = ["futex", "nanosleep", "poll", "read", "select"]


def ends_on_time(target, call, seconds, stops=1):
    result = target.finish(seconds + 20)
    assert result["result"] == result["normal"], result
    late = LATE + BUSY + (stops * STOP if call in RELATIVE else 0)
    assert seconds - EARLY <= result["duration"] <= seconds + late, result


def attach_often(target):
    for _ in range(ATTACHES):
        assert evaluate(target, "answer") == "41"
    assert target.unread == b"" and target.alive()


@pytest.mark.parametrize("call", WITH_BOTH_PYTHONS)
def test_on_time_after_twenty_evals(call, edge_python):
    interrupt(call, edge_python)


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", sorted({*RESTARTED, *RELATIVE} - set(WITH_BOTH_PYTHONS)))
def test_others_on_time_after_twenty_evals(call, newest_python):
    interrupt(call, newest_python)


def interrupt(call, python):
    seconds = 4.0
    target = start("timed_call", python, call, seconds)
    attach_often(target)
    ends_on_time(target, call, seconds, stops=ATTACHES)


@pytest.mark.slow
@pytest.mark.parametrize("call", [*EINTR, *RELATIVE, "write_half"])
def test_avoided_while_another_thread_sleeps(call, newest_python):
    seconds = 2.0
    target = start("timed_call", newest_python, call, seconds, "beside")
    for _ in range(5):
        assert evaluate(target, "answer") == "41"
    ends_on_time(target, "not interrupted", seconds)


@pytest.mark.parametrize("call", EINTR)
def test_what_cannot_be_restarted(call, newest_python):
    """The kernel has no other end for it (signal(7)); what borrows it is told."""
    target = start("timed_call", newest_python, call, 20)
    assert hangdbg("eval", target.pid, "1 + 1").rc in (0, 2, 4)  # it may end at once
    result = target.finish()
    assert (result["result"], result["duration"] < 20) == ([-1, 4], True), result


def test_a_write_that_has_done_half(newest_python):
    target = start("timed_call", newest_python, "write_half", 20)
    hangdbg("eval", target.pid, "1 + 1")
    assert target.finish()["result"] == [4096, 0]


def test_low_level_lock_is_not_interrupted(newest_python):
    """Only an exact unwind could tell it from a lock of the libc's own."""
    seconds = 3.0
    target = start("timed_call", newest_python, "futex_plain", seconds)
    refused = hangdbg("eval", target.pid, "answer", "--timeout", "1")
    refused.assert_refused(4, "low-level lock")
    ends_on_time(target, "futex_plain", seconds)
