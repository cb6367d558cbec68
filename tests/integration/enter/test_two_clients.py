"""Several hangdbg processes serve themselves from one target at the same time."""

import os
import signal

from harness import (
    evaluate,
    hangdbg,
    outcome,
    place,
    start,
    start_hangdbg,
    until,
)


def test_eval_while_a_prompt_is_open(edge_python, terminal):
    target = start("lock_main", edge_python)
    before = target.snapshot()
    session = terminal(target.pid)
    session.expect_prompt()
    assert evaluate(target, "answer + 1") == "42"
    session.ask("p answer + 2", r"^43$")
    assert evaluate(target, "answer + 3") == "44"
    session.type("q\r")
    assert session.wait() == 0, session.text
    target.assert_as_before(before, arenas=4)
    target.finish()


def test_two_prompts(edge_python, terminal):
    target = start("event_wait", edge_python)
    before = target.snapshot()
    sessions = [terminal(target.pid, *place(target)) for _ in range(2)]
    for session in sessions:
        session.expect_prompt()
    for number, session in enumerate(sessions):
        session.ask("p answer + %d" % number, "^%d$" % (41 + number))
    sessions[0].detach()
    sessions[1].ask("p 'still ' + 'here'", "^'still here'$")
    sessions[1].detach()
    target.assert_as_before(before, arenas=4)
    target.finish()


def test_three_evals_at_once(edge_python):
    target = start("lock_main", edge_python)
    before = target.snapshot()
    # Each is still inside when the others arrive: 0.5 s are long beside that.
    runs = [
        start_hangdbg(
            "eval", target.pid, "__import__('time').sleep(0.5) or answer + %d" % number
        )
        for number in range(3)
    ]
    for number, run in enumerate(runs):
        done = outcome(run)
        assert (done.rc, done.out) == (0, "%d\n" % (41 + number)), done
    target.assert_as_before(before, arenas=4)
    target.finish()


def test_one_is_killed_while_the_other_goes_on(edge_python, terminal, tmp_path):
    target = start("lock_main", edge_python)
    before = target.snapshot()
    session = terminal(target.pid)
    session.expect_prompt()
    mark = tmp_path / "mark"
    runaway = start_hangdbg(
        "eval", target.pid, "open(%r, 'w').close()\nwhile True: pass" % str(mark)
    )
    until("the endless expression running", mark.exists)
    os.kill(runaway.pid, signal.SIGKILL)
    assert outcome(runaway).rc == -signal.SIGKILL
    session.ask("p answer + 1", r"^42$")
    session.detach()
    # Its expression ends with it, though nobody asked for that.
    target.assert_as_before(before, arenas=4)
    assert hangdbg("eval", target.pid, "answer").out == "41\n"
    target.finish()
