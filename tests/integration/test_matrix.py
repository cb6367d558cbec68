"""Every interpreter, every hang: eval, attach -c and detach give the value, and
the program goes on and ends as if nobody had been there."""

import linecache

import pytest

from harness import evaluate, hangdbg, place, start

# The hang, and what the source line says at which its function waits.
WAITS_AT = {
    "lock_main": "lock.acquire()",
    "lock_worker": "lock.acquire()",
    "sleep": "time.sleep(3600)",
    "file_baton": "time.sleep(self.wait_seconds)",
    "recv": "connection.recv(100)",
    "select_call": "select.select([reader], [], [])",
    "event_wait": "event.wait()",
    "c_call": "libc.read(0, buffer, 1)",
}
HANGS = list(WAITS_AT)


@pytest.fixture(params=HANGS)
def hung(request, python):
    target = start(request.param, python)
    target.name = request.param
    return target


def ends_normally(target, before, answer, arenas=2):
    """Nothing is left behind, and the program's own result is the usual one but
    for `answer`, which the test may have set."""
    target.assert_as_before(before, arenas)
    result = target.finish()
    assert result["answer"] == answer
    assert result["seen"] == [0, 2, 4]


def test_eval(hung):
    before = hung.snapshot()
    assert evaluate(hung, "answer + 1") == "42"
    assert evaluate(hung, "[x for x in range(3) if x in seen]") == "[0, 2]"
    assert evaluate(hung, "answer = 43") == ""
    assert evaluate(hung, "answer") == "43"
    ends_normally(hung, before, answer=43)


def test_eval_json(hung):
    before = hung.snapshot()
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
    assert frame["file"].endswith("/%s.py" % hung.name)
    assert WAITS_AT[hung.name] in linecache.getline(frame["file"], frame["line"])
    ends_normally(hung, before, answer=41)


def test_attach_with_commands(hung):
    before = hung.snapshot()
    done = hangdbg(
        "attach", hung.pid, *place(hung),
        "-c", "p answer + 1", "-c", "answer = 43", "-c", "p [answer, sorted(seen)]",
    )
    assert done.rc == 0, done
    lines = done.out.splitlines()
    assert lines.index("42") < lines.index("[43, [0, 2, 4]]")
    ends_normally(hung, before, answer=43)


def test_attach_and_detach(hung, terminal):
    before = hung.snapshot()
    session = terminal(hung.pid, *place(hung))
    session.expect_prompt()
    session.ask("p answer + 1", r"^42$")
    session.detach()
    ends_normally(hung, before, answer=41)


def test_default_place_is_where_it_hangs(python, tmp_path):
    """`hangdbg attach PID` and the question of the README, with no flags."""
    path = str(tmp_path / "lock")
    target = start("file_baton", python, path)
    done = hangdbg("attach", target.pid, "-c", "p self.lock_file_path")
    assert done.rc == 0, done
    assert repr(path) in done.out.splitlines()
    done = hangdbg("eval", target.pid, "self.lock_file_path")
    assert (done.rc, done.out) == (0, repr(path) + "\n"), done
    target.finish()


def test_default_thread_is_the_one_that_main_waits_for(python):
    target = start("lock_worker", python)
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


def test_busy_loop(python):
    """A thread that runs Python lets others in by itself."""
    target = start("busy", python)
    before = target.snapshot()
    first = int(evaluate(target, "rounds"))
    assert int(evaluate(target, "rounds")) > first
    # The first agent may still wait for the GIL when the second client comes.
    ends_normally(target, before, answer=41, arenas=3)


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
