"""What a user's expression, or the program under us, may do to a session: one
clear line, the right exit code, and the target lives and can be attached again,
where the abuse itself did not end it."""

import os
import random
import resource
import signal
import subprocess
import time

import pytest

import interpreters
import processes
from harness import (PROGRAM, Target, evaluate, hangdbg, in_targets, outcome, place, start,
                     start_hangdbg, track, until)

NOTICED = 1.0  # seconds; some milliseconds on a quiet machine


@pytest.fixture
def target(edge_python):
    """One that hangs; whatever was done to it, it goes on and ends normally."""
    hung = start("lock_main", edge_python)
    before = hung.snapshot()
    yield hung
    hung.assert_as_before(before, arenas=4)
    assert evaluate(hung, "answer + 1") == "42"
    assert hung.finish()["answer"] == 41


# name: (expression, exit code, what is printed or said)
SURVIVED = {
    "exit": ("import sys; sys.exit(3)", 1, "SystemExit: 3"),
    "recursion": ("def f(): f()\nf()", 1, "RecursionError"),
    "deep repr": ("x = []\nfor i in range(100000): x = [x]\nrepr(x)", 1, "RecursionError"),
    "huge repr": ("'x' * 20_000_000", 0, "more characters omitted"),
    "repr that raises": ("type('R', (), {'__repr__': lambda self: 1 / 0})()", 1,
                         "ZeroDivisionError"),
    "surrogates": ("'\\udc80\\ud800'", 0, r"'\udc80\ud800'"),
    "NUL": ("'a\\0b' + print('c\\0d', end='')", 1, "TypeError"),
    "no descriptors": ("import os; os.closerange(3, 1000)", 4, "descriptors"),
    "trace": ("import sys; sys.settrace(lambda *args: None)", 0, ""),
    "profile": ("import sys; sys.setprofile(lambda *args: 1 / 0)", 1, "ZeroDivisionError"),
    "fork": ("import os; print(os.fork() > 0)", 0, "True"),
    "child": ("__import__('os').system('true')", 0, "0"),
    "builtins": ("import sys; del sys.modules['builtins']", 0, ""),
}


@pytest.mark.parametrize("name", SURVIVED)
def test_survived(target, name, edge_python):
    expression, rc, said = SURVIVED[name]
    if name == "profile" and interpreters.minor(edge_python) >= 12:
        rc, said = 0, ""  # nothing that we run is profiled there
    done = hangdbg("eval", target.pid, expression)
    assert done.rc == rc, done
    assert said in done.out + done.err, done


def test_repr_without_end(target):
    done = hangdbg("eval", target.pid, "--timeout", "2",
                   "type('R', (), {'__repr__': lambda self: [0 for _ in iter(int, 1)]})()")
    done.assert_refused(4, "time is up")


def test_expression_that_ends_our_thread(python):
    if interpreters.variant(python) == interpreters.MUSL:
        pytest.skip("musl's Python has no ctypes: Debian has no libffi for musl")
    target = start("lock_main", python)
    done = hangdbg("eval", target.pid, "__import__('ctypes').CDLL(None).pthread_exit(None)")
    done.assert_refused(4, "our thread")
    assert done.seconds < 5, done
    until("our threads gone", lambda: len(processes.threads(target.pid)) == 1)
    # The libc has used its stack since: who goes through all frames comes not there.
    frames = "__import__('gc').collect() >= 0 and len(__import__('sys')._current_frames())"
    assert evaluate(target, frames) == "2"
    assert evaluate(target, "answer + 1") == "42"
    assert target.finish()["answer"] == 41


def test_recursion_without_a_limit(python):
    """The program has one of its own, far above what any stack holds."""
    target = start("lock_main", python)
    assert hangdbg("eval", target.pid, "import sys; sys.setrecursionlimit(10**5)").rc == 0
    done = hangdbg("eval", target.pid, "def f(): f()\nf()")
    done.assert_refused(1, "RecursionError")
    deep = "def f(n): return n and f(n - 1)\nprint(f(3000))"
    assert hangdbg("eval", target.pid, deep).out == "0\n"
    assert evaluate(target, "__import__('sys').getrecursionlimit()") == "100000"
    assert target.finish()["answer"] == 41


PAST_THE_LIMIT = """class Kept:
    def __init__(self): self.own = self
    def __del__(self): helper()
def helper(): return [0].copy()
def after(gone): helper()
import weakref
def end():
    kept = Kept(); seen = weakref.ref(kept, after); kept.own = None
    del kept
    end()
def again():
    try: again()
    except RecursionError: return repr(deep)
deep = []
for _ in range(200): deep = [deep]
%s"""


