"""What a program cannot tell afterwards: that anybody was there."""

import ctypes
import mmap
import os
import signal
import statistics
import struct
import subprocess
import time
from pathlib import Path

import pytest

import processes
from harness import (PATIENCE, TARGETS, Target, evaluate, hangdbg, in_targets, outcome, start,
                     start_hangdbg, until)
from test_restart import ends_on_time

CYCLES = 100
SOON = 1.5  # seconds; some hundred milliseconds on a quiet machine
AGENT_GONE_SOON = 3.0  # seconds from the end of hangdbg; some 50 ms on a quiet machine


def test_python_is_as_before(python):
    """Modules, hooks, trace functions and whatever else `fingerprint.py` names. (And
    3.11 never leaves a traced function while an asynchronous exception seems to be
    there, as an unneeded PyThreadState_SetAsyncExc leaves it up to 3.12.)"""
    target = start("fingerprint", python)
    before = target.snapshot()
    for _ in range(3):
        assert evaluate(target, "answer + 1") == "42"
    assert hangdbg("attach", target.pid, "-c", "w", "-c", "p answer").rc == 0
    assert hangdbg("eval", target.pid, "while True: pass", "--timeout", "0.3").rc == 4
    target.assert_as_before(before, arenas=4)
    result = target.finish()
    assert result["changed"] == [] and result["traced"] == [], result
    assert result["streams"] == 2 and result["kept_globals"] == 0, result
    # Its own lists come to 17; the agent would be a hundred.
    assert result["more_objects"] < 30, result


def test_nothing_is_left_soon(edge_python):
    """Mostly: a busy machine may take its time now and then."""
    target = start("lock_main", edge_python)
    before, took = target.snapshot(), []
    for _ in range(5):
        assert evaluate(target, "answer") == "41"
        begun = time.monotonic()
        target.assert_as_before(before)
        took.append(time.monotonic() - begun)
    assert statistics.median(took) < AGENT_GONE_SOON, took
    target.finish()


@pytest.mark.slow
def test_memory_over_a_hundred_cycles(edge_python):
    target = start("lock_main", edge_python)
    before = target.snapshot()

    def cycles(count):
        for _ in range(count):
            evaluate(target, "__import__('gc').collect()")
            target.assert_as_before(before)
        return target.snapshot(), resident(target.pid)

    settled, kib = cycles(10)
    after, kib_after = cycles(CYCLES)
    assert processes.differences(settled, after, arenas=0) == []
    assert kib_after - kib < 512, (kib, kib_after)
    target.finish()


def resident(pid):
    with open("/proc/%d/status" % pid) as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1])


LEVELS = ["sse", "avx", "avx512bw"]


@pytest.mark.parametrize("level", LEVELS)
def test_registers_of_a_running_thread(level, newest_python, tmp_path):
    """It is the only thread, so that it is the one that is borrowed."""
    flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0]
    if level not in flags.split():
        pytest.skip("this CPU has no %s" % level)
    library = compiled(tmp_path, in_targets("vector.c"), in_targets("vector_state.S"))
    shared = tmp_path / "shared"
    shared.write_bytes(bytes(24))
    target = start("vector", newest_python, library, shared, LEVELS.index(level))
    with open(shared, "r+b") as file:
        words = mmap.mmap(file.fileno(), 24)
    for _ in range(CYCLES):
        assert evaluate(target, "answer") == "41"
    first = struct.unpack_from("Q", words, 8)[0]
    until("it loops", lambda: struct.unpack_from("Q", words, 8)[0] > first)
    words[0] = 1
    result = target.finish()
    assert result["rounds"] > 0 and result["wrong"] == 0, result


def test_restartable_sequence_is_left_alone(newest_python, tmp_path):
    """The kernel, and it alone, sends the thread back to the sequence's beginning."""
    glibc = tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")))
    if glibc < (2, 35):
        pytest.skip("glibc %d.%d has no rseq" % glibc)
    library = compiled(tmp_path, in_targets("restartable.c"))
    shared = tmp_path / "shared"
    shared.write_bytes(bytes(8))
    target = start("restartable", newest_python, library, shared)
    # Sooner or later it is met between two of them, and may be borrowed.
    seen = [hangdbg("eval", target.pid, "1 + 1", "--timeout", "1", "--log=injector:info")
            for _ in range(10)]
    assert any("in a restartable sequence" in run.err for run in seen), seen
    with open(shared, "r+b") as file:
        file.write(b"x")
    assert target.finish()["sent_back"] > 0


