"""Programs that are traced or profiled already: their tools see what they would see
without us, while we break and step and afterwards."""

import subprocess

import pytest

import interpreters
from hangs import folder_with
from harness import start
from test_break_lines import answer
from test_breakpoints import attached, leave
from test_hold import ask
from told import break_at, comes_to

FILE = "measured.py"
WAYS = ["coverage", "coverage-sysmon", "cProfile", "settrace"]


def start_with(way, python):
    tool, _, core = way.partition("-")
    if way == "cProfile" and subprocess.run(
            [python, "-c", "import _lsprof"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this Python was built without cProfile")
    if tool != "coverage":
        return start("measured", python, tool)
    if core and interpreters.minor(python) < 12:
        pytest.skip("no sys.monitoring before 3.12")
    return start("measured", python, tool, env={
        "COVERAGE_CORE": core or "ctrace",
        "PYTHONPATH": folder_with("coverage", python, "coverage")})


def right(target):
    assert answer(target, "work(4)") == 12
    assert answer(target, "work(2)") == 2
    assert answer(target, "sums(3)") == 3
    assert answer(target, "same()") == [True, True]


def broken_and_stepped(target):
    """The same as right(), with us."""
    process = attached(target)
    break_at(process, FILE, "loop")
    comes_to(process, target, "work(4)", FILE, "loop")
    ask(process, "p [part, total]", "[0, 0]")
    ask(process, "s", "--Call--")
    ask(process, "n", "doubled = number * 2")
    ask(process, "n", "return doubled")
    ask(process, "r", "--Return--")
    ask(process, "n", "for part in range(number)")
    ask(process, "p [part, total]", "[0, 0]")
    ask(process, "c", "total += twice(part)")
    ask(process, "cl 1", "Deleted")
    break_at(process, FILE, "result")
    ask(process, "c", "return total")
    ask(process, "r", "--Return--")
    ask(process, "p $_retval", "12")
    for _ in range(2):  # the text that eval() runs returns as well, where it is traced
        if "listen" in ask(process, "r;;p 'in ' + $_frame.f_code.co_name", "'in "):
            break
    ask(process, "w", "-> sys.stdout.flush()")
    ask(process, "release", "resumed")
    assert target.read_line(20) == 12
    comes_to(process, target, "work(2)", FILE, "result")
    ask(process, "cl 2", "Deleted")
    break_at(process, FILE, "piece")
    ask(process, "release", "resumed")
    assert target.read_line(20) == 2
    comes_to(process, target, "sums(3)", FILE, "piece")
    for number in range(3):
        ask(process, "p part + 5", str(number + 5))
        if number < 2:
            ask(process, "c", "yield part")
    ask(process, "release", "resumed")
    assert target.read_line(20) == 3
    assert answer(target, "same()") == [True, True]
    leave(process)


@pytest.mark.parametrize("way", WAYS)
def test_sees_what_it_would_see(way, python):
    alone = start_with(way, python)
    right(alone)
    right(alone)
    assert answer(alone, "tools()") == alone.ready["tools"]
    expected = alone.finish()
    assert expected["kept"] == [True, True] and expected["measured"]

    target = start_with(way, python)
    before = target.snapshot()
    broken_and_stepped(target)
    target.assert_as_before(before, arenas=4)
    right(target)
    assert answer(target, "tools()") == target.ready["tools"]
    result = target.finish()
    assert result.pop("measured") == expected.pop("measured")
    assert result == expected
