"""What an expression may do in the running program: await, print, ask for long."""

from harness import agent_goes, evaluate, hangdbg, outcome, place, start, start_hangdbg


def test_await_beside_an_idle_loop(python):
    target = start("asyncio_idle", python)
    before = target.snapshot()
    assert evaluate(target, "await asyncio.sleep(0.01, answer + 1)") == "42"
    agent_goes(target)
    assert evaluate(target, "answer = await asyncio.sleep(0, 43)") == ""
    agent_goes(target)
    done = hangdbg("eval", target.pid, "await done", *place(target))
    done.assert_refused(1, "RuntimeError", "the program's own event loop")
    target.assert_as_before(before)
    result = target.finish()
    assert (result["answer"], result["result"]) == (43, "done")


def test_await_can_be_cancelled(edge_python):
    target = start("asyncio_idle", edge_python)
    before = target.snapshot()
    done = hangdbg(
        "eval", target.pid, "await asyncio.sleep(3600)", *place(target), "--timeout", "0.3"
    )
    assert done.rc == 4, done
    # By the timer of our loop, and not when the hour has passed.
    target.assert_as_before(before, arenas=3)
    target.finish()


def test_output_goes_to_the_client_that_asked(edge_python):
    """Both print at the same time: each waits for the other to have begun."""
    target = start("lock_main", edge_python)
    before = target.snapshot()
    evaluate(target, "import threading; global barrier; barrier = threading.Barrier(2)")
    text = "for n in range(50): print(%r, n); barrier.wait(10)\nsorted(seen)"
    runs = [start_hangdbg("eval", target.pid, text % name) for name in ("one", "two")]
    for name, run in zip(("one", "two"), runs):
        done = outcome(run)
        assert done.rc == 0, done
        lines = ["%s %d" % (name, n) for n in range(50)] + ["[0, 2, 4]"]
        assert done.out.splitlines() == lines, done
    target.assert_as_before(before, arenas=4)
    assert target.finish()["answer"] == 41  # and its own output is what it was


def test_assignment_in_every_kind_of_frame(python):
    target = start("frames", python)
    before = target.snapshot()
    for frame in range(8):  # tests/targets/stacks/frames.py says which
        for expression in ("number = %d" % (10 + frame), "new = number; del new"):
            done = hangdbg("eval", target.pid, expression, "--frame", frame)
            assert (done.rc, done.out) == (0, ""), done
            agent_goes(target)
        done = hangdbg("eval", target.pid, "(lambda: number)()", "--frame", frame)
        assert (done.rc, done.out) == (0, "%d\n" % (10 + frame)), done
        agent_goes(target)
    target.assert_as_before(before)
    # The function with the cell and the one inside it have one variable.
    assert target.finish()["numbers"] == [17, 16, 15, 14, 14, 11, 10, 12]


def test_names_are_kept_by_keep_alone(edge_python):
    target = start("lock_main", edge_python)
    before = target.snapshot()
    evaluate(target, "lost = 1")
    assert hangdbg("eval", target.pid, "lost").rc == 1
    assert hangdbg("eval", target.pid, "--keep", "kept = 2").rc == 0
    assert evaluate(target, "[kept + x for x in (1, 2)]") == "[3, 4]"
    assert hangdbg("eval", target.pid, "--keep", "del kept").rc == 0
    assert hangdbg("eval", target.pid, "kept").rc == 1
    target.assert_as_before(before)
    target.finish()