@pytest.mark.parametrize("ends", ["end()", "again(); end()"])
def test_who_goes_on_past_the_limit_of_the_recursion(python, ends):
    """What the interpreter calls there has its RecursionError swallowed, and up to 3.9 who gets
    50 calls further ends the process."""
    target = start("lock_main", python)
    hangdbg("eval", target.pid, PAST_THE_LIMIT % ends).assert_refused(1, "RecursionError")
    assert evaluate(target, "answer + 1") == "42"
    assert target.finish()["answer"] == 41


def test_a_forked_child_ends_with_the_expression(target):
    """It has our descriptors, and prints into no session."""
    assert evaluate(target, "__import__('os').fork() > 0") == "True"
    until("the child gone", lambda: not [
        pid for pid in processes.children(target.pid)
        if " Z " not in open("/proc/%d/stat" % pid).read()])


def test_no_modules(edge_python):
    """The program is broken then, but it lives, and is told apart from us."""
    target = start("lock_main", edge_python)
    assert hangdbg("eval", target.pid, "import sys; sys.modules.clear()").rc == 0
    again = hangdbg("eval", target.pid, "answer + 1")
    if again.rc:
        again.assert_refused(1)
    else:
        assert again.out == "42\n"
    target.finish()


def test_print_100_mb(newest_python):
    """It comes as it is printed, and the target never holds it all."""
    target = start("lock_main", newest_python)
    before = memory_peak(target.pid)
    run = start_hangdbg("eval", target.pid,
                        "for i in range(100): print('x' * 1_000_000)")
    assert run.stdout.read(1000) == "x" * 1000
    done = outcome(run)
    assert done.rc == 0, done
    assert 8_000_000 < len(done.out) and "cut after 8 MiB" in done.out
    assert done.out.endswith("[hangdbg: 91611492 characters more are left out]\n"), done.out[-200:]
    assert memory_peak(target.pid) - before < 32 * 1024  # KiB
    target.finish()


def test_reader_that_leaves(target):
    """`hangdbg eval … | head -1` ends at once."""
    run = start_hangdbg("eval", target.pid, "for i in range(10**7): print(i)")
    assert run.stdout.readline() == "0\n"
    run.stdout.close()
    run.stdout = None
    done = outcome(run)
    assert done.seconds < 8, done
    assert done.err.count("\n") <= 1, done


# ---- the target ends, or is another one


ENDS = {
    "exit": ("import os; os._exit(5)", "exit code 5"),
    "SIGKILL": ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
    "exec": ("import os; os.execv('/bin/sleep', ['sleep', '1'])", "another program"),
}


@pytest.mark.parametrize("name", ENDS)
def test_expression_that_ends_the_program(edge_python, name):
    expression, said = ENDS[name]
    target = start("lock_main", edge_python)
    done = hangdbg("eval", target.pid, expression)
    done.assert_refused(4, target.pid, said)
    assert done.seconds < 3, done


def test_end_seen_at_the_prompt(newest_python, terminal):
    """Nobody types; and a child of the target still has our descriptors."""
    target = start("lock_main", newest_python)
    session = terminal(target.pid)
    session.expect_prompt()
    child = "import os, time; os.fork() or (os.setsid(), time.sleep(3), os._exit(0))"
    session.type(child + "\r")
    session.expect_prompt()
    target.process.send_signal(signal.SIGKILL)
    session.expect("has ended: killed by SIGKILL", NOTICED)
    assert session.wait() == 4, session.text


def test_descriptors_closed_and_used_again(edge_python, terminal):
    """As a daemon does: the numbers of ours are then files of the program's,
    which we neither read, write nor close."""
    target = start("lock_main", edge_python)
    session = terminal(target.pid)
    session.expect_prompt()
    numbers = own_files(target.pid)
    session.type(
        "import os, threading; threading.Timer(0.5, lambda: ("
        "os.closerange(3, 100), [os.pipe() for i in range(%d)])).start()\r"
        % len(numbers))
    session.expect_prompt()
    until("the program's own files", lambda: own_files(target.pid) and all(
        what.startswith("pipe:") for what in own_files(target.pid).values()))
    theirs = own_files(target.pid)
    session.type("p answer\r")
    session.expect("descriptors")
    assert session.wait() == 4, session.text
    until("our threads gone", lambda: len(processes.threads(target.pid)) == 1)
    assert own_files(target.pid) == theirs
    assert evaluate(target, "answer + 1") == "42"
    target.finish()


# ---- the GIL


def test_loop_of_one_instruction(edge_python):
    target = start("spin", edge_python)
    assert evaluate(target, "answer + 1") == "42"
    assert target.finish()["answer"] == 41


