"""Without a GIL: frames are read while their threads run, in a pause of all of
them, and none is asked for that would not come."""

import os
import signal
import threading

import pytest

import interpreters
import processes
from dap_client import DapClient
from harness import PATIENCE, evaluate, hangdbg, in_targets, outcome, start, start_hangdbg, until
from test_harmless import resident


AGAIN = 2.0  # seconds
STILL = 1.0  # seconds; the C code takes longer
GROWTH_KIB = 300  # a cycle; an attach alone leaves some 120 (docs/decisions/0052)


@pytest.fixture
def python():
    found = [it for it in interpreters.found()
             if it.variant == interpreters.FREE_THREADED]
    if not found:
        pytest.skip(interpreters.missing().get("3.14t", "no free-threaded CPython"))
    return found[-1].path


def test_frames_of_threads_that_run(python):
    """Two clients walk the stacks of hot threads, read and write their locals."""
    target = start("hot_threads", python)
    fds = processes.fds(target.pid)
    looks = [part for look in ("where", "args", "p sorted(locals())", "pair = [0, 1]", "threads")
             for part in ("-c", look)]
    # A frame that has gone on since is said to have; then the client is done.
    said = []

    def walk(name):
        for _ in range(5):
            said.append(hangdbg("attach", target.pid, "--thread", name, *looks))

    clients = [threading.Thread(target=walk, args=(name,)) for name in ("hot-0", "hot-1")]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    for done in said:
        assert done.rc == 0 or "has returned" in done.err, done
        assert "churn()" in done.out, done
    assert any(done.rc == 0 for done in said), said
    assert_gone(target, fds)
    result = finish_hot(target)
    assert (result["answer"], result["failed"]) == (41, [])


def test_a_thread_that_cannot_be_paused(python):
    """Nobody waits for it but we; when it goes on, so do we."""
    target = start("hot_threads", python, "held")
    fds = processes.fds(target.pid)
    done = hangdbg("eval", target.pid, "answer", "--thread", "main", "--timeout", "1")
    done.assert_refused(4, "a pause of all threads is held up by thread", "in read", "hold_up")
    done = hangdbg("attach", target.pid, "-c", "where", "-c", "threads")
    assert done.rc == 0 and "wait_for_lock()" in done.out and "hold_up()" in done.out, done
    assert_gone(target, fds)
    run = start_hangdbg("eval", target.pid, "answer", "--thread", "main")
    until("it waits", lambda: "hangdbg-ctl" in processes.threads(target.pid).values())
    ran = processes.cpu_ticks(target.pid)
    until("the others run on", lambda: processes.cpu_ticks(target.pid) > ran + 10)
    target.process.stdin.write(b"\n")
    target.process.stdin.flush()
    done = outcome(run)
    assert done.rc == 0 and done.out == "41\n", done
    assert_gone(target, fds)
    finish_hot(target)


@pytest.mark.parametrize("objects", [10_000, 2_000_000])
def test_a_program_that_collects_garbage_all_the_time(objects, python):
    """The thread that does is attached, and nowhere else at each look; but it has paused
    the others itself, so it holds nobody up. With two million objects and no CPU to spare one
    collection takes longer than the default's 10 s; and see docs/limits.md on 3.15."""
    target = start("collecting", python, objects)
    fds = processes.fds(target.pid)
    main = ("--thread", "main", "--timeout", PATIENCE)
    seen = [hangdbg("eval", target.pid, "collections[0]", *main) for _ in range(3)]
    assert all((done.rc, done.err) == (0, "") for done in seen), seen
    assert int(seen[0].out) < int(seen[2].out), seen
    done = hangdbg("attach", target.pid, *main, "-c", "hold", "-c", "p answer + 1",
                   "-c", "release")
    assert done.rc == 0 and "\n42\n" in done.out, done
    assert_gone(target, fds)
    assert target.finish() == {"answer": 41, "collected": True}


def test_it_is_said_who_pauses_all_threads_again_and_again(python):
    """Where an expression gets no turn in time, or does not even begin."""
    target = start("collecting", python, 10_000)
    done = hangdbg("eval", target.pid, "[len(collections) for _ in iter(int, 1)]",
                   "--thread", "main", "--timeout", "0.5")
    if "time is up" in done.err:
        done.assert_refused(4)
    else:
        done.assert_refused(4, ": all threads are paused by thread", "collect (collecting.py:")
    target.finish()


