"""Breakpoints beside torch.compile, whose hook for frames (PEP 523) comes and goes
with each call of what it has compiled."""

import pytest

import processes
import torches
from harness import Target, in_targets, until
from test_break_lines import answer
from test_breakpoints import attached, leave
from test_hold import ask
from told import break_at, comes_to

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

IMPORT = 240.0  # seconds for `import torch` from a cold disk, and the first compilations
FILE = "compiled.py"

TORCHES = [
    pytest.param(path, id="torch-" + version, marks=[pytest.mark.skip(
        "this torch has no torch.compile")] if version.startswith("1.") else [])
    for version, path in torches.found()
] or [pytest.param(None, marks=pytest.mark.skip("no interpreter here can import torch"))]


@pytest.fixture(params=TORCHES)
def compiled(request):
    """Whatever was done to it, it ends as ever and has compiled nothing anew."""
    target = Target([request.param, in_targets("compiled.py")], ready_seconds=IMPORT)
    target.wait_hung()
    before = answer(target, "compilations()")
    yield target
    assert answer(target, "work(3)") == 16
    assert answer(target, "compilations()") == before
    own_evaluator(target)
    target.finish(60)


def own_evaluator(target):
    """Once the last thread has come out of what is compiled, which is after it has answered."""
    until("the hook has gone", lambda: answer(target, "evaluator()") == "own")


def test_in_a_plain_function(compiled):
    before = compiled.snapshot()
    process = attached(compiled)
    break_at(process, FILE, "plain")
    for number in (1, 2):
        comes_to(process, compiled, "work(%d)" % number, FILE, "plain")
        ask(process, "p doubled", str(4 * (number + 1)))
        ask(process, "n", "--Return--")
        ask(process, "n", "work()->%d" % (4 * (number + 1)))
        ask(process, "release", "resumed")
        assert compiled.read_line(20) == 4 * (number + 1)
    ask(process, "cl 1", "Deleted")
    assert answer(compiled, "work(5)") == 24
    own_evaluator(compiled)
    leave(process)
    compiled.assert_as_before(before, arenas=4)


def test_while_a_thread_is_in_a_compiled_one(compiled):
    """The hook is another's all the time."""
    for ends_inside in (False, True):
        thread = answer(compiled, "enters(1)")
        process = attached(compiled)
        break_at(process, FILE, "plain")
        break_at(process, FILE, "after")
        comes_to(process, compiled, "work(1)", FILE, "plain")
        ask(process, "release", "resumed")
        assert compiled.read_line(20) == 8
        assert answer(compiled, "evaluator()") == "another"
        if ends_inside:
            leave(process)
            assert answer(compiled, "leaves()") == 6
        else:
            comes_to(process, compiled, "leaves()", FILE, "after", thread)
            ask(process, "p tensor.tolist()", "[4, 4]")
            ask(process, "cl 2", "Deleted")  # what comes after it begins at this line too
            ask(process, "release", "resumed")
            assert compiled.read_line(20) == 6
            comes_to(process, compiled, "work(2)", FILE, "plain")
            ask(process, "release", "resumed")
            assert compiled.read_line(20) == 12
            leave(process)
        assert answer(compiled, "work(3)") == 16
        own_evaluator(compiled)


def test_in_a_compiled_function(compiled):
    """Its lines are in a graph. Where that breaks they are run."""
    process = attached(compiled)
    break_at(process, FILE, "compiled", "torch.compile runs this line in a graph")
    break_at(process, FILE, "calls")
    assert answer(compiled, "work(1)") == 8
    thread = answer(compiled, "enters(1)")
    comes_to(process, compiled, "leaves()", FILE, "calls", thread)
    ask(process, "p grown.tolist()", "[2, 2]")
    ask(process, "cl 2", "Deleted")
    ask(process, "release", "resumed")
    assert compiled.read_line(20) == 6
    ask(process, "b compiled", "Breakpoint 3 at")
    comes_to(process, compiled, "work(1)", FILE, "begins")
    ask(process, "p tensor.tolist()", "[1, 1]")
    ask(process, "cl", "Deleted breakpoint 3")
    ask(process, "release", "resumed")
    assert compiled.read_line(20) == 8
    leave(process)


def test_left_while_a_thread_is_in_a_compiled_one(compiled):
    """Our hook is below the other, and goes when that has gone."""
    process = attached(compiled)
    break_at(process, FILE, "plain")
    answer(compiled, "enters(1)")
    leave(process)
    assert answer(compiled, "work(3)") == 16
    assert answer(compiled, "evaluator()") == "another"
    assert processes.code_of_no_file(compiled.pid) == 1
    assert answer(compiled, "leaves()") == 6
    own_evaluator(compiled)
    process = attached(compiled)
    break_at(process, FILE, "plain")
    assert processes.code_of_no_file(compiled.pid) == 1
    leave(process)
    until("nothing of ours", lambda: processes.code_of_no_file(compiled.pid) == 0)