def test_waits_until_the_gil_is_free(edge_python, terminal):
    """It says who holds it, and goes on by itself."""
    target = start("gil_held_once", edge_python)
    session = terminal(target.pid)
    session.expect(r"held (?:up )?by thread %d in read \(libc\S*\), called from "
                   r"call_c_with_gil" % target.tid)
    target.process.stdin.write(b"\n")
    target.process.stdin.flush()
    session.expect_prompt()
    session.ask("p answer + 1", "^42$")
    session.detach()
    assert target.finish()["answer"] == 41


def test_ctrl_c_while_the_gil_is_held(edge_python):
    target = start("gil_held_once", edge_python)
    before = target.snapshot()
    run = start_hangdbg("attach", target.pid, "-c", "p answer")
    until("it waits", lambda: "hangdbg-ctl" in processes.threads(target.pid).values())
    until("Ctrl-C is its own affair", lambda: processes.catches(run.pid, signal.SIGINT))
    run.send_signal(signal.SIGINT)
    assert outcome(run).rc == 130
    target.assert_as_before(before, arenas=3)
    target.process.stdin.write(b"\n")
    target.process.stdin.flush()
    # A signal before that would not wake it.
    until("it waits for the lock",
          lambda: processes.thread_activity(target.pid, target.pid).syscall == "futex")
    assert target.finish()["answer"] == 41


def test_detach_while_the_gil_is_held(edge_python):
    """The agent waits for it, another client joins it, and then all goes."""
    target = start("lock_main", edge_python)
    hold = ("import ctypes, threading; threading.Thread(target="
            "ctypes.PyDLL(None).usleep, args=(2_500_000,)).start()")
    assert hangdbg("eval", target.pid, hold).rc == 0
    joined = hangdbg("eval", target.pid, "answer + 1")
    assert (joined.rc, joined.out) == (0, "42\n"), joined
    until("our threads gone", lambda: len(processes.threads(target.pid)) == 1)
    assert not processes.anonymous_code(target.pid)
    target.finish()


# ---- clients


def test_a_client_that_stops_reading(target, tmp_path):
    """The target holds no more than fits in the channel, and others go on."""
    before = memory_peak(target.pid)
    mark = tmp_path / "mark"
    run = start_hangdbg(
        "eval", target.pid,
        "open(%r, 'w').close()\nfor i in range(10**9): print('x' * 1000)" % str(mark))
    until("the expression running", mark.exists)
    os.kill(run.pid, signal.SIGSTOP)
    assert evaluate(target, "answer + 1") == "42"
    assert memory_peak(target.pid) - before < 32 * 1024
    os.kill(run.pid, signal.SIGKILL)
    assert outcome(run).rc == -signal.SIGKILL


def test_too_many_clients(newest_python):
    target = start("lock_main", newest_python)
    runs = [start_hangdbg("eval", target.pid, "__import__('time').sleep(60)",
                          "--timeout", "60") for _ in range(8)]
    until("eight at work", lambda: list(
        processes.threads(target.pid).values()).count("hangdbg-exec") == 8)
    hangdbg("eval", target.pid, "1").assert_refused(4, "8 hangdbg sessions")
    os.kill(target.pid, signal.SIGKILL)
    for run in runs:
        outcome(run).assert_refused(4, "SIGKILL")


def test_clients_killed_at_random(newest_python):
    """Evals and prompts come and go, some are killed; the others' answers are
    right, and nothing stays."""
    seed = random.randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    target = start("lock_main", newest_python)
    before = target.snapshot()
    running = []
    for number in range(40):
        if dice.random() < 0.5:
            command = ["eval", target.pid, "answer + %d" % number]
        else:
            command = ["attach", target.pid, "-c", "p answer + %d" % number]
        killed_after = dice.random() * 0.3 if dice.random() < 0.4 else None
        running.append((start_hangdbg(*command), 41 + number, killed_after))
        if len(running) == 5 or number == 39:
            for run, answer, killed_after in running:
                if killed_after is not None:
                    time.sleep(max(0, run.started_at + killed_after - time.monotonic()))
                    run.kill()
            for run, answer, killed_after in running:
                done = outcome(run)
                if killed_after is None:
                    assert done.rc == 0, (seed, done)
                    assert done.out.splitlines()[-1] == str(answer), (seed, done)
            running = []
    target.assert_as_before(before, arenas=8)
    assert not processes.anonymous_code(target.pid)
    assert target.finish()["answer"] == 41


# ---- no room


