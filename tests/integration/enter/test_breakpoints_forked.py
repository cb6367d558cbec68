"""A child that the program forks has its parent's breakpoints in its memory, and nobody who
would let it go: it stops at none."""

import pytest

from harness import start
from test_breakpoints import attached
from test_hold import ask


@pytest.mark.parametrize("stop, said", [("b in_child", "Breakpoint 1 at in_child"),
                                        ("catch Raised", "Breakpoint 1 at exception")])
def test_a_forked_child_stops_nowhere(stop, said, python):
    target = start("forking", python, env={"PYTHONWARNINGS": "ignore"})  # of threads: ours
    process = attached(target)
    ask(process, stop, said)
    assert target.finish()["status"] == 7
    process.stdin.close()
    process.wait(20)
