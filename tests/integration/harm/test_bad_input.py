"""What cannot be done is said in one clear line with the right exit code, and
the target is unharmed."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

import harness
import interpreters
from harness import (
    PROGRAM,
    evaluate,
    hangdbg,
    outcome,
    start,
    start_hangdbg,
    until,
)

LATE = 2.0  # seconds after a deadline by which hangdbg has ended


@pytest.fixture
def target(edge_python):
    """One that hangs; whatever the test did, it goes on and ends normally."""
    hung = start("lock_main", edge_python)
    before = hung.snapshot()
    yield hung
    hung.assert_as_before(before, arenas=3)
    assert evaluate(hung, "answer + 1") == "42"
    assert hung.finish()["answer"] == 41


@pytest.mark.parametrize("command", [["eval", "answer"], ["attach", "-c", "p answer"]])
def test_pid_that_is_not_there(command):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    name, *rest = command
    hangdbg(name, gone.pid, *rest).assert_refused(2, gone.pid)


def test_pid_of_a_shell():
    shell = harness.track(
        subprocess.Popen(["/bin/sh", "-c", "read line"], stdin=subprocess.PIPE,
                         start_new_session=True)
    )
    until("the shell", lambda: b"sh" in open("/proc/%d/cmdline" % shell.pid, "rb").read())
    hangdbg("eval", shell.pid, "1").assert_refused(2, shell.pid, "Python")
    shell.stdin.write(b"\n")
    shell.stdin.flush()
    assert shell.wait(5) == 0


def test_zombie():
    zombie = harness.track(
        subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    )
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    hangdbg("eval", zombie.pid, "1").assert_refused(2, zombie.pid)


def test_not_permitted(newest_python):
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody who may not")
    target = start("lock_main", newest_python)
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        program = shutil.copy(PROGRAM, directory)

        def nobody():
            os.setgid(65534)
            os.setuid(65534)

        done = subprocess.run(
            [program, "eval", str(target.pid), "1"], preexec_fn=nobody, timeout=20,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd="/", text=True,
        )
    harness.Outcome(done.returncode, done.stdout, done.stderr, 0).assert_refused(
        3, target.pid
    )
    target.finish()


def test_pid_that_dies_during_the_attach(newest_python):
    """Killed at a random moment of the first 15 ms, 20 times."""
    moments = random.Random(2)
    refused = 0
    for _ in range(20):
        target = start("lock_main", newest_python)
        run = start_hangdbg("eval", target.pid, "answer")
        time.sleep(moments.uniform(0, 0.015))
        os.kill(target.pid, signal.SIGKILL)
        done = outcome(run)
        target.process.wait(5)
        if done.rc == 0:
            assert done.out == "41\n", done
        else:
            assert done.rc in (2, 4), done
            done.assert_refused(done.rc, target.pid)
            refused += 1
    assert refused, "never died before the answer"


def test_syntax_error(target):
    hangdbg("eval", target.pid, "1 +").assert_refused(1, "SyntaxError")


def test_expression_that_raises(target):
    done = hangdbg("eval", target.pid, "1 / 0")
    assert done.rc == 1, done
    assert "ZeroDivisionError: division by zero" in done.err, done
    done = hangdbg("eval", target.pid, "1 / 0", "--json")
    assert done.rc == 1, done
    error = done.json()["error"]
    assert error["type"] == "ZeroDivisionError"
    assert error["message"] == "division by zero"
    assert isinstance(error["traceback"], list)


def test_expression_that_exits(target):
    done = hangdbg("eval", target.pid, "raise SystemExit(3)")
    assert done.rc == 1, done
    assert "SystemExit" in done.err, done


@pytest.mark.parametrize("flags", [["--thread", "nobody"], ["--thread", "1"],
                                   ["--frame", "99"]])
def test_place_that_is_not_there(target, flags):
    hangdbg("eval", target.pid, "1", *flags).assert_refused(2, flags[1])


def test_endless_expression_and_timeout(target):
    done = hangdbg("eval", target.pid, "while True: pass", "--timeout", "1")
    done.assert_refused(4)
    assert 0.9 < done.seconds < 1 + LATE, done


def test_expression_that_blocks_in_c_and_timeout(target):
    """It cannot be cancelled, which is said; what is left goes by itself."""
    done = hangdbg(
        "eval", target.pid, "__import__('time').sleep(3)", "--timeout", "0.5"
    )
    done.assert_refused(4)
    assert done.seconds < 0.5 + LATE, done
    until(
        "the sleeping evaluation gone",
        lambda: len(os.listdir("/proc/%d/task" % target.pid)) == 1,
        6,
    )


def test_endless_expression_and_ctrl_c(target, tmp_path):
    mark = tmp_path / "mark"
    run = start_hangdbg(
        "eval", target.pid, "open(%r, 'w').close()\nwhile True: pass" % str(mark)
    )
    until("the expression running", mark.exists)
    interrupted = time.monotonic()
    run.send_signal(signal.SIGINT)
    done = outcome(run)
    assert done.rc == 130, done
    assert "Traceback" not in done.err
    assert time.monotonic() - interrupted < LATE


@pytest.mark.parametrize("command", [["eval", "answer"], ["attach", "-c", "p answer"]])
def test_held_gil(command, edge_python):
    """Said within the deadline, with the thread's id; the target is unharmed and
    can be reached once the GIL is free."""
    target = start("gil_held", edge_python)
    before = target.snapshot()
    name, *rest = command
    done = hangdbg(name, target.pid, *rest, "--timeout", "1")
    done.assert_refused(4, "held", target.tid)
    assert done.seconds < 1 + LATE, done
    target.assert_as_before(before, arenas=3)
    target.finish()


def test_only_read(refused_python):
    """3.6 and 3.13t: refused before anything is touched."""
    target = start("lock_main", refused_python)
    before = target.snapshot()
    why = "free-threaded" if interpreters.variant(refused_python) else "only 3.7 to 3.15"
    hangdbg("eval", target.pid, "answer").assert_refused(4, why, "hangdbg dump %d" % target.pid)
    done = hangdbg("doctor", target.pid)
    assert done.rc == 4 and "1 Python thread: hangdbg dump" in done.out and why in done.out, done
    target.assert_as_before(before, arenas=0)
    target.finish()


@pytest.mark.parametrize(
    "arguments",
    [
        ["eval"],
        ["eval", "not-a-pid", "1"],
        ["eval", "-5", "1"],
        ["eval", "1", "1", "--no-such-flag"],
        ["eval", "1", "1", "--timeout", "soon"],
        ["no-such-command"],
        ["eval", "1", "1", "--log", "no-such-area:loud"],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments):
    hangdbg(*arguments).assert_refused(2)


def test_mistakes_at_the_prompt(target, terminal):
    session = terminal(target.pid)
    session.expect_prompt()
    session.ask("p 1 / 0", "ZeroDivisionError")
    session.ask("p 1 +", "SyntaxError")
    session.ask("d", "(?i)newest frame")  # pdb's words
    session.ask("p no_such_name", "NameError")
    session.ask("p answer", "^41$")
    session.detach()
