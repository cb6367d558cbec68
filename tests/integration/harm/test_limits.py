"""Programs that live at a limit: what an attach takes for a while, they need. It is
refused with the limit's name, having taken nothing; and the program never notices."""

import os
import signal
import subprocess
import sys

import pytest

import processes
from cgroups import cgroup
from harness import (
    PATIENCE, die_with_us, evaluate, hangdbg, kill_group, outcome, place, start, start_hangdbg, track, until)
from test_namespaces import start as start_behind


def kernel():
    return tuple(map(int, os.uname().release.split("-")[0].split(".")[:2]))


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def assert_no_room(target, *words):
    for command in (["eval", target.pid, "answer"], ["attach", target.pid, "-c", "w"]):
        hangdbg(*command).assert_refused(4, "no room for an attach", *words)
    assert hangdbg("dump", target.pid).rc == 0


@pytest.mark.parametrize("free", [3, 7, 16])
def test_few_descriptors(free, some_python):
    target = start("at_limits", some_python, "descriptors", free)
    assert_no_room(target, "descriptors are open")
    assert target.finish() == {"answer": 41, "wrong": []}


def test_enough_descriptors(some_python):
    target = start("at_limits", some_python, "descriptors", 40)
    before = target.snapshot()
    assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before)
    assert target.finish() == {"answer": 41, "wrong": []}


@pytest.mark.parametrize("sigpipe", ["ignored", "default"])
def test_closed_descriptors(sigpipe, python):
    """What is written to 1 and 2 goes nowhere, as before, and kills nobody: while we
    are there, and when we have just been killed."""
    target = start("at_limits", python, "closed", int(sigpipe == "default"))
    before = target.snapshot()
    for point in ("channels-taken", "hello-sent", "thread-started"):
        target.assert_as_before(before, arenas=4)  # else it would be joined
        died = hangdbg("eval", target.pid, "answer", env={"HANGDBG_TEST_DIE_AT": point})
        assert died.rc == -signal.SIGKILL, died
        assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before, arenas=4)
    before = processes.fds(target.pid)
    running = start_hangdbg("eval", target.pid, "[0 for _ in iter(int, 1)]", "--timeout",
                            2 * PATIENCE)
    until("our descriptors", lambda: set(processes.fds(target.pid)) - set(before))
    assert min(processes.fds(target.pid)) > 2
    running.send_signal(signal.SIGINT)
    assert outcome(running).rc in (130, -signal.SIGINT)
    assert target.finish() == {"answer": 41, "wrong": []}


@needs_root
@pytest.mark.parametrize("room", [0, 128, 512, 1024])
def test_full_memory_cgroup(room, some_python):
    """The kernel's OOM killer comes for a page more than there is."""
    target = start("lock_main", some_python)
    with cgroup("memory") as group:
        group.take(target.pid)
        # What it takes from now on is counted: its own pages belong to another group.
        group.write("memory.limit_in_bytes",
                    int(group.read("memory.usage_in_bytes")) + room * 1024)
        assert_no_room(target, "cgroup", "would be killed")
        group.write("memory.limit_in_bytes", 64 << 20)
        assert evaluate(target, "answer + 1") == "42"
        assert target.finish()["answer"] == 41


@needs_root
def test_enough_memory(edge_python):
    """A little more than what is asked for is enough, and nobody is killed."""
    target = start("lock_main", edge_python)
    with cgroup("memory") as group:
        group.take(target.pid)
        group.write("memory.limit_in_bytes",
                    int(group.read("memory.usage_in_bytes")) + (6500 << 10))
        assert evaluate(target, "answer + 1") == "42"
        assert target.finish()["answer"] == 41
        assert int(group.read("memory.failcnt")) == 0


