"""Breakpoints and steps in functions of greenlets, which switch in the midst of them;
what is set while they are suspended is hit when they go on."""

import pytest

from test_break_lines import answer
from test_breakpoints import attached, leave
from test_greenlets import start_with
from test_hold import ask
from told import break_at, comes_to

FILE = "switching.py"
NAMES = ["a", "b", "c"]


@pytest.fixture
def switching(python):
    return start_with("greenlet", "switching", python)


def right(target, count, turns):
    """After so many turns of each, in all. Its sum is that of 2n + 1."""
    expected = count * (count + 1) + count
    assert turns == [[expected] * 3, True], turns
    return target


def test_each_stops_where_it_comes(switching):
    before = switching.snapshot()
    process = attached(switching)
    break_at(process, FILE, "after")
    break_at(process, FILE, "number")
    comes_to(process, switching, "turns(2)", FILE, "after")
    for count in (1, 2):
        for name in NAMES:
            if (count, name) != (1, "a"):
                ask(process, "c", "return doubled + 1  # after")
            ask(process, "p name, number", "('%s', %d)" % (name, count))
            ask(process, "c", "number += 1  # number")
            ask(process, "p name, number", "('%s', %d)" % (name, count))
    ask(process, "cl 1", "Deleted")
    ask(process, "cl 2", "Deleted")
    ask(process, "release", "resumed")
    right(switching, 2, switching.read_line(20))
    assert answer(switching, "turns(1)") is not None
    leave(process)
    switching.assert_as_before(before, arenas=4)
    right(switching, 4, answer(switching, "turns(1)"))
    result = switching.finish()
    assert result["dead"] == [True] * 3, result


def test_step_over_a_switch(switching):
    before = switching.snapshot()
    process = attached(switching)
    break_at(process, FILE, "switch")
    comes_to(process, switching, "turns(3)", FILE, "switch")
    ask(process, "p name, number", "('a', 2)")
    ask(process, "cl 1", "Deleted")
    # Others run, and it is still this function that is stepped.
    ask(process, "n", "return doubled + 1  # after")
    ask(process, "p name, number", "('a', 2)")
    ask(process, "r", "--Return--")
    ask(process, "r", "while not ended")
    ask(process, "n", "number += 1")
    ask(process, "p name, number", "('a', 2)")
    ask(process, "release", "resumed")
    right(switching, 3, switching.read_line(20))
    leave(process)
    switching.assert_as_before(before, arenas=4)
    right(switching, 4, answer(switching, "turns(1)"))
    switching.finish()
