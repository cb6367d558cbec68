"""What a program may do, or suffer, while hangdbg is in it."""

import os
import signal
import subprocess
import time

import pytest

import processes
from harness import evaluate, outcome, start, start_hangdbg, until

pytestmark = pytest.mark.once
HEARTBEAT = 0.06  # seconds; injector/stub/borrowed_thread.cpp


def test_setgid_in_mid_session(newest_python):
    """The libc sends a signal of its own to every thread and waits for each."""
    target = start("lock_main", newest_python)
    assert evaluate(target, "__import__('os').setgid(__import__('os').getgid()) or 1") == "1"
    assert evaluate(target, "answer + 1") == "42"
    target.finish()


@pytest.mark.parametrize(
    "point", ["running", "mapped", "filled", "told-to-go", "thread-started"]
)
def test_stopped_for_longer_than_the_stub_waits(point, newest_python):
    """Ctrl-Z, or a CPU quota: the stub has left when we are back, and its stack
    and its region are the program's own."""
    target = start("lock_worker", newest_python)
    before = target.snapshot()
    run = start_hangdbg("eval", target.pid, "answer + 1",
                        env={"HANGDBG_TEST_STOP_AT": point})
    until("hangdbg has stopped", lambda: processes.state(run.pid) == "T")
    time.sleep(2 * HEARTBEAT)  # the stub's own wait: nothing is to be seen of it
    os.kill(run.pid, signal.SIGCONT)
    assert outcome(run).out.strip() == "42"
    assert target.alive(), target.stderr()
    assert processes.tracer(target.pid) == 0
    assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before, arenas=3)
    assert target.finish()["answer"] == 41


@pytest.mark.slow
def test_killed_while_libraries_come_and_go(newest_python, tmp_path):
    """The stub must not be in a library that the program unloads."""
    program = tmp_path / "loader.py"
    program.write_text(LOADER)
    process = subprocess.Popen(
        [str(newest_python), str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        process.stdout.readline()
        for i in range(300):
            run = start_hangdbg("eval", process.pid, "1 + 1")
            time.sleep(0.03 * (i % 30) / 30)  # moments of its 20 ms
            os.kill(run.pid, signal.SIGKILL)
            outcome(run)
            assert process.poll() is None
        process.stdin.close()
        assert process.wait(20) == 7
    finally:
        process.kill()
        process.wait()


LOADER = """
import _ctypes, os, sys, threading, time
def load():
    while True:
        for name in ("libutil.so.1", "libanl.so.1"):
            _ctypes.dlclose(_ctypes.dlopen(name, 2))
def wait():
    while True:
        time.sleep(0.002)
for work in (load, load, wait, wait, wait):
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
os._exit(7)
"""