def test_c_code_that_begins_between_two_commands(python, terminal, tmp_path):
    """A look of before says nothing: the second command waits, and nobody else."""
    target = start("held_up", python, tmp_path / "go")
    fds = processes.fds(target.pid)
    session = terminal(target.pid, "--thread", "main", "--timeout", "60")
    session.expect_prompt()
    session.ask("p answer", "^41$")
    compute(target, tmp_path / "go")
    session.ask("p answer + 1", "^42$")
    session.detach()
    assert_gone(target, fds)
    assert target.finish()["longest"] < STILL


def test_c_code_that_begins_in_mid_expression(python, tmp_path):
    """The expression was let in before; what it has bound is written later."""
    target = start("held_up", python, tmp_path / "go")
    fds = processes.fds(target.pid)
    run = start_hangdbg("eval", target.pid, "answer = [__import__('time').sleep(1), 43][1]",
                        "--thread", "main", "--timeout", "60")
    until("it sleeps", lambda: any(
        processes.thread_activity(target.pid, tid).syscall == "clock_nanosleep"
        for tid, name in processes.threads(target.pid).items() if name == "hangdbg-exec"))
    compute(target, tmp_path / "go")
    assert outcome(run).rc == 0
    assert_gone(target, fds)
    result = target.finish()
    assert (result["answer"], result["longest"] < STILL) == (43, True), result


def finish_hot(target):
    """While threads come and go all the time, CPython without a GIL may let a signal wake
    main and not call its handler (3.15.0rc2, without a debugger): it gets more of them."""
    done = threading.Event()

    def tell_again():
        while not done.wait(AGAIN) and target.alive():
            os.kill(target.pid, signal.SIGUSR1)

    again = threading.Thread(target=tell_again)
    again.start()
    try:
        return target.finish()
    finally:
        done.set()
        again.join()


def assert_gone(target, fds):
    """Its own threads come and go. Main sleeps again: to a thread that has not run
    since we let it go the kernel gives no signal."""
    until("main asleep", lambda: processes.thread_activity(
        target.pid, target.pid).syscall == "futex")
    until("nothing of hangdbg's", lambda: processes.fds(target.pid) == fds
          and not processes.debugger_threads(target.pid))


def compute(target, go):
    ran = processes.cpu_ticks(target.pid)
    go.touch()
    until("it computes", lambda: processes.cpu_ticks(target.pid) > ran + 10)


def test_with_the_gil_switched_on(python):
    target = start("lock_main", python, env={"PYTHON_GIL": "1"})
    before = target.snapshot()
    assert evaluate(target, "__import__('sys')._is_gil_enabled(), answer") == "(True, 41)"
    target.assert_as_before(before)
    target.finish()
    held = start("gil_held", python, "then-free", env={"PYTHON_GIL": "1"})
    hangdbg("eval", held.pid, "answer", "--timeout", "1").assert_refused(
        4, "held", held.tid, "read")
    held.go_on()
    until("the GIL let go of", lambda: hangdbg("eval", held.pid, "answer").out == "41\n")
    held.finish()


def hot_breakpoint():
    text = in_targets("hot_threads.py").read_text().splitlines()
    return text.index("    pair = [n, n + 1]") + 1


def is_set(answer):
    """On a busy machine a thread may not come to a pause in time."""
    if not answer["success"]:
        assert "a pause of all threads is held up" in answer["body"]["error"]["format"], answer
        return False
    assert answer["body"]["breakpoints"][0]["verified"], answer
    return True


@pytest.mark.parametrize("times", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_client_killed_at_a_breakpoint_of_hot_threads(times, python):
    """Before it is set, when it is set, and when threads stand there: each time all of
    ours leaves threads that run it, and they run on."""
    target = start("hot_threads", python)
    fds = processes.fds(target.pid)
    sizes = []
    for number in range(times):
        with DapClient.stdio() as editor:
            editor.attach(target.pid)
            asked = editor.request(
                "setBreakpoints", source={"path": str(in_targets("hot_threads.py"))},
                breakpoints=[{"line": hot_breakpoint()}])
            if number % 3 and is_set(editor.response(asked)) and number % 3 == 2:
                editor.event("stopped", reason="breakpoint")
            editor.process.kill()
            editor.process.wait()
        assert_gone(target, fds)
        ran = processes.cpu_ticks(target.pid)
        until("they run on", lambda: processes.cpu_ticks(target.pid) > ran + 2, seconds=5)
        sizes.append(resident(target.pid))
    if times > 5:  # the first few grow by what is there for good
        assert sizes[-1] - sizes[times // 2] < GROWTH_KIB * times, sizes
    result = finish_hot(target)
    assert (result["answer"], result["failed"]) == (41, [])