@pytest.mark.parametrize("kind", ["timer", "profile", "children"])
def test_signal_storm(kind, edge_python):
    target = start("storm", edge_python, kind)
    for _ in range(20):
        assert evaluate(target, "answer") == "41"
    first = caught(target)
    until("it still catches signals", lambda: caught(target) > first)
    assert target.finish()["answer"] == 41


def caught(target):
    return int(evaluate(target, "sum(caught.values())"))


@pytest.mark.parametrize("name", ["SIGTRAP", "SIGSEGV", "SIGPROF", "SIGALRM"])
@pytest.mark.parametrize("point", ["switched", "running", "mapped", "told-to-go"])
def test_signal_with_a_handler_in_the_middle(point, name, newest_python):
    """The thread is borrowed when the signal comes; its handler runs all the same."""
    target = start("storm", newest_python, "faults")
    run = stopped_at(point, target)
    send_to_main(target.pid, getattr(signal, name))
    os.kill(run.pid, signal.SIGCONT)
    outcome(run)
    assert evaluate(target, "answer") == "41"
    until("its handler has run",
          lambda: evaluate(target, "caught[%r]" % name) == "1")
    assert target.finish()["caught"] == {name: 1}


def send_to_main(pid, number):
    """One to the process may go to a thread of ours while main stands still."""
    assert ctypes.CDLL(None).syscall(234, pid, pid, number) == 0  # tgkill


@pytest.mark.parametrize("point", ["switched", "running", "mapped", "told-to-go"])
def test_signal_that_kills_in_the_middle(point, newest_python):
    """It dies of it, as it would have."""
    target = start("lock_main", newest_python)
    run = stopped_at(point, target)
    os.kill(target.pid, signal.SIGSEGV)
    os.kill(run.pid, signal.SIGCONT)
    done = outcome(run)
    assert done.rc in (0, 4), done
    assert target.process.wait(PATIENCE) == -signal.SIGSEGV


@pytest.mark.parametrize("point", ["switched", "running", "mapped", "told-to-go"])
def test_stopped_for_a_moment_in_the_middle(point, newest_python):
    """A SIGSTOP that its SIGCONT has taken back does not come again."""
    target = start("lock_main", newest_python)
    run = stopped_at(point, target)
    os.kill(target.pid, signal.SIGSTOP)
    until("hangdbg is to hear of it", lambda: processes.state(target.pid) == "t")
    os.kill(target.pid, signal.SIGCONT)
    os.kill(run.pid, signal.SIGCONT)
    done = outcome(run)
    assert done.rc in (0, 4), done
    assert evaluate(target, "answer + 1") == "42"
    assert processes.state(target.pid) == "S"
    assert target.finish()["answer"] == 41


POINTS = ["stopped", "switched", "running", "filled", "told-to-go", "registers-back"]


@pytest.mark.parametrize("point", POINTS)
def test_stopped_and_continued_in_the_middle(point, newest_python):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    run = stopped_at(point, target, "--timeout", "1")
    os.kill(target.pid, signal.SIGSTOP)
    os.kill(run.pid, signal.SIGCONT)
    ended = outcome(run)
    assert ended.rc in (0, 4), ended
    os.kill(target.pid, signal.SIGCONT)
    assert evaluate(target, "answer + 1") == "42"
    # The first agent may still be there, and a second executor join it.
    target.assert_as_before(before, arenas=3)
    assert target.finish()["answer"] == 41


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS[::2])
def test_frozen_in_the_middle(point, newest_python, freezer):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    freezer.add(target.pid)
    run = stopped_at(point, target, "--timeout", "1")
    freezer.freeze(True)
    let_go = time.monotonic()
    os.kill(run.pid, signal.SIGCONT)
    ended = outcome(run)
    assert ended.rc in (0, 4), ended
    assert time.monotonic() - let_go < 1 + SOON, ended
    freezer.freeze(False)
    assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before, arenas=3)
    assert target.finish()["answer"] == 41


