"""The prompt's `debug`: code of one's own is stepped in a thread that is held; and `retval`."""

from harness import start, until
from test_hold import ask, call_of, holding, typed
from test_step import assert_nothing_left, in_second_wait


def left(target, process):
    """What the program has come to after that."""
    process.stdin.close()
    assert process.wait(20) == 0
    until("the second wait", lambda: in_second_wait(target))
    assert_nothing_left(target)
    return target.finish()


def test_in_a_call_and_at_a_line(python):
    target = start("stepped", python)
    process = holding(target)
    ask(process, "debug compute(3)", "<expression>(1)<module>()")
    ask(process, "s", "--Call--")
    ask(process, "s", "total = 0")
    ask(process, "w", "wait_twice()")
    ask(process, "ll", "def compute(count)")
    ask(process, "n", "for number in range(count)")
    ask(process, "p count", "3")
    ask(process, "debug twice(21)", "<expression>(1)<module>()")
    ask(process, "c", "debug has ended: 42")
    ask(process, "p [count, total]", "[3, 0]")
    ask(process, "r", "--Return--")
    ask(process, "r", "--Return--")
    ask(process, "n", "debug has ended: 6")
    ask(process, "p answer", "41")
    ask(process, "debug 1 / 0", "<expression>(1)<module>()")
    ask(process, "n", "ZeroDivisionError: division by zero")
    ask(process, "n", "--Return--")
    ask(process, "n", "debug has ended raised ZeroDivisionError: division by zero")
    typed(process, "n")
    target.go_on()
    ask(process, "n", "total = compute(3)")
    ask(process, "debug answer = twice(answer)", "<expression>(1)<module>()")
    ask(process, "c", "debug has ended")
    ask(process, "p answer", "84")
    ask(process, "debug print('a word')", "<expression>(1)<module>()")
    ask(process, "c", "a word")
    ask(process, "n", "pair = list(numbers())")
    ask(process, "release", "resumed")
    assert left(target, process) == {"answer": 84, "total": 6, "pair": [1, 2], "traced": False}


def test_breakpoint_in_it(python):
    target = start("stepped", python)
    process = holding(target)
    ask(process, "b twice", "Breakpoint 1")
    ask(process, "debug compute(2)", "<expression>(1)<module>()")
    ask(process, "c", "doubled = number * 2")
    ask(process, "p number", "0")
    ask(process, "cl 1", "Deleted breakpoint 1")
    ask(process, "r", "--Return--")
    ask(process, "n", "for number in range(count)")
    ask(process, "c", "debug has ended: 2")
    ask(process, "release", "resumed")
    target.go_on()
    left(target, process)


def test_client_ends_in_it(python):
    """Where it stands in it, and where it runs in it without end."""
    target = start("stepped", python)
    before, call = target.snapshot(), call_of(target)
    for command, stops_at in (("debug compute(3)", "<expression>(1)<module>()"),
                              ("debug [0 for _ in iter(int, 1)]", None)):
        process = holding(target)
        if stops_at:
            ask(process, command, stops_at)
            ask(process, "s", "--Call--")
        else:
            ask(process, command, "<expression>(1)<module>()")
            typed(process, "r")
            until("it runs", lambda: call_of(target).startswith("running"))
        process.kill()
        process.wait()
        until("the thread in its call", lambda: call_of(target) == call, seconds=2)
        target.assert_as_before(before, arenas=4)
    assert_nothing_left(target)
    target.go_on()
    until("the second wait", lambda: in_second_wait(target))
    assert target.finish()["total"] == 6


def test_what_it_is_not_for(newest_python):
    target = start("stepped", newest_python)
    process = holding(target)
    for command in ("retval", "debug", "debug 1 +"):
        typed(process, command)
    ask(process, "p answer", "41")
    typed(process, "n")
    target.go_on()
    ask(process, "n", "total = compute(3)")
    ask(process, "s", "--Call--")
    ask(process, "r", "--Return--")
    ask(process, "retval", "6")
    ask(process, "n", "pair = list(numbers())")
    ask(process, "n", "second.acquire()")
    ask(process, "release", "resumed")
    left(target, process)
    errors = process.stderr.read()
    for text in ("no function has just returned in this thread",
                 "debug needs an expression", "SyntaxError"):
        assert text in errors
