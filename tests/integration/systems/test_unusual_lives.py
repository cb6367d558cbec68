"""Programs at odd moments of their lives: traced by others, replacing themselves, with a
main thread that has ended, at their end. Each is asked, or that is refused by name."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

import interpreters
import processes
from cgroups import cgroup
from harness import NORMAL_EXIT, PATIENCE, die_with_us, hangdbg, kill_group, track, until
from unusual import EDGE, Counting, assert_asked, assert_goes_on, assert_refused, spread

each = pytest.mark.parametrize(
    "python", [pytest.param(it.path, id=interpreters.name(it)) for it in EDGE])
oldest = pytest.mark.parametrize(
    "python", [pytest.param(it.path, id=interpreters.name(it)) for it in EDGE[:1]])


# ---- traced already


def trace_with(tool, pid):
    command = {
        "strace": ["strace", "-f", "-o", "/dev/null", "-p", str(pid)],
        "gdb": ["gdb", "-nx", "-q", "-batch", "-p", str(pid), "-ex", "continue"],
    }[tool]
    if not shutil.which(tool):
        pytest.skip("no " + tool)
    tracer = track(subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_us))
    until("traced", lambda: processes.tracer(pid))
    return tracer


@pytest.mark.parametrize("tool", ["strace", "gdb"])
def test_traced_by(tool, newest_python, tmp_path):
    target = Counting(tmp_path, "plain", newest_python)
    tracer = trace_with(tool, target.pid)
    assert_goes_on(target)
    assert_refused(target, 4, tool, processes.tracer(target.pid))
    tracer.send_signal(signal.SIGINT)
    kill_group(tracer)
    until("let go", lambda: not processes.tracer(target.pid))
    if tool == "strace":  # gdb leaves what it has attached to as it was stopped
        assert_asked(target)
        assert target.end() == {}


TRACES_PARENT = """
import ctypes, os, signal, sys, time
parent = os.getppid()
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE = 0x4206
if libc.ptrace(PTRACE_SEIZE, parent, None, None):
    sys.exit(os.strerror(ctypes.get_errno()))
while True:
    time.sleep(60)
"""


def test_traced_by_its_own_child(newest_python, tmp_path):
    """As programs do that want no debugger."""
    target = Counting(tmp_path, "plain", newest_python)
    done = hangdbg("eval", target.pid, "__import__('subprocess').Popen(%r).pid" % (
        [sys.executable, "-c", TRACES_PARENT],))
    child = int(done.out)
    until("traced", lambda: processes.tracer(target.pid) == child)
    assert_refused(target, 4, child)
    os.kill(child, signal.SIGKILL)
    assert target.end() == {}


# ---- the main thread has ended

MAIN_ENDS = """
import ctypes, json, mmap, os, sys, threading, time

with open(sys.argv[1], "r+b") as file:
    words = memoryview(mmap.mmap(file.fileno(), 3 * 8)).cast("Q")

def count():
    answer = 41
    while not words[0]:
        words[1] += 1
        words[2] += 1
        time.sleep(0.002)
    os._exit(7)

thread = threading.Thread(target=count)
thread.start()
print(json.dumps({"pid": os.getpid(), "tid": os.getpid(), "function": "count",
                  "syscalls": ["-1"], "go_on": "wait"}), flush=True)
ctypes.CDLL(None).syscall(60, 0)  # exit: of this thread alone, which has let go of the GIL
"""


class WithoutMain(Counting):
    def wait_hung(self):
        until("main has ended", lambda: processes.state(self.pid) == "Z")


@each
def test_main_thread_has_ended(python, tmp_path):
    """The others live, and no memory can be read: both is said, and not that it ended."""
    target = WithoutMain(tmp_path, "", python,
                         command=[python, "-c", MAIN_ENDS, tmp_path / "words"])
    for command in ("eval", "dump", "peek"):
        done = hangdbg(command, target.pid, *["answer"][:command != "dump"])
        done.assert_refused(2, "the main thread of process %d has ended" % target.pid,
                            "1 of its threads goes on")
        assert_goes_on(target)
    target.go_on()
    assert target.process.wait(PATIENCE) == NORMAL_EXIT


# ---- at its end

WORKS = """
import json, mmap, os, sys, threading, time