def stopped_at(point, target, *flags):
    """A hangdbg that waits at a checkpoint, for a signal to go on."""
    run = start_hangdbg("eval", target.pid, "answer", *flags,
                        env={"HANGDBG_TEST_STOP_AT": point})
    until("hangdbg has stopped", lambda: processes.state(run.pid) == "T")
    return run


class Freezer:
    """A cgroup of version 1 or 2."""

    def __init__(self, folder, version):
        self.folder, self.version = folder, version

    def add(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))

    def freeze(self, on):
        if self.version == 2:
            (self.folder / "cgroup.freeze").write_text(str(int(on)))
            return
        word = "FROZEN" if on else "THAWED"
        (self.folder / "freezer.state").write_text(word)


@pytest.fixture(params=[1, 2])
def freezer(request):
    roots = [Path(line.split()[1]) for line in Path("/proc/mounts").read_text().splitlines()
             if (line.split()[2] == "cgroup2" if request.param == 2
                 else line.split()[2] == "cgroup" and "freezer" in line.split()[3])]
    if not roots or not os.access(roots[0], os.W_OK):
        pytest.skip("no cgroup freezer of version %d that we may use" % request.param)
    folder = roots[0] / ("hangdbg-test-%d" % os.getpid())
    try:
        folder.mkdir()
    except OSError as why:
        pytest.skip("no cgroup of version %d: %s" % (request.param, why))
    freezer = Freezer(folder, request.param)
    yield freezer
    freezer.freeze(False)
    for pid in (folder / "cgroup.procs").read_text().split():
        (roots[0] / "cgroup.procs").write_text(pid)
    until("the cgroup is empty", lambda: removed(folder))


def removed(folder):
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "function, why",
    [("sleep_on_alternate_stack", "on a stack of unknown size"),
     ("sleep_on_deep_stack", "no thread of the target can be borrowed")])
def test_odd_stacks_are_refused(function, why, newest_python, tmp_path):
    def attach(target):
        hangdbg("eval", target.pid, "1 + 1", "--timeout", "1").assert_refused(4, why)

    seconds = 3
    library = compiled(tmp_path, in_targets("odd_threads.c"))
    ends_on_time(seconds, lambda: start("odd_threads", newest_python, library, function, seconds),
                 attach)


def test_worker_of_io_uring_is_left_alone(newest_python):
    """It is the kernel's, and the only other thread that there is."""
    try:
        target = start("io_worker", newest_python, 3)
    except AssertionError as error:
        if "no io_uring" in str(error):
            pytest.skip(str(error).rpartition(": no ")[2].strip())
        raise
    (worker,) = until("the worker", lambda: [
        tid for tid, name in processes.threads(target.pid).items() if name.startswith("iou-")])
    before = processes.thread_activity(target.pid, worker)
    done = hangdbg("eval", target.pid, "1 + 1", "--timeout", "1", "--log=injector:debug")
    assert done.rc == 4 and "low-level lock" in done.err.splitlines()[-2], done
    assert "thread %d" % worker not in done.err, done
    assert processes.thread_activity(target.pid, worker) == before
    assert target.finish()["answer"] == 41


def test_thread_local_memory_of_a_megabyte(newest_python, tmp_path):
    """The libc takes it from each new thread's stack."""
    source = tmp_path / "local.c"
    source.write_text("__thread char local[1 << 20]; char* where(void) { return local; }")
    library = compiled(tmp_path, source)
    target = Target([newest_python, in_targets("lock_main.py")],
                    env={"LD_PRELOAD": str(library)})
    target.wait_hung()
    before = target.snapshot()
    assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before)
    target.finish()


def test_deep_recursion(newest_python):
    target = Target([newest_python, "-c", RECURSION, TARGETS])
    target.wait_hung()
    assert evaluate(target, "depth") == "900"
    assert target.finish()["depth"] == 900


RECURSION = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from common import finish, on_sigusr1, ready
def down(depth):
    if depth < 900:
        return down(depth + 1)
    ready("down", ["futex"])
    lock.acquire()
    return depth
lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
finish(depth=down(1))
"""


def compiled(folder, *sources):
    library = folder / "library.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-pthread", "-o", library,
                    *sources], check=True)
    return library
