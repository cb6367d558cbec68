"""A child that the program forks has its parent's breakpoints in its memory, and nobody who
would let it go: it stops at none."""

import pytest

from harness import PATIENCE, start, until
from test_breakpoints import attached
from test_hold import ask, holding
from test_step import asleep_at


@pytest.mark.parametrize("stop, said", [("b in_child", "Breakpoint 1 at in_child"),
                                        ("catch Raised", "Breakpoint 1 at exception")])
def test_a_forked_child_stops_nowhere(stop, said, python):
    target = start("forking", python, env={"PYTHONWARNINGS": "ignore"})  # of threads: ours
    process = attached(target)
    ask(process, stop, said)
    assert target.finish()["status"] == 7
    process.stdin.close()
    process.wait(20)


def test_a_step_over_a_fork_is_the_parents(python):
    target = start("forking", python, env={"PYTHONWARNINGS": "ignore"})
    process = holding(target)
    process.stdin.write("n\n")
    process.stdin.flush()
    until("it steps", lambda: asleep_at(target, "lock.acquire()"))
    target.go_on()
    ask(process, "n", "if child == 0")
    ask(process, "n", "return answer, ")
    process.stdin.close()
    process.wait(20)
    assert target.read_line(PATIENCE)["status"] == 7
