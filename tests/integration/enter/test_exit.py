"""A target that ends while hangdbg is attached ends as it would have."""

import signal
import time

import pytest

from harness import start, until

DELAY = 0.5  # seconds that the end may take, on a loaded machine


@pytest.fixture
def attached(edge_python, terminal):
    target = start("lock_main", edge_python)
    session = terminal(target.pid)
    session.expect_prompt()
    return target, session


def test_normal_exit(attached):
    target, session = attached
    began = time.monotonic()
    assert target.finish()["answer"] == 41  # with its own rc
    assert time.monotonic() - began < DELAY
    leaves(session)


def test_normal_exit_while_an_expression_runs(attached, tmp_path):
    target, session = attached
    mark = tmp_path / "mark"
    session.type("open(%r, 'w').close(); import time; time.sleep(60)\r" % str(mark))
    until("the expression running", mark.exists)
    began = time.monotonic()
    target.finish()
    assert time.monotonic() - began < DELAY
    leaves(session)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed(attached, number):
    target, session = attached
    target.process.send_signal(number)
    assert target.process.wait(5) == -number
    leaves(session)


def leaves(session):
    """The prompt says that the process has ended, at the latest when it is
    asked something, and hangdbg leaves."""
    session.type("p answer\r")
    session.expect("(?i)(ended|exited|gone|died|no such process)")
    session.type("q\r")
    assert session.wait() in (0, 1, 2, 4), session.text
