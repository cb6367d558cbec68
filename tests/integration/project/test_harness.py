"""The targets hang and go on as they say, and the harness sees what changes:
without hangdbg, so that a failure elsewhere is not theirs."""

import os
import subprocess
import sys
import threading

import pytest

import harness
import processes
from harness import start
from hangs import WAITS_AT, start_hang

TRIES = 20


@pytest.mark.parametrize("name", [*WAITS_AT, "gil_held", "busy"])
def test_target_hangs_and_goes_on(name, edge_python, library):
    target = start_hang(name, edge_python, library)
    before = target.snapshot()
    assert target.alive()
    assert processes.differences(before, target.snapshot(), arenas=0) == []
    result = target.finish()
    assert result["answer"] == 41


def test_each_target_has_a_name_of_its_own():
    """By which it is found, in whatever room it is; links lead to what all share."""
    links, files = [], []
    for path in harness.TARGETS.rglob("*.*"):
        (links if path.is_symlink() else files).append(path)
    names = [path.name for path in files if path.suffix not in (".md", ".pyc")]
    assert sorted(names) == sorted(set(names))
    assert {path.resolve().parent for path in links} == {harness.TARGETS}


@pytest.mark.parametrize("call", ["futex", "nanosleep", "poll", "read", "select"])
def test_timed_call_is_on_time_when_nobody_looks(call, edge_python):
    took = [start("timed_call", edge_python, call, 0.4).finish()["duration"]]
    while min(took) >= 0.45 and len(took) < TRIES:  # it may have had no CPU
        took.append(start("timed_call", edge_python, call, 0.4).finish()["duration"])
    assert 0.399 <= min(took) < 0.45, took


def test_snapshot_sees_fd_thread_and_mapping():
    before = processes.snapshot(os.getpid())
    go_on = threading.Event()
    reader, writer = os.pipe()
    thread = threading.Thread(target=go_on.wait)
    thread.start()
    try:
        found = processes.differences(before, processes.snapshot(os.getpid()))
        assert {line.split()[0] for line in found} >= {"fds", "threads"}
    finally:
        go_on.set()
        thread.join()
        os.close(reader)
        os.close(writer)


def test_snapshot_sees_blocked_signal(newest_python):
    import signal

    before = processes.snapshot(os.getpid())
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    try:
        found = processes.differences(before, processes.snapshot(os.getpid()))
        assert any(line.startswith("signals") for line in found)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])


def test_everything_started_is_stopped():
    process = harness.track(
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(100)"],
            start_new_session=True,
        )
    )
    harness.stop_everything()
    assert process.returncode == -9
