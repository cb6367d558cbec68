"""Breakpoints, from the prompt: a thread that comes to one stands there, the others
go on; with the client's end, whatever that is, nothing of them is left."""

import re

import pytest

import interpreters
import processes
from harness import hangdbg, in_targets, start, until
from test_hold import THREAD, ask, call_of, commands, holding, typed
from test_step import LEFT, asleep_at
from test_step_targets import line_number

TARGET = "breaks.py"


def line_of(text):
    lines = in_targets(TARGET).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


ROUND = line_of("total += counter.count(number)")
COUNT = line_of("doubled = twice(number)")


def attached(target):
    """A prompt in the hung thread, with pipes."""
    process = holding(target)
    ask(process, "release", "resumed")
    return process


def number_of(line):
    return int(re.search(r"\d+", line).group())


def goes_round(target):
    """The worker, from now on."""
    before = rounds(target)
    until("another round", lambda: rounds(target) > before)


def rounds(target):
    done = hangdbg("peek", target.pid, "counter.rounds", "--thread", "rounds",
                   "--frame", 0, "--json")
    return done.json()["repr"] and int(done.json()["repr"]) if done.rc == 0 else -1


def ends_normally(target):
    result = target.finish()
    assert (result["answer"], result["right"], result["total"]) == (41, True, True), result
    return result


def leave(process):
    process.stdin.close()
    assert process.wait(20) == 0, process.stderr.read()


def assert_nothing_left(target, before):
    target.assert_as_before(before, arenas=4)
    process = attached(target)
    assert ask(process, LEFT, "[") == "[None, [], []]\n"
    leave(process)
    target.assert_as_before(before, arenas=4)


def test_in_a_frame_that_runs(python):
    target = start("breaks", python)
    before = target.snapshot()
    process = attached(target)
    ask(process, "b %s:%d" % (TARGET, ROUND), "Breakpoint 1 at")
    ask(process, "c", "counter.count(number)")
    first = number_of(ask(process, "p number", ""))
    ask(process, "c", "counter.count(number)")
    assert number_of(ask(process, "p number", "")) == first + 1
    ask(process, "p [len(ends), counter.rounds == number - 2]", "[0, True]")
    ask(process, "s", "--Call--")
    ask(process, "n", "self.rounds += 1")
    ask(process, "r", "--Return--")
    ask(process, "n", "time.sleep")
    ask(process, "cl 1", "Deleted breakpoint 1")
    ask(process, "c", "resumed")
    goes_round(target)
    leave(process)
    assert_nothing_left(target, before)
    ends_normally(target)


def test_conditions_and_counts(python):
    target = start("breaks", python)
    process = attached(target)
    ask(process, "b %s:%d, number %% 7 == 3" % (TARGET, COUNT), "Breakpoint 1 at")
    for _ in range(3):
        ask(process, "c", "doubled = twice")
        assert number_of(ask(process, "p number", "")) % 7 == 3
    ask(process, "ignore 1 2", "Will ignore next 2")
    first = number_of(ask(process, "p number", ""))
    ask(process, "c", "doubled = twice")
    assert number_of(ask(process, "p number", "")) == first + 21
    ask(process, "b", "breakpoint already hit 6 times")
    ask(process, "condition 1 [n for n in [number] if n % 5 == 0]", "New condition")
    ask(process, "c", "doubled = twice")
    assert number_of(ask(process, "p number", "")) % 5 == 0
    ask(process, "condition 1 nowhere > 1", "New condition")
    ask(process, "c", "the breakpoint's condition: NameError")
    ask(process, "disable 1", "Disabled")
    ask(process, "tbreak twice", "Breakpoint 2 at twice")
    ask(process, "c", "doubled = number * 2")
    ask(process, "release", "resumed")
    ask(process, "enable 1", "Enabled")
    ask(process, "condition 1", "now unconditional")
    ask(process, "c", "doubled = twice")
    leave(process)
    goes_round(target)
    ends_normally(target)


def test_on_functions_and_generators(python):
    target = start("breaks", python)
    process = attached(target)
    ask(process, "b Counter.count", "Breakpoint 1 at Counter.count")
    ask(process, "c", "self.rounds += 1")
    ask(process, "cl", "Deleted breakpoint 1")
    ask(process, "b %s:%d" % (TARGET, line_of("yield number")), "Breakpoint 2 at")
    ask(process, "c", "yield number")
    ask(process, "cl 2", "Deleted")
    # Not a line itself: the next one of the same function.
    ask(process, "b %s:%d" % (TARGET, COUNT + 1), ":%d" % (COUNT + 3))
    ask(process, "c", "return doubled")
    ask(process, "b not_there.function", "no such code has run yet")
    ask(process, "cl 3 4", "Deleted breakpoint 4")
    ask(process, "c", "resumed")
    leave(process)
    ends_normally(target)


@pytest.mark.parametrize("name", ["page.tpl", "./page.tpl", "<made>"])
def test_in_code_that_has_no_file(edge_python, name):
    """A template, what exec() runs: by whatever name it has."""
    target = start("breaks", edge_python)
    process = attached(target)
    typed(process, "!made = compile('def fill(x):\\n    y = x + 1\\n    return fill(y) if x < 2 else y', "
          "%r, 'exec')" % name.replace("./", ""))
    typed(process, "!names = {}; exec(made, names)")
    ask(process, "b %s:2" % (name if name != "page.tpl" else "./page.tpl"), "Breakpoint 1 at")
    typed(process, "!threading.Thread(target=names['fill'], args=(1,)).start()")
    ask(process, "c", "stopped: breakpoint 1")
    ask(process, "p [x]", "[1]")
    ask(process, "cl", "Deleted")
    # Now that it runs here.
    ask(process, "b %s:3" % name, "Breakpoint 2 at")
    ask(process, "c", "stopped: breakpoint 2")
    ask(process, "cl", "Deleted")
    ask(process, "c", "resumed")
    leave(process)
    ends_normally(target)