@needs_root
def test_cached_files_are_room(newest_python, tmp_path):
    """A cgroup that is full of them is not full."""
    target = start("lock_main", newest_python)
    with cgroup("memory") as group:
        group.take(target.pid)
        group.write("memory.limit_in_bytes", 32 << 20)
        (tmp_path / "file").write_bytes(bytes(40 << 20))
        os.sync()
        reads = "len(open(%r, 'rb').read(1 << 20)) and [0 for f in [open(%r, 'rb')] " \
                "for _ in iter(lambda: f.read(1 << 16), b'')][:0]" % ((str(tmp_path / "file"),) * 2)
        os.posix_fadvise(os.open(tmp_path / "file", os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)
        assert evaluate(target, reads) == "[]"
        assert int(group.read("memory.usage_in_bytes")) > 24 << 20
        assert evaluate(target, "answer + 1") == "42"
        assert target.finish()["answer"] == 41


@needs_root
def test_no_threads_left_in_the_cgroup(newest_python):
    target = start("lock_main", newest_python)
    with cgroup("pids") as group:
        group.take(target.pid)
        group.write("pids.max", 3)
        assert_no_room(target, "threads that it may have")
        group.write("pids.max", 16)
        assert evaluate(target, "answer + 1") == "42"
        assert target.finish()["answer"] == 41


@pytest.mark.skipif(int(open("/proc/sys/vm/max_map_count").read()) > 200_000,
                    reason="too many mappings are allowed here to use them up")
@pytest.mark.parametrize("left", [16, 24])
def test_few_mappings(left, edge_python):
    target = start("at_limits", edge_python, "mappings", left)
    assert_no_room(target, "vm.max_map_count")
    assert target.finish() == {"answer": 41, "wrong": []}


def test_little_address_space(some_python):
    import resource

    target = start("lock_main", some_python)
    with open("/proc/%d/statm" % target.pid) as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    for limit, more in (("AS", 8 << 20), ("DATA", 0)):
        number = getattr(resource, "RLIMIT_" + limit)
        before = resource.prlimit(target.pid, number)
        most = used + more if limit == "AS" else 1 << 20
        resource.prlimit(target.pid, number, (most, before[1]))
        assert_no_room(target, limit.lower())
        resource.prlimit(target.pid, number, before)
    assert evaluate(target, "answer + 1") == "42"
    assert target.finish()["answer"] == 41


# ---- CPUs that others have

PRIORITY = 50

# On that CPU for that part of the time; and the kernel ends it after a minute without a pause.
REAL_TIME = """
import os, resource, sys, time
resource.setrlimit(resource.RLIMIT_RTTIME, (60_000_000,) * 2)
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(sys.argv[2])))
busy = float(sys.argv[3])
print("there", flush=True)
while True:
    end = time.monotonic() + 0.01 * busy
    while time.monotonic() < end:
        pass
    if busy < 1:
        time.sleep(0.01 * (1 - busy))
"""


@pytest.fixture
def cpu():
    """One that we can do without."""
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("there is only one CPU")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("no right to real-time classes here")
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return max(cpus)


def real_time(cpu, busy=1.0):
    """A process that has that CPU for that part of the time."""
    process = track(subprocess.Popen(
        [sys.executable, "-c", REAL_TIME, str(cpu), str(PRIORITY), str(busy)],
        stdout=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=die_with_us))
    assert process.stdout.readline() == "there\n"
    return process


def thread_of_real_time(pid):
    """The one that computes; 0: none yet."""
    return next((tid for tid in processes.threads(pid)
                 if os.sched_getscheduler(tid) == os.SCHED_FIFO), 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["main", "beside"])
def test_a_real_time_thread_has_the_only_cpu(kind, cpu, newest_python):
    target = start("real_time", newest_python, kind, cpu, PRIORITY)
    tid = until("it computes", lambda: thread_of_real_time(target.pid))
    before = target.snapshot()
    for command in (["eval", target.pid, "answer"], ["attach", target.pid, "-c", "w"]):
        hangdbg(*command).assert_refused(
            4, "thread %d (" % tid, "SCHED_FIFO, priority %d" % PRIORITY, "CPU %d" % cpu)
        target.assert_as_before(before, arenas=0)
    doctor = hangdbg("doctor", target.pid, "--json")
    assert doctor.json()["checks"][-1]["id"] == "no-cpu", doctor
    assert hangdbg("dump", target.pid).rc == 0
    assert target.finish() == {"answer": 41}


@pytest.mark.slow
def test_another_process_has_the_only_cpu(cpu, newest_python):
    """What the kernel keeps back for others may do for us; else it is refused by name."""
    target = start("lock_main", newest_python)
    os.sched_setaffinity(target.pid, {cpu})
    before = target.snapshot()
    other = real_time(cpu)
    for _ in range(3):
        done = hangdbg("eval", target.pid, "answer", *place(target))
        if done.rc == 0:
            assert done.out == "41\n"
        else:
            done.assert_refused(4, "thread %d of process %d" % (other.pid, other.pid),
                                "SCHED_FIFO", "CPU %d" % cpu)
        target.assert_as_before(before)
    kill_group(other)
    assert evaluate(target, "answer + 1") == "42"
    assert target.finish()["answer"] == 41


@pytest.mark.slow
@pytest.mark.parametrize("why", ["another cpu", "pauses", "priority", "beside, another cpu"])
def test_real_time_threads_that_leave_us_a_cpu(why, cpu, newest_python):
    everywhere = os.sched_getaffinity(0)
    if why == "beside, another cpu":
        target = start("real_time", newest_python, "beside", cpu, PRIORITY)
        until("it computes", lambda: thread_of_real_time(target.pid))
        os.sched_setaffinity(target.pid, everywhere)
    else:
        target = start("lock_main", newest_python)
        os.sched_setaffinity(target.pid, everywhere if why == "another cpu" else {cpu})
        if why == "priority":
            os.sched_setscheduler(target.pid, os.SCHED_FIFO, os.sched_param(PRIORITY + 1))
        real_time(cpu, busy=0.5 if why == "pauses" else 1.0)
    assert evaluate(target, "answer + 1") == "42"
    assert target.finish()["answer"] == 41


# ---- clocks and calls that are not ours


@needs_root
@pytest.mark.skipif(not os.path.exists("/proc/self/ns/time"), reason="no time namespaces")
@pytest.mark.parametrize("offset", ["behind", "ahead"])
def test_another_clock(offset, some_python):
    """Of a time namespace. The stub goes by it alone, also when we have died."""
    with open("/proc/uptime") as uptime:
        behind = -int(float(uptime.read().split()[0]) // 2)
    seconds = behind if offset == "behind" else 100_000
    target = start_behind("unshare", "--time", "--fork", "--monotonic", seconds,
                          python=some_python)
    before = target.snapshot()
    assert evaluate(target, "answer + 1") == "42"
    for point in ("masked", "running", "mapped", "told-to-go", "thread-started"):
        target.assert_as_before(before, arenas=4)  # else it would be joined
        died = hangdbg("eval", target.pid, "answer", env={"HANGDBG_TEST_DIE_AT": point})
        assert died.rc == -signal.SIGKILL, died
        assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before, arenas=4)
    slow = start_hangdbg("eval", target.pid, "answer", env={"HANGDBG_TEST_STOP_AT": "running"})
    until("stopped", lambda: processes.state(slow.pid) == "T")
    until("the thread has left", lambda: processes.thread_activity(
        target.pid, target.tid).syscall == "futex")
    slow.send_signal(signal.SIGCONT)
    assert outcome(slow).rc == 0
    target.assert_as_before(before)
    assert target.finish()["answer"] == 41


@pytest.mark.skipif(kernel() < (6, 4), reason="nobody can tell before Linux 6.4")
@pytest.mark.parametrize("threads", [0, 1])
def test_calls_that_the_program_handles(threads, edge_python):
    """A thread without that is taken where there is one; else it is refused."""
    target = start("dispatched", edge_python, threads)
    before = target.snapshot()
    if threads:
        assert evaluate(target, "answer + 1") == "42"
        target.assert_as_before(before)
    else:
        hangdbg("eval", target.pid, "answer").assert_refused(4, "syscall user dispatch")
    hangdbg("attach", target.pid, "-c", "hold").assert_refused(4, "syscall user dispatch")
    assert target.finish()["answer"] == 41