with open(sys.argv[2], "r+b") as file:
    words = memoryview(mmap.mmap(file.fileno(), 3 * 8)).cast("Q")

def count():
    answer = 41
    ready = {"pid": os.getpid(), "function": "count", "go_on": "wait", "loops": True,
             "tid": int(os.path.basename(os.readlink("/proc/thread-self"))),
             "syscalls": ["clock_nanosleep", "select", "pselect6", "running"]}
    os.write(1, json.dumps(ready).encode() + b"\\n")
    while not words[0]:
        words[1] += 1
        words[2] += 1
        time.sleep(0.002)
    os.write(1, json.dumps({"answer": answer}).encode() + b"\\n")

def daemon():
    while True:
        time.sleep(0.001)

threading.Thread(target=daemon, daemon=True).start()
"""

ENDS = {
    "atexit": "import atexit; atexit.register(count)",
    "thread": "threading.Thread(target=count).start()",
}


@pytest.mark.parametrize("where, python", spread(ENDS))
def test_main_has_come_to_its_end(where, python, tmp_path):
    """What it has left to do counts: with atexit, or in a thread that it waits for."""
    target = Counting(tmp_path, "", python, command=[
        python, "-c", WORKS + ENDS[where], "-", tmp_path / "words"])
    assert_asked(target)
    target.go_on()
    assert target.read_line(PATIENCE) == {"answer": 41}
    assert (target.process.wait(PATIENCE), target.stderr()) == (0, "")


BECOMES = WORKS.split("def daemon")[0] + """
turn = int(sys.argv[3])
end = time.monotonic() + 0.03
def again():
    answer = 41
    if not turn:
        os.write(1, json.dumps({"pid": os.getpid(), "tid": os.getpid(), "function": "again",
                                "syscalls": [], "go_on": "wait"}).encode() + b"\\n")
    while time.monotonic() < end:
        words[1] += 1
        words[2] += 1
        time.sleep(0.002)
    if words[0]:
        os._exit(7)
    os.execv(sys.executable, [sys.executable, "-S", "-c", os.environ["CODE"], *sys.argv[1:3],
                              str(turn + 1)])
"""

# The kernel ends all other threads, and gives the one that does it main's number.
BECOMING = {"main": "again()", "a thread": "threading.Thread(target=again).start()"}


class Becoming(Counting):
    def wait_hung(self):
        self.noise = ""


@pytest.mark.parametrize("who", BECOMING)
@oldest
def test_it_becomes_another_program_all_the_time(python, who, tmp_path):
    """Each time it is asked there is an answer, or one line that says what came between."""
    code = BECOMES + BECOMING[who]
    target = Becoming(tmp_path, "", python, env={"CODE": code}, command=[
        python, "-S", "-c", code, "-", tmp_path / "words", "0"])
    for _ in range(12):
        done = hangdbg("eval", target.pid, "answer + 1")
        if done.rc == 0:
            assert done.out == "42\n", done
        elif "name 'answer' is not defined" not in done.err:  # it has just begun
            done.assert_refused(done.rc)
        assert done.seconds < 15, done
        assert_goes_on(target)
    target.go_on()
    assert (target.process.wait(PATIENCE), target.stderr()) == (NORMAL_EXIT, "")


# ---- with little of a CPU


def test_throttled(newest_python, tmp_path):
    """It may run 5 ms of 100."""
    target = Counting(tmp_path, "plain", newest_python)
    with cgroup("cpu") as group:
        group.take(target.pid)
        group.write("cpu.cfs_quota_us", 5000)
        assert_asked(target)
        group.write("cpu.cfs_quota_us", -1)
        assert target.end() == {}


# ---- deep in C: up to 3.10 Python calls itself there


@pytest.mark.parametrize("depth", [100, 900])
@oldest
def test_many_frames_and_one_thread(depth, python, tmp_path):
    code = WORKS.split("def daemon")[0] + """
def below(frames):
    return below(frames - 1) if frames else count()
below(%d)
""" % depth
    target = Counting(tmp_path, "", python,
                      command=[python, "-c", code, "-", tmp_path / "words"])
    assert_asked(target)
    target.go_on()
    assert target.read_line(PATIENCE) == {"answer": 41}
    assert (target.process.wait(PATIENCE), target.stderr()) == (0, "")
