"""The blocking system calls, interrupted by twenty attaches, each by the only
thread that there is to borrow: those that the kernel can restart end on time and
as they always do. The others are avoided as long as another thread sleeps.
(thread_choice.cpp: rank_of_call; the table in docs/injection.md.)

On a busy machine a call ends late whoever looks. So beside each target the same
call runs in two processes that nobody attaches to, and it may be LATE later than
the later one of those.
"""

import pytest

from harness import evaluate, hangdbg, place, start

ATTACHES = 20
EARLY = 0.001  # seconds; a call must not end before its time
LATE = 0.010
# A relative time is restarted with what was left of it: the call ends later by
# the time for which the thread stood still, of which hangdbg knows the most.
RESTART = 0.005
# Where an untouched call is later than this, a delay of ours could hide in it.
QUIET = 0.040
TRIES = 5

RESTARTED = [
    "accept", "accept4", "clock_nanosleep", "clock_nanosleep_until", "connect", "fcntl",
    "flock", "futex", "futex_plain", "futex_waitv", "mq_timedreceive", "mq_timedreceive_unlimited",
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


def ends_on_time(seconds, begin, attach):
    """begin() starts a target whose call lasts so long; attach(target) is what it
    must not notice, but for the seconds that it returns. Tried again where the
    machine may have been too busy."""
    seen = []
    for tries in range(TRIES):
        untouched = [begin() for _ in range(2)]
        target = begin()
        try:
            noticed = attach(target) or 0
        except AssertionError:
            if (tries == TRIES - 1 or target.alive()
                    or lateness(target, seconds) < -EARLY):
                raise
            continue  # it was over, and well, before we had done all
        late = lateness(target, seconds)
        usual = max(lateness(other, seconds) for other in untouched)
        assert late >= -EARLY
        seen.append((late, usual, noticed))
        if late <= min(usual, QUIET) + LATE + noticed:
            return
    if sum(usual <= QUIET for _, usual, _ in seen) < 2:
        pytest.skip("too busy a machine: what nobody touches is late as well: %s" % seen)
    raise AssertionError("late, what nobody touched, and what is to be expected: %s" % seen)


def lateness(target, seconds):
    result = target.finish(seconds + 20)
    assert result["result"] == result.get("normal", 0), result
    return result["duration"] - seconds


def attach_often(target):
    """How long the thread was seen to stand still, and to be sent on its way."""
    stood_still = 0.0
    for _ in range(ATTACHES):
        done = hangdbg("eval", target.pid, "answer", *place(target), "--json", "--timings")
        assert done.rc == 0 and done.json()["repr"] == "41", done
        # On a busy machine the agent of the one before may still be there.
        stood_still += done.json()["timings_us"].get("borrowed", 0) / 1e6
    assert target.unread == b"" and target.alive()
    return stood_still + ATTACHES * RESTART


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

    def attach(target):
        stood_still = attach_often(target)
        return stood_still if call in RELATIVE else 0

    ends_on_time(seconds, lambda: start("timed_call", python, call, seconds), attach)


@pytest.mark.slow
@pytest.mark.parametrize("call", [*EINTR, *RELATIVE, "write_half"])
def test_avoided_while_another_thread_sleeps(call, newest_python):
    def attach(target):
        for _ in range(5):
            assert evaluate(target, "answer") == "41"

    seconds = 5.0
    ends_on_time(
        seconds, lambda: start("timed_call", newest_python, call, seconds, "beside"), attach)


@pytest.mark.parametrize("call", ["epoll_wait", "read_limited", "write_limited"])
def test_avoided_while_another_thread_computes(call, newest_python):
    """So is one that wants to sleep again, and has no CPU for that."""
    target = start("timed_call", newest_python, call, 60, "beside-busy")
    for _ in range(5):
        assert evaluate(target, "answer") == "41"
    assert target.alive() and target.unread == b""


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