def test_no_descriptors_left(target):
    limit = resource.prlimit(target.pid, resource.RLIMIT_NOFILE)
    for more in range(5):
        few = len(processes.fds(target.pid)) + more
        resource.prlimit(target.pid, resource.RLIMIT_NOFILE, (few, limit[1]))
        hangdbg("eval", target.pid, "answer").assert_refused(4, "no room")
    resource.prlimit(target.pid, resource.RLIMIT_NOFILE, limit)


def test_no_memory_left(target):
    limit = resource.prlimit(target.pid, resource.RLIMIT_AS)
    now = int(open("/proc/%d/statm" % target.pid).read().split()[0]) * resource.getpagesize()
    refused = 0
    # CPython ends the process where PyGILState_Ensure finds no memory: between what a
    # thread's stack takes, and what the smallest request does.
    brink = range(8_800_000, 9_200_000, 25_000)
    for more in (0, 100_000, 300_000, 8_500_000, *brink, 20_000_000):
        # After the look at its limits, as when the program takes the last itself.
        running = start_hangdbg("eval", target.pid, "answer",
                                env={"HANGDBG_TEST_STOP_AT": "preflight-done"})
        until("stopped", lambda: processes.state(running.pid) == "T")
        resource.prlimit(target.pid, resource.RLIMIT_AS, (now + more, limit[1]))
        running.send_signal(signal.SIGCONT)
        done = outcome(running)
        resource.prlimit(target.pid, resource.RLIMIT_AS, limit)
        assert done.rc in (0, 1, 4), done
        if done.rc:
            done.assert_refused(done.rc)
            assert "our agent has left it" not in done.err, done
            refused += 1
    assert refused >= 3


def test_no_threads_left(target):
    """A pids cgroup with room for none, then for one, of our two."""
    folder = "/sys/fs/cgroup/pids"
    if not os.path.isfile(folder + "/cgroup.procs") or os.geteuid() != 0:
        pytest.skip("needs root and a pids cgroup (v1)")
    folder += "/hangdbg-%d" % target.pid
    os.mkdir(folder)
    try:
        write(folder + "/cgroup.procs", target.pid)
        for room in (1, 2):
            write(folder + "/pids.max", room)
            hangdbg("eval", target.pid, "answer").assert_refused(4, "room")
            until("our threads gone", lambda: len(processes.threads(target.pid)) == 1)
    finally:
        write("/sys/fs/cgroup/pids/cgroup.procs", target.pid)
        os.rmdir(folder)


def test_memory_deny_write_execute(newest_python):
    script = ("import ctypes, runpy, sys; sys.path.insert(0, sys.argv[1]); "
              "ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) == 0 or sys.exit('no MDWE'); "
              "runpy.run_path(sys.argv[1] + '/lock_main.py')")
    try:
        target = Target([newest_python, "-c", script, in_targets("lock_main.py").parent])
    except AssertionError as error:
        if "no MDWE" in str(error):
            pytest.skip("the kernel has no PR_SET_MDWE (6.3)")
        raise
    target.wait_hung()
    assert evaluate(target, "answer + 1") == "42"
    target.finish()


def test_no_executable_memfd(newest_python):
    """We use none: the setting, of a PID namespace of its own, is no hindrance."""
    if not os.path.exists("/proc/sys/vm/memfd_noexec"):
        pytest.skip("the kernel has no vm.memfd_noexec (6.3)")
    command = 'echo 2 >/proc/sys/vm/memfd_noexec && exec "$@"'
    target = Target(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", command, "sh",
                     newest_python, in_targets("lock_main.py")])
    (pid,) = processes.children(target.process.pid)
    assert hangdbg("eval", pid, "answer + 1", "--thread", "main").out == "42\n"


CONSTRUCTOR = """
#include <unistd.h>
__attribute__((constructor)) static void hang(void) {
  char byte;
  while (read(0, &byte, 1) < 0) {}
}
"""


def test_hung_in_a_constructor(edge_python, tmp_path):
    """The loader's lock is held: within the deadline it works or says why not."""
    source = tmp_path / "hang.c"
    source.write_text(CONSTRUCTOR)
    library = tmp_path / "hang.so"
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    target = start("hung_constructor", edge_python, library)
    done = hangdbg("eval", target.pid, "answer + 1", "--timeout", "2")
    assert done.seconds < 5, done
    if done.rc:
        done.assert_refused(4)
    else:
        assert done.out == "42\n", done
    until("our threads gone", lambda: len(processes.threads(target.pid)) == 1)
    assert target.finish()["answer"] == 41


# ---- helpers


def memory_peak(pid):
    """KiB."""
    with open("/proc/%d/status" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def own_files(pid):
    """Its descriptors but for the three that it began with."""
    return {number: what for number, what in processes.fds(pid).items() if number > 2}


def write(path, value):
    with open(path, "w") as file:
        file.write(str(value))
