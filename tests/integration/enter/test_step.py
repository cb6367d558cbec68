"""A thread that is held goes on, and is held again at the line that was asked for."""

import linecache
import subprocess
import sys

import pytest

import interpreters
from hangs import start_hang
from harness import NORMAL_EXIT, die_with_us, hangdbg, place, start, track, until
from test_hold import BLOCKED, THREAD, ask, call_of, commands, holding, typed

# What is left of stepping in the thread that was stepped, and for all.
LEFT = ("p [__import__('sys').gettrace(), [f.f_trace for f in "
        "__import__('sys')._current_frames().values() if f.f_trace], "
        "[tool for tool in range(6) if hasattr(__import__('sys'), 'monitoring') "
        "and __import__('sys').monitoring.get_tool(tool)]]")


def in_second_wait(target):
    return asleep_at(target, "second.acquire()")


def asleep_at(target, text):
    """Asleep there: a signal that came just before would wake nobody."""
    call = call_of(target)
    (process,) = hangdbg("dump", target.pid, "--json").json()["processes"]
    return any(text in linecache.getline(frame["file"], frame["line"])
               for frame in process["threads"][0]["frames"]) and (
                   "running" not in call and call == call_of(target))


def assert_nothing_left(target):
    process = holding(target)
    assert ask(process, LEFT, "[") == "[None, [], []]\n"
    ask(process, "release", "resumed")
    process.stdin.close()
    process.wait(20)


def test_after_it_unhangs(python):
    target = start("stepped", python)
    before = target.snapshot()
    process = holding(target)
    typed(process, "n")
    target.go_on()
    ask(process, "p answer", "41")
    ask(process, "n", "total = compute(3)")
    ask(process, "p answer", "42")
    ask(process, "s", "--Call--")
    ask(process, "s", "total = 0")
    ask(process, "n", "for number in range(count)")
    ask(process, "n", "total += twice(number)")
    ask(process, "n", "for number in range(count)")
    ask(process, "unt 24", "return total")
    ask(process, "p [count, total]", "[3, 6]")
    typed(process, "total = 7")
    ask(process, "n", "--Return--")
    ask(process, "p $_retval", "7")
    ask(process, "n", "pair = list(numbers())")
    ask(process, "s", "--Call--")
    ask(process, "s", "yield 1")
    ask(process, "r", "second.acquire()")
    ask(process, "p [answer, total, pair]", "[42, 7, [1, 2]]")
    ask(process, "release", "resumed")
    process.stdin.close()
    assert process.wait(20) == 0
    until("the second wait", lambda: in_second_wait(target))
    target.assert_as_before(before, arenas=4)
    assert_nothing_left(target)
    result = target.finish()
    assert (result["answer"], result["total"], result["pair"]) == (42, 7, [1, 2])


@pytest.mark.parametrize("command", ["n", "s", "r", "unt"])
def test_client_ends_before_the_step_does(command, python):
    """The thread is still in its call; then nothing waits for it any more."""
    target = start("stepped", python)
    before, call = target.snapshot(), call_of(target)
    for _ in range(3):
        process = holding(target)
        typed(process, command)
        until("the thread in its call", lambda: call_of(target) == call)
        process.kill()
        process.wait()
        target.assert_as_before(before, arenas=4)
    assert_nothing_left(target)
    target.go_on()
    until("the second wait", lambda: in_second_wait(target))
    result = target.finish()
    assert (result["answer"], result["total"], result["pair"]) == (42, 6, [1, 2])


def test_client_ends_where_it_was_stepped_to(python):
    target = start("stepped", python)
    before = target.snapshot()
    process = holding(target)
    typed(process, "n")
    target.go_on()
    ask(process, "n", "total = compute(3)")
    ask(process, "s", "--Call--")
    process.kill()
    process.wait()
    until("the second wait", lambda: in_second_wait(target), seconds=1)
    target.assert_as_before(before, arenas=4)
    assert_nothing_left(target)
    result = target.finish()
    assert (result["answer"], result["total"], result["pair"]) == (42, 6, [1, 2])


def test_own_tracer_is_put_back(python):
    for killed in (False, True):
        target = start("stepped", python, "traced")
        process = holding(target)
        typed(process, "n")
        if killed:
            process.kill()
        else:
            target.go_on()
            ask(process, "n", "total = compute(3)")
            ask(process, "release", "resumed")
            process.stdin.close()
        process.wait(20)
        if killed:
            target.go_on()
        until("the second wait", lambda: in_second_wait(target))
        result = target.finish()
        assert (result["answer"], result["traced"]) == (42, True), result


def test_time_is_up(newest_python):
    """It is said, and the step is still to come."""
    target = start("stepped", newest_python)
    done = hangdbg("attach", target.pid, *place(target), *commands("n", "p 1 + 1"),
                   "--timeout", "1")
    assert "has not reached its next line" in done.err and "2" in done.out.splitlines(), done
    target.go_on()
    until("the second wait", lambda: in_second_wait(target))
    target.finish()


@pytest.mark.parametrize("hang", BLOCKED)
def test_after_each_way_to_hang(hang, python, library):
    """The call ends, and the thread is there at its next line."""
    if interpreters.variant(python) == interpreters.MUSL and hang == "lock_worker":
        pytest.skip("it is short of stack there, and not held: test_hold")
    target = start_hang(hang, python, library)
    process = holding(target)
    typed(process, "n")
    target.go_on()
    ask(process, "p %s" % THREAD, str(target.tid))  # so it stands there
    typed(process, "release")
    process.stdin.close()
    # Without a GIL the program may be over before the agent can say that it goes on.
    said = process.stdout.read(), process.stderr.read()
    assert "resumed" in said[0] and "***" not in said[1] or (
        said[1] == "*** process %d has ended: exit code %d\n" % (target.pid, NORMAL_EXIT)), said
    process.wait(20)
    result = target.read_line(20)
    assert (target.process.wait(20), result["answer"]) == (NORMAL_EXIT, 41), target.stderr()


def test_on_a_busy_machine(edge_python):
    """It comes to its line while who has asked for that is still about it."""
    track(subprocess.Popen([sys.executable, "-c", "while True: pass"],
                           start_new_session=True, preexec_fn=die_with_us))
    target = start("busy", edge_python)
    for _ in range(5):
        process = holding(target)
        ask(process, "n;;n;;p 40 + 2", "42")
        process.kill()
        process.wait()
    assert target.finish()["answer"] == 41
