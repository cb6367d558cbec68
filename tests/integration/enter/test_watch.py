"""The prompt's `watch`: a thread runs until the value of an expression is another."""

from harness import start, until
from test_hold import ask, holding, typed
from test_step import assert_nothing_left, in_second_wait


def test_a_value_changes(python):
    """In the frame that was chosen, whatever function changes it; a name that is not there
    yet changes when it comes; and at the end of that frame it stops, too."""
    target = start("stepped", python)
    process = holding(target)
    typed(process, "watch answer")
    target.go_on()
    ask(process, "w 1", "answer = 42, was 41")
    ask(process, "p 'at'", "total = compute(3)")
    ask(process, "s", "--Call--")
    ask(process, "n", "total = 0")
    ask(process, "watch total", "total = 0, was NameError")
    ask(process, "watch total", "total = 2, was 0")
    ask(process, "w 1", "for number in range(count)")
    ask(process, "s", "total += twice(number)")
    ask(process, "s", "--Call--")
    ask(process, "u", "total += twice(number)")
    ask(process, "watch [total, number]", "[total, number] = [6, 2], was [2, 2]")
    ask(process, "watch count", "count = 3, and its function has returned")
    ask(process, "w 1", "pair = list(numbers())")
    ask(process, "release", "resumed")
    process.stdin.close()
    assert process.wait(20) == 0
    until("the second wait", lambda: in_second_wait(target))
    assert_nothing_left(target)
    assert target.finish()["total"] == 6
