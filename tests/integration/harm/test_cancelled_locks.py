"""An evaluation that is cancelled gives back each lock that it has taken: the program's own
threads, which want the same ones, go on."""

import ast
import os

import pytest

import processes
from harness import agent_goes, evaluate, hangdbg, place, start, start_hangdbg, until

FUNCTIONS = ["log_once", "put_and_get", "notify", "write", "block", "poll"]
CANCELLED = 12
CANCELS = 180.0  # seconds; for what takes a minute at the longest (injector/bootstrap/cancel.c)


def all_go_on(target):
    """Each of its threads has gone round since."""
    def counts():
        return ast.literal_eval(evaluate(target, "dict(counts)"))

    before = counts()
    until("%s each go on" % before, lambda: all(
        now > before[name] for name, now in counts().items()))


def in_a_loop(function):
    return "[%s() for _ in iter(int, 1)]" % function


@pytest.mark.parametrize("function", FUNCTIONS)
def test_when_time_is_up(function, python):
    target = start("lock_users", python)
    for _ in range(CANCELLED):
        done = hangdbg("eval", target.pid, in_a_loop(function), *place(target),
                       "--timeout", "0.1")
        assert done.rc == 4, done
    agent_goes(target, CANCELS)
    all_go_on(target)
    assert target.finish()["answer"] == 41


@pytest.mark.parametrize("function", FUNCTIONS)
def test_when_the_client_is_killed(function, edge_python):
    target = start("lock_users", edge_python)
    for number in range(CANCELLED):
        client = start_hangdbg("eval", target.pid, "counts.update(mine=%d), %s" % (
            number, in_a_loop(function)), *place(target))
        until("it runs", lambda: hangdbg(
            "peek", target.pid, "counts['mine']", *place(target)).out == "%d\n" % number)
        client.kill()
        client.communicate()
        agent_goes(target, CANCELS)
    assert not processes.code_of_no_file(target.pid)
    evaluate(target, "counts.pop('mine')")
    all_go_on(target)
    assert target.finish()["answer"] == 41


def test_in_a_suspended_thread(edge_python):
    """There the program's own thread runs it."""
    target = start("lock_users", edge_python)
    for function in FUNCTIONS:
        def is_cancelled():
            done = hangdbg("attach", target.pid, *place(target), "--timeout", "0.2", "-c", "hold",
                           "-c", "p " + in_a_loop(function), "-c", "release")
            return "time is up" in done.err or "does not react" in done.err
        until("it gets as far as the expression", is_cancelled)
    all_go_on(target)
    assert target.finish()["answer"] == 41


@pytest.fixture
def locked(edge_python):
    return start("lock_users", edge_python)


def killed_while_it_waits(target, expression):
    client = start_hangdbg("eval", target.pid, "counts.update(mine=1), " + expression,
                           *place(target))
    until("it runs", lambda: hangdbg(
        "peek", target.pid, "counts['mine']", *place(target)).out == "1\n")
    client.kill()
    client.communicate()


def goes_on_after(target, expression):
    """What was waited for comes, and its lock is free afterwards."""
    hangdbg("eval", target.pid, expression + " and None", *place(target))
    agent_goes(target, CANCELS)
    assert not processes.code_of_no_file(target.pid)
    evaluate(target, "counts.pop('mine')")
    all_go_on(target)
    assert target.finish()["answer"] == 41


def test_that_waits_for_a_lock_in_c(locked):
    """Which it gets when nobody wants it any more."""
    evaluate(locked, "plain.acquire()")
    killed_while_it_waits(locked, "block()")
    goes_on_after(locked, "plain.release()")


def test_that_waits_while_the_program_collects(locked):
    """Without a GIL that frees, in another thread, what our own would look by."""
    evaluate(locked, "plain.acquire()")
    killed_while_it_waits(locked, "block()")
    for _ in range(6):
        evaluate(locked, "__import__('gc').collect() and None")
    goes_on_after(locked, "plain.release()")


def test_that_waits_before_it_takes_a_lock(locked, tmp_path):
    """Not in a call: from 3.11 on Python looks for an exception after the next one."""
    path = str(tmp_path / "lines")
    os.mkfifo(path)
    with open(path, "r+b", buffering=0) as lines:
        killed_while_it_waits(locked, "read(open(%r, 'rb'))" % path)
        lines.write(b"line\n")
        goes_on_after(locked, "None")