def test_commands_displays_and_aliases(python):
    target = start("breaks", python)
    process = attached(target)
    ask(process, "b %s:%d" % (TARGET, ROUND), "Breakpoint 1 at")
    for line in ("commands 1", "silent", "p 'here', number > 0", "end"):
        typed(process, line)
    ask(process, "c", "('here', True)")
    ask(process, "display number", "display number")
    ask(process, "c", "[old: ")
    ask(process, "undisplay number;;alias plus p %1 + %2;;plus number 0", "")
    ask(process, "j %d" % line_of("results.append"), "results.append")
    ask(process, "cl", "Deleted")
    for line in ("interact", "for i in range(2):", "    print(i + 5)", ""):
        typed(process, line)
    ask(process, "results.append('x'); results[-1]", "6")
    ask(process, "exit()\np results.pop()", "'x'")
    ask(process, "j %d" % line_of("while not ends"), "while not ends")
    ask(process, "c", "resumed")
    goes_round(target)
    leave(process)
    assert target.finish()["answer"] == 41


def test_client_ends_at_a_breakpoint(python):
    target = start("breaks", python)
    before = target.snapshot()
    for _ in range(3):
        process = attached(target)
        ask(process, "b %s:%d" % (TARGET, COUNT), "Breakpoint 1 at")
        ask(process, "c", "doubled = twice")
        ask(process, "hold", "already suspended")
        process.kill()
        process.wait()
        until("another round", lambda: rounds(target) > 0, seconds=1)
        goes_round(target)
        assert_nothing_left(target, before)
    ends_normally(target)


def test_two_clients(python):
    """Each has its own, and both may want the same place."""
    target = start("breaks", python)
    before = target.snapshot()
    one, two = attached(target), attached(target)
    for process in (one, two):
        ask(process, "b %s:%d" % (TARGET, ROUND), "Breakpoint 1 at")
    ask(one, "c", "counter.count(number)")
    first = number_of(ask(one, "p number", ""))
    ask(one, "cl", "Deleted")
    ask(one, "c", "resumed")
    ask(two, "c", "counter.count(number)")
    assert number_of(ask(two, "p number", "")) >= first
    one.kill()
    one.wait()
    ask(two, "n", "time.sleep")
    leave(two)
    assert_nothing_left(target, before)
    ends_normally(target)


def test_hold_of_one_that_runs(python):
    """At its next line; the client's end lets it go."""
    if interpreters.variant(python) == interpreters.MUSL:
        pytest.skip("where nothing else sleeps, a loop cannot be entered on musl")
    target = start("busy", python)
    before = target.snapshot()
    for end in ("release", "kill"):
        process = holding(target)
        ask(process, "p %s" % THREAD, str(target.tid))
        ask(process, "n;;n;;p 40 + 2", "42")
        if end == "release":
            ask(process, "release", "resumed")
            leave(process)
        process.kill()
        process.wait()
        until("it runs", lambda: processes.state(target.pid, target.tid) == "R", seconds=1)
        target.assert_as_before(before, arenas=4)
    assert target.finish()["answer"] == 41


@pytest.mark.parametrize("command, words", [
    ("b 0", "not a line number: 0"), ("b x.py:", "not a line number"), ("b :3", "a file is missing"),
    ("b twice(1)", "not a line number or a function"), ("b len", "not a function written in Python"),
    ("b twice, number ==", "syntax"), ("cl 9", "no such breakpoint: 9"), ("cl x", "no such breakpoint: x"),
    ("enable one", "no such breakpoint: one"), ("ignore 9", "no such breakpoint: 9"),
    ("condition 9 x", "no such breakpoint: 9"), ("commands", "no breakpoints"),
    ("j x", "requires a line number"), ("j 3", "not suspended"), ("unalias no", "no such alias: no"),
])
def test_bad_input(command, words, newest_python):
    target = start("breaks", newest_python)
    done = hangdbg("attach", target.pid, *commands("b twice", command, "b"))
    if command == "commands":
        done = hangdbg("attach", target.pid, *commands(command))
    assert words in done.err and "Traceback" not in done.err, done
    assert done.out.count("keep yes") == (command != "commands"), done
    ends_normally(target)


def test_c_after_it_has_come(edge_python):
    """It came to the breakpoint before `c` was typed: it is shown there, and stays."""
    target = start("calls", edge_python)
    call = call_of(target)
    process = attached(target)
    ask(process, "b calls.py:%d" % line_number("plain = outer"), "Breakpoint 1")
    target.go_on()
    until("it stands", lambda: call_of(target) != call and call_of(target).startswith("202 "))
    ask(process, "c", "-> plain = outer(")
    ask(process, "n", "-> chain = ")
    ask(process, "release", "resumed")
    process.stdin.close()
    assert process.wait(20) == 0
    until("the second wait", lambda: asleep_at(target, "locks[1].acquire()"))
    target.finish()
