"""Every interpreter, every hang: eval, attach -c, detach and all of it again give
the value, and the program goes on and ends as if nobody had been there."""

import linecache

import pytest

import interpreters
from hangs import WAITS_AT, start_hang
from harness import evaluate, hangdbg, place, start, until


@pytest.fixture(params=WAITS_AT)
def hung(request, every_python, library):
    return start_hang(request.param, every_python, library)


def ends_normally(target, before, answer, arenas=2):
    """Nothing is left behind, and the program's own result is the usual one but
    for `answer`, which the test may have set."""
    target.assert_as_before(before, arenas)
    result = target.finish()
    assert result["answer"] == answer
    assert result["seen"] == [0, 2, 4]


def test_hang(hung, terminal):
    """eval, attach -c, detach, and again, one after the other."""
    before = hung.snapshot()
    ask_by_eval(hung)
    hung.assert_as_before(before, arenas=4)
    ask_by_attach(hung)
    hung.assert_as_before(before, arenas=4)
    session = terminal(hung.pid, *place(hung))
    session.expect_prompt()
    session.ask("p answer + 1", r"^44$")
    session.detach()
    hung.assert_as_before(before, arenas=4)
    assert evaluate(hung, "answer, [x for x in range(3) if x in seen]") == "(43, [0, 2])"
    ends_normally(hung, before, answer=43, arenas=4)


def ask_by_eval(hung):
    done = hangdbg(
        "eval", hung.pid, "print('hello') or answer", *place(hung), "--json"
    )
    assert done.rc == 0, done
    found = done.json()
    assert found["pid"] == hung.pid
    assert found["rank"] is None
    assert found["thread"] == hung.tid
    assert found["way"] == "observe"
    assert (found["type"], found["repr"]) == ("int", "41")
    assert found["stdout"] == "hello\n"
    assert found["error"] is None
    frame = found["frame"]
    assert frame["function"] == hung.function
    assert frame["file"].endswith("/" + hung.ready["file"])
    assert WAITS_AT[hung.name] in linecache.getline(frame["file"], frame["line"])


def ask_by_attach(hung):
    done = hangdbg(
        "attach", hung.pid, *place(hung),
        "-c", "p answer + 1", "-c", "answer = 43", "-c", "p [answer, sorted(seen)]",
    )
    assert done.rc == 0, done
    lines = done.out.splitlines()
    assert lines.index("42") < lines.index("[43, [0, 2, 4]]")


def test_busy_loop(every_python, terminal):
    """A thread that runs Python lets others in by itself."""
    target = start("busy", every_python)
    before = target.snapshot()
    if interpreters.variant(every_python) == interpreters.MUSL:
        # A running thread is borrowed only when its stack is seen to the end.
        done = hangdbg("eval", target.pid, "rounds", "--timeout", 1)
        done.assert_refused(4, "cannot be followed to the end", "hangdbg dump")
        return ends_normally(target, before, answer=41, arenas=0)
    first = int(evaluate(target, "rounds"))
    done = hangdbg("attach", target.pid, *place(target), "-c", "p rounds > %d" % first)
    assert done.rc == 0 and "True" in done.out.splitlines(), done
    session = terminal(target.pid, *place(target))
    session.expect_prompt()
    session.ask("p answer + 1", r"^42$")
    session.detach()
    assert int(evaluate(target, "rounds")) > first
    # The first agent may still wait for the GIL when the second client comes.
    ends_normally(target, before, answer=41, arenas=4)


def test_c_that_holds_the_gil(every_python):
    """No value can be had; who holds it is said. Then it lets go, and it can."""
    target = start("gil_held", every_python, "then-free")
    before = target.snapshot()
    for command in (("eval", target.pid, "answer"), ("attach", target.pid, "-c", "p answer")):
        hangdbg(*command, "--timeout", "1").assert_refused(4, "held", target.tid, "read")
    target.assert_as_before(before, arenas=4)
    target.go_on()
    until("the GIL let go of", lambda: hangdbg("eval", target.pid, "answer").out == "41\n")
    ends_normally(target, before, answer=41, arenas=4)


def test_assignment_while_the_frame_runs(every_python):
    """Up to 3.12 a careless write puts back all the frame's locals, which have
    moved on since."""
    target = start("lockstep", every_python)
    before = target.snapshot()
    commands = [part for n in range(100) for part in ("-c", "chosen = %d" % n)]
    done = hangdbg("attach", target.pid, *place(target), *commands, "-c", "p chosen")
    assert done.rc == 0 and done.out.splitlines()[-1] == "99", done
    target.assert_as_before(before, arenas=3)
    result = target.finish()
    assert (result["chosen"], result["rewound"]) == (99, 0)


def test_default_place_is_where_it_hangs(every_python, tmp_path):
    """`hangdbg attach PID` and the question of the README, with no flags."""
    path = str(tmp_path / "lock")
    target = start("file_baton", every_python, path)
    done = hangdbg("attach", target.pid, "-c", "p self.lock_file_path")
    assert done.rc == 0, done
    assert repr(path) in done.out.splitlines()
    done = hangdbg("eval", target.pid, "self.lock_file_path")
    assert (done.rc, done.out) == (0, repr(path) + "\n"), done
    target.finish()


def test_default_thread_is_the_one_that_main_waits_for(every_python):
    target = start("lock_worker", every_python)
    done = hangdbg("eval", target.pid, "answer")
    assert (done.rc, done.out) == (0, "41\n"), done
    target.finish()


@pytest.mark.parametrize("thread", ["the-worker", "tid"])
def test_thread_by_name_and_tid(thread, newest_python):
    target = start("lock_worker", newest_python)
    name = target.tid if thread == "tid" else thread
    done = hangdbg("eval", target.pid, "answer", "--thread", name)
    assert (done.rc, done.out) == (0, "41\n"), done
    target.finish()


def test_thread_main(newest_python):
    target = start("lock_worker", newest_python)
    done = hangdbg("eval", target.pid, "__name__", "--thread", "main", "--json")
    assert done.rc == 0, done
    assert (done.json()["thread"], done.json()["repr"]) == (target.pid, "'threading'")
    target.finish()


def test_memory_does_not_grow_after_the_first_cycles(edge_python):
    target = start("lock_main", edge_python)
    before = target.snapshot()

    def cycle():
        # Each attach leaves some 30 objects (the agent's few classes) to the
        # program's own garbage collector, which a sleeping program never runs.
        evaluate(target, "__import__('gc').collect()")
        target.assert_as_before(before)

    for _ in range(5):
        cycle()
    settled = target.snapshot()
    for _ in range(30):
        cycle()
    target.assert_as_before(settled, arenas=0)
    target.finish()
