"""An evaluation that is cancelled gives back each lock that it has taken: the program's own
threads, which want the same ones, go on."""

import ast

import pytest

import interpreters
import processes
from harness import evaluate, hangdbg, place, start, start_hangdbg, until

FUNCTIONS = ["log_once", "put_and_get", "notify", "write"]
CANCELLED = 12


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
    if interpreters.variant(python) == interpreters.FREE_THREADED and function != "log_once":
        pytest.skip("without a GIL it is raised wherever it is: docs/limits.md")
    target = start("lock_users", python)
    for _ in range(CANCELLED):
        done = hangdbg("eval", target.pid, in_a_loop(function), *place(target),
                       "--timeout", "0.1")
        assert done.rc == 4, done
    all_go_on(target)
    assert target.finish()["answer"] == 41


@pytest.mark.parametrize("function", FUNCTIONS)
def test_when_the_client_is_killed(function, edge_python):
    if interpreters.variant(edge_python) == interpreters.FREE_THREADED and function != "log_once":
        pytest.skip("without a GIL it is raised wherever it is: docs/limits.md")
    target = start("lock_users", edge_python)
    for number in range(CANCELLED):
        client = start_hangdbg("eval", target.pid, "counts.update(mine=%d), %s" % (
            number, in_a_loop(function)), *place(target))
        until("it runs", lambda: hangdbg(
            "peek", target.pid, "counts['mine']", *place(target)).out == "%d\n" % number)
        client.kill()
        client.communicate()
        until("the agent has gone", lambda: not processes.debugger_threads(target.pid))
    evaluate(target, "counts.pop('mine')")
    all_go_on(target)
    assert target.finish()["answer"] == 41


def test_in_a_suspended_thread(edge_python):
    """There the program's own thread runs it."""
    target = start("lock_users", edge_python)
    for function in FUNCTIONS:
        done = hangdbg("attach", target.pid, *place(target), "--timeout", "0.2", "-c", "hold",
                       "-c", "p " + in_a_loop(function), "-c", "release")
        assert "time is up" in done.out + done.err, done
    all_go_on(target)
    assert target.finish()["answer"] == 41
