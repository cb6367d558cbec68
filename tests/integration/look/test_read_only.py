"""The GIL is held for ever: threads, stacks and source are shown from outside, what
needs Python is refused by name, and all of it works again by itself once the GIL
is free."""

import re

import pytest

import processes
from harness import hangdbg, in_targets, start, until


@pytest.fixture
def held(python, library):
    """A C function computes with the GIL; a worker waits for a lock."""
    return start("gil_held_by_library", python, library)


def line_of(name, text):
    """The number of the line of targets/NAME.py that holds `text`."""
    lines = in_targets(name + ".py").read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if text in line)


def place(text, function):
    """As `where` and `threads` show it."""
    line = line_of("gil_held_by_library", text)
    return r"gil_held_by_library\.py\(%d\)%s\(\)$" % (line, function)


def test_look_around(held):
    before = held.snapshot()
    worker = held.ready["worker"]
    commands = ("threads", "where", "list", "up", "thread %d" % worker, "bt")
    done = hangdbg("attach", held.pid, *(part for c in commands for part in ("-c", c)))
    assert done.rc == 0, done
    banner, rest = re.split("GIL held|no GIL", done.out, 1)
    assert "attached to %d (python 3." % held.pid in banner, done
    holds, waits = place("function(0)", "hold_gil"), place("with lock", "wait_in_worker")
    calls = place("= hold_gil(library.spin)", "<module>")
    for shown in (
        r"^\* +%d MainThread +runs +(?:GIL)? +\S*" % held.tid + holds,
        r"^  +%d Thread-.*? +in futex +\S*" % worker + waits,
        r"^  \S*" + calls + r"\n-> .*\n> \S*" + holds + r"\n-> function\(0\)$",
        r"^ *%d  ->\t    function\(0\)$" % line_of("gil_held_by_library", "function(0)"),
        r"^> \S*" + calls,  # up
        r"^> \S*" + waits + r"\n-> with lock:$",
        r"\(\d+\)_bootstrap_inner\(\)$",
    ):
        assert re.search(shown, rest, re.M), "%s\n%r" % (shown, done)
    # The function that computes is not exported: its library's file has the name.
    assert re.search(
        r"read-only: .* held (?:up )?by thread %d in count_rounds \(hang\.so\), "
        r"called from hold_gil \(gil_held_by_library\.py:%d\)"
        % (held.tid, line_of("gil_held_by_library", "function(0)")),
        done.err,
    ), done
    held.assert_as_before(before, arenas=4)
    assert held.finish() == {"answer": 41, "seen": [0, 2, 4]}


def test_eval_says_where_the_gil_is(held):
    done = hangdbg("eval", held.pid, "answer", "--timeout", "1", "--json")
    assert done.rc == 4, done
    found = done.json()
    line = line_of("gil_held_by_library", "function(0)")
    assert found["error"]["type"] == "gil-held"
    assert found["error"]["hint"] == "hangdbg peek %d answer" % held.pid
    assert "thread %d in count_rounds (hang.so)" % held.tid in found["error"]["message"]
    assert "(gil_held_by_library.py:%d)" % line in found["error"]["message"]
    assert (found["thread"], found["frame"]["function"]) == (held.tid, "hold_gil")
    assert found["frame"]["line"] == line
    held.finish()


def test_peek(held):
    """What needs no Python is read all the same, in the frame that the prompt is in."""
    worker = held.ready["worker"]
    done = hangdbg("attach", held.pid, "-c", "peek answer", "-c", "up", "-c", "peek begun[0]",
                   "-c", "thread %d" % worker, "-c", "up", "-c", "peek self.daemon",
                   "-c", "peek self._daemonic", "-c", "peek self.run()")
    lines = done.out.splitlines()
    assert "41" in lines and str(worker) in lines and "False" in lines, done
    assert "daemon is a property of Thread" in done.err and "try: p self.daemon" in done.err
    assert "try: p self.run()" in done.err, done
    held.finish()


def test_goes_on_by_itself(python, terminal):
    """The GIL is kept in mid-session: the prompt says what it can, and says when it
    can all again. What was given up meanwhile has not run, and does not run then."""
    target = start("gil_held", python, "free-first", "then-free")
    session = terminal(target.pid, "--timeout", "1")
    session.expect(r"\(hangdbg %d\) " % target.pid)
    session.ask("p answer", r"^41$")
    free = processes.thread_activity(target.pid, target.tid)
    target.go_on()
    until("the GIL held", lambda: holds(target, free))
    for given_up in ("seen.add(98)", "!seen.add(99)"):
        session.ask(given_up, r"\*\*\* .* held (?:up )?by thread %d in read" % target.tid)
    line = line_of("gil_held", "libc.read(")
    session.ask("w", r"gil_held\.py\(%d\)call_c_with_gil\(\)" % line)
    session.type("\r")
    session.expect(r"\(hangdbg %d read-only\) " % target.pid)
    session.type("p answer + 1, ")
    session.expect(r"p answer \+ 1, ")
    target.go_on()
    session.expect(r"\(hangdbg %d\) p answer \+ 1, $" % target.pid)
    session.ask("sorted(seen)", r"^\(42, \[0, 2, 4\]\)$")
    session.detach()
    assert target.finish() == {"answer": 41, "seen": [0, 2, 4], "count": 1}


def holds(target, free):
    """Whether the thread has come from the one read to the other."""
    now = processes.thread_activity(target.pid, target.tid)
    return now != free and now.syscall == free.syscall


@pytest.mark.slow
def test_held_most_of_the_time(newest_python):
    """The agent gets the GIL once in a while: an expression is worth the wait, also
    at a place that was found from outside."""
    target = start("gil_held_in_turns", newest_python)
    patient = ("--timeout", "30")
    done = hangdbg("eval", target.pid, "answer", *patient)
    assert (done.rc, done.out) == (0, "41\n"), done
    done = hangdbg("attach", target.pid, "-c", "p answer + 1", "-c", "w", *patient)
    assert done.rc == 0 and "42" in done.out.splitlines(), done
    assert target.finish() == {"answer": 41, "seen": [0, 2, 4]}
