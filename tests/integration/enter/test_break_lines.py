"""Line breakpoints where they need a trace function: CPython 3.7 to 3.11."""

import pytest

import interpreters
import processes
from harness import start, until
from line_breaks import LineBreaks, line_of
from test_harmless import resident

ALLOCATOR_NOISE = 512  # KiB

TRACED = [pytest.param(it.path, id=interpreters.name(it)) for it in interpreters.found()
          if interpreters.minor(it.path) < 12] or [pytest.param(None, id="no-interpreter")]


@pytest.fixture(params=TRACED)
def told(request):
    """A target that does what it is told; it ended well."""
    target = start("told", request.param)
    yield target
    if target.alive():
        target.finish()


def tell(target, expression):
    target.process.stdin.write(expression.encode() + b"\n")
    target.process.stdin.flush()


def answer(target, expression):
    tell(target, expression)
    return target.read_line(20)


def hit(name, times=1):
    return [list(line_of(name))] * times


def assert_nothing_left(target, before):
    target.assert_as_before(before, arenas=4)
    tracer, frames = answer(target, "left()")
    assert not tracer and not any(frames)
    assert answer(target, "work(1)") == 2
    assert answer(target, "wakes(1)")


def test_lines_are_reached_and_no_others(told):
    before = told.snapshot()
    breaks = LineBreaks(told)
    breaks.break_at("call", "loop", "generator", "coroutine")
    assert answer(told, "work(4)") == 8
    assert answer(told, "wakes(3)") == 3  # its frame was there before
    assert answer(told, "next(generator)") == 2
    answer(told, "new_thread()")
    assert answer(told, "catches(6)") == 12
    expected = [*hit("call"), *hit("loop", 3), *hit("generator"), *hit("call", 2)]
    assert breaks.hits() == expected
    breaks.break_at("loop")
    assert answer(told, "work(4)") == 8
    assert answer(told, "wakes(2)") == 5
    assert breaks.hits() == hit("loop", 2)
    breaks.no_breaks()
    assert answer(told, "wakes(1)") == 6
    assert answer(told, "work(4)") == 8
    assert breaks.hits() == hit("loop", 2)
    breaks.break_at("call")
    breaks.end()
    assert_nothing_left(told, before)


def test_what_it_raises_comes_up_at_the_line(told):
    breaks = LineBreaks(told)
    breaks.break_at("call", answer="raise")
    assert answer(told, "catches(6)") == "of ours"
    assert breaks.hits() == hit("call")
    breaks.no_breaks()
    assert answer(told, "catches(6)") == 12
    breaks.end()


def test_own_tracer_goes_on(told):
    before = answer(told, "traced(work, 3)")
    assert before[:2] == [6, True] and len(before[2]) == 4
    breaks = LineBreaks(told)
    breaks.break_at("call")
    assert answer(told, "traced(work, 3)") == before
    assert breaks.hits() == hit("call")
    breaks.end()
    assert answer(told, "traced(work, 3)") == before


def test_client_killed_where_a_thread_stands(told):
    before = told.snapshot()
    for _ in range(3):
        breaks = LineBreaks(told)
        breaks.break_at("call", answer="stand")
        tell(told, "work(4)")
        until("the line", lambda: breaks.hits() == hit("call"))
        assert answer_within(told, 0.2) is None
        breaks.kill()
        assert answer_within(told, 1) == 8
        assert_nothing_left(told, before)


def answer_within(target, seconds):
    try:
        return target.read_line(seconds)
    except AssertionError:
        return None


def test_a_child_and_the_end_of_the_program(told):
    """A child has our evaluator and nobody who would resume it; and the program
    ends while it is there."""
    breaks = LineBreaks(told)
    breaks.break_at("call", answer="stand")
    assert answer(told, "forks(4)") == 8
    assert breaks.hits() == []
    told.finish()
    breaks.kill()


def test_frames_that_return_after_we_have_gone(told):
    """Frames of our evaluator are on the stack of a thread that waits. Then the
    region stays, until the next agent finds that nobody is in it."""
    before = told.snapshot()
    breaks = LineBreaks(told)
    breaks.break_at("below")
    answer(told, "dives(300)")
    breaks.end()
    until("hangdbg's threads gone", lambda: not processes.debugger_threads(told.pid))
    assert processes.code_of_no_file(told.pid) == 1
    for _ in range(3):  # the frame is on the stack, but not with ours below it
        breaks = LineBreaks(told)
        breaks.break_at("below")
        breaks.end()
    until("one region left", lambda: processes.code_of_no_file(told.pid) == 1)
    breaks = LineBreaks(told)
    breaks.break_at("below")
    assert answer(told, "surfaces()") == [300]
    assert breaks.hits() == hit("below")
    breaks.end()
    breaks = LineBreaks(told)
    breaks.break_at("above", "below")
    answer(told, "dives(300)")
    assert answer(told, "surfaces()") == [300, 300]
    assert breaks.hits() == [*hit("above"), *hit("below")]
    breaks.end()
    assert_nothing_left(told, before)


@pytest.mark.slow
def test_two_hundred_times(told):
    """Nothing grows, and no trace function is left."""
    def cycle():
        breaks = LineBreaks(told)
        breaks.break_at("call", "loop", "below")
        answer(told, "wakes(2)")
        assert answer(told, "work(4)") == 8
        assert breaks.hits() == [*hit("loop", 2), *hit("call")]
        breaks.end()
        until("hangdbg's threads gone", lambda: not processes.debugger_threads(told.pid))

    for _ in range(60):  # until the allocator has what it wants
        cycle()
    answer(told, "gc.collect()")
    before, size = told.snapshot(), resident(told.pid)
    for _ in range(140):
        cycle()
    answer(told, "gc.collect()")
    assert_nothing_left(told, before)
    assert resident(told.pid) - size < 2 * ALLOCATOR_NOISE  # one step of an arena
