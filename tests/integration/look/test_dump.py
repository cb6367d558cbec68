"""hangdbg dump: what it shows is what the interpreter says of itself, nothing is
changed by it, and it works where nothing else does."""

import ast
import json
import os
import re
import signal
import subprocess

import pytest

import processes
from harness import PROGRAM, faulthandler_stacks, hangdbg, start, until

# Frames of all threads, as (thread's ident, [[function, file, line], ...]).
ORACLE = (
    "__import__('json').dumps([[ident, (lambda walk: walk(walk, frame))("
    "lambda walk, f: [[f.f_code.co_name, f.f_code.co_filename, f.f_lineno]] + "
    "(walk(walk, f.f_back) if f.f_back else []))] "
    "for ident, frame in __import__('sys')._current_frames().items()])"
)


def dump(*words, rc=0):
    """The processes of `dump --json`."""
    done = hangdbg("dump", *words, "--json")
    assert done.rc == rc, done
    return done.json()["processes"]


def frames_of(thread):
    return [[f["function"], f["file"], f["line"]] for f in thread["frames"]]


@pytest.mark.parametrize("hang", ["lock_main", "lock_worker", "join", "recv", "sleep"])
def test_is_what_the_interpreter_says(hang, python):
    target = start(hang, python)
    until_settled(target)
    said = hangdbg("eval", target.pid, ORACLE)
    assert said.rc == 0, said
    until("no thread of hangdbg's", lambda: not processes.debugger_threads(target.pid))
    assert_stacks(target, [stack for _, stack in json.loads(ast.literal_eval(said.out))])
    target.finish()


@pytest.mark.parametrize("hang", ["lock_main", "lock_worker", "join", "recv", "sleep"])
def test_is_what_the_fault_handler_says(hang, refused_python, tmp_path):
    """Of those that are not entered."""
    (tmp_path / "sitecustomize.py").write_text(
        "import faulthandler, signal\n"
        "faulthandler.register(signal.SIGUSR2, open(%r, 'w'))" % str(tmp_path / "said"))
    target = start(hang, refused_python, env={"PYTHONPATH": str(tmp_path)})
    until_settled(target)
    os.kill(target.pid, signal.SIGUSR2)
    assert_stacks(target, faulthandler_stacks(tmp_path / "said"))
    target.finish()


def until_settled(target):
    def settled():
        """All threads, main too: what they do for good."""
        looks = [[frames_of(t) for t in dump(target.pid)[0]["threads"]] for _ in range(2)]
        return looks[0] == looks[1]

    until("all threads hang", settled)


def assert_stacks(target, stacks):
    (process,) = dump(target.pid)
    assert {t["tid"] for t in process["threads"]} == set(
        map(int, os.listdir("/proc/%d/task" % target.pid)))
    assert process["pid"] == target.pid
    for thread in process["threads"]:
        assert thread["exact"] and thread["error"] is None, thread
        assert frames_of(thread) in stacks, (thread, stacks)
    (hung,) = [t for t in process["threads"] if t["tid"] == target.tid]
    assert hung["frames"][0]["function"] == target.function or target.function in [
        f["function"] for f in hung["frames"]
    ]
    assert hung["state"].startswith("asleep in "), hung
    assert hung["waiting_s"] is None or 0 <= hung["waiting_s"] < 100
    assert hung["syscall"]["name"] in [
        processes.syscall_name(call) for call in target.ready["syscalls"]
    ]


def test_changes_nothing(edge_python):
    target = start("lock_worker", edge_python)
    before = target.snapshot()
    for flags in [(), ("--nonblocking",), ("--source",), ("--full-filenames",)]:
        done = hangdbg("dump", target.pid, *flags)
        assert done.rc == 0 and done.err == "", done
    assert processes.differences(before, target.snapshot()) == []
    target.finish()


ACTIVITIES = """
import gc, os, sys, threading, time
def tell(fd): os.write(1, b"ready\\n")
def handles():
    try:
        raise KeyError("lock", 3)
    except KeyError:
        try:
            int("x")
        except ValueError:
            pass
        tell(1); time.sleep(60)
def handles_nothing():
    try:
        raise KeyError("over")
    except KeyError:
        pass
    tell(1); time.sleep(60)
def handles_outside_of_a_generator():
    def generator():
        yield 1
        tell(1); time.sleep(60)
    try:
        raise OSError(2, "gone")
    except OSError:
        for each in generator():
            pass
def collects():
    class Slow:
        def __del__(self):
            tell(1)
            while True: pass
    gc.disable()
    cycle = Slow()
    cycle.itself = cycle
    del cycle
    gc.collect()
globals()[sys.argv[1]]()
"""


@pytest.mark.parametrize(
    "activity, exception",
    [("handles", "KeyError('lock', 3)"), ("handles_nothing", None),
     ("handles_outside_of_a_generator", "FileNotFoundError(2, 'gone')"), ("collects", None)])
def test_what_it_is_in_the_middle_of(activity, exception, readable_python):
    child = subprocess.Popen([readable_python, "-c", ACTIVITIES, activity], stdout=subprocess.PIPE)

    def goes_on():
        if activity != "collects":
            call = processes.thread_activity(child.pid, child.pid).syscall
            return call in ["clock_nanosleep", "select", "pselect6"]
        gil = dump(child.pid)[0]["gil"]  # os.write() gives it away for a moment
        return gil is None or gil["locked"]

    try:
        assert child.stdout.readline() == b"ready\n"
        until("it goes on", goes_on)
        (process,) = dump(child.pid)
        (thread,) = process["threads"]
        assert (thread["exception"] or {}).get("repr") == exception, thread
        free_threaded = process["gil"] is None
        assert thread["collects_garbage"] == (activity == "collects" and not free_threaded)
        shown = hangdbg("dump", child.pid).out
        assert ("while it handles" in shown) == (exception is not None)
    finally:
        child.kill()
        child.wait()


def test_of_a_running_thread(readable_python):
    """It is stopped, for a moment; or not, and that is said."""
    target = start("busy", readable_python)
    (process,) = dump(target.pid)
    (busy,) = [t for t in process["threads"] if t["tid"] == target.tid]
    assert busy["exact"] and busy["frames"], busy
    assert busy["state"] == "running" and busy["syscall"] is None
    assert process["longest_stop_us"] > 0
    (process,) = dump(target.pid, "--nonblocking")
    (busy,) = [t for t in process["threads"] if t["tid"] == target.tid]
    assert not busy["exact"]
    assert process["longest_stop_us"] == 0
    target.finish()


def test_gil_is_held_for_ever(readable_python, library):
    held = start("gil_held_by_library", readable_python, library)
    (process,) = dump(held.pid)
    threads = {t["tid"]: t for t in process["threads"]}
    if process["gil"] is not None:
        assert process["gil"] == {"locked": True, "holder_tid": held.tid}
        assert threads[held.tid]["has_gil"]
        assert not threads[held.ready["worker"]]["has_gil"]
    assert threads[held.tid]["frames"][0]["function"] == "hold_gil"
    assert "wait_in_worker" in [
        f["function"] for f in threads[held.ready["worker"]]["frames"]
    ]


def test_stopped_process(edge_python):
    target = start("lock_main", edge_python)
    os.kill(target.pid, signal.SIGSTOP)
    until("it is stopped", lambda: processes.state(target.pid) == "T")
    (process,) = dump(target.pid)
    os.kill(target.pid, signal.SIGCONT)
    (thread,) = process["threads"]
    assert thread["state"].startswith("stopped") and thread["exact"]
    assert target.function in [f["function"] for f in thread["frames"]]
    target.finish()


def test_for_people(edge_python):
    target = start("lock_main", edge_python)
    done = hangdbg("dump", target.pid, "--source=3")
    assert done.rc == 0 and done.err == "", done
    head, thread, frame = done.out.splitlines()[:3]
    assert re.match(r"Process %d · python 3\.\d+.* · up .* · (GIL free|no GIL)$" % target.pid, head)
    assert re.match(r'Thread %d "MainThread" · asleep in futex' % target.pid, thread)
    assert re.match(r"    \S+ \(.*%s.*:\d+\)$" % "lock_main.py", frame), done
    assert re.search(r"^ +\d+ -> .*acquire", done.out, re.M), done
    assert "\x1b[" not in done.out
    assert "\x1b[" in hangdbg("dump", target.pid, "--color=always").out
    target.finish()


def test_deep_recursion_is_folded(newest_python):
    program = (
        "import sys, time, os\n"
        "sys.setrecursionlimit(10**6)\n"
        "def deep(n):\n"
        "    if n: return deep(n - 1)\n"
        "    os.write(1, b'deep\\n'); time.sleep(60)\n"
        "deep(900)\n"
    )
    child = subprocess.Popen([newest_python, "-c", program], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"deep\n"
        done = hangdbg("dump", child.pid)
        assert "(repeated 897 more times)" in done.out, done
        assert len(done.out.splitlines()) < 12
        (process,) = dump(child.pid)
        assert len(process["threads"][0]["frames"]) == 902
        merged = hangdbg("dump", child.pid, "--merge", "--json").json()
        assert branches(merged["tree"]) == [("(502 frames deeper)", [child.pid])]
    finally:
        child.kill()
        child.wait()


def test_columns(newest_python, tmp_path):
    """Which part of the line runs; also where bytes and letters differ."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\n"
        "def main():\n"
        "\tword = [1, len('\u043f\u0440'), os.write(1, b'ready\\n'), time.sleep(60), 2]\n"
        "main()\n")
    child = subprocess.Popen([newest_python, script], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"ready\n"
        until("it sleeps", lambda: processes.thread_activity(child.pid, child.pid).syscall
              == "clock_nanosleep")
        (process,) = dump(child.pid)
        frame = process["threads"][0]["frames"][0]
        line = script.read_bytes().splitlines()[2]
        assert frame["line"] == frame["end_line"] == 3
        assert line[frame["column"]:frame["end_column"]] == b"time.sleep(60)"
        shown = hangdbg("dump", child.pid, "--source=1").out.splitlines()
        source = next(i for i, text in enumerate(shown) if "time.sleep" in text)
        assert shown[source + 1].index("^") == shown[source].index("time.sleep")
        assert shown[source + 1].count("^") == len("time.sleep(60)")
    finally:
        child.kill()
        child.wait()


def test_many(newest_python):
    """Several at once, in the order asked for; one that is not there costs the others
    nothing."""
    targets = [start("lock_main", newest_python), start("sleep", newest_python)]
    pids = [target.pid for target in targets]
    assert [p["pid"] for p in dump(*pids)] == pids
    assert [p["pid"] for p in dump("-p", pids[1], "-p", pids[0])] == pids[::-1]
    found = dump(pids[0], 2**22 + 1, pids[1], rc=1)
    assert [p["pid"] for p in found] == [pids[0], 2**22 + 1, pids[1]]
    assert found[1]["error"]["type"] == "no-such-process" and found[0]["error"] is None
    done = hangdbg("dump", pids[0], 2**22 + 1)
    assert done.rc == 1 and "lock_main" in done.out and "no process" in done.err
    done = hangdbg("dump", "--all", "--json", "--timeout", "60")
    every = {p["pid"]: p for p in done.json()["processes"]}
    assert [every[pid]["error"] for pid in pids] == [None, None]
    # Of others that the machine runs some may be over, or get no CPU.
    errors = [p["error"]["type"] for p in every.values() if p["error"] and p["python"]]
    assert set(errors) <= {"timed-out", "no-such-process"}, done
    assert done.rc == any(p["error"] for p in every.values()), done


def branches(node):
    """What each leaf of the tree is, and who is there."""
    if not node["children"]:
        return [(node["function"], node["pids"])]
    return [leaf for child in node["children"] for leaf in branches(child)]


def test_merge(newest_python):
    """Three do one thing, one another; one is not there."""
    program = (
        "import os, sys, time\n"
        "def reduce(): os.write(1, b'ready\\n'); time.sleep(60)\n"
        "def load(): os.write(1, b'ready\\n'); time.sleep(60)\n"
        "def step(n): load() if n == 1 else reduce()\n"
        "step(int(sys.argv[1]))\n"
    )
    children = [
        subprocess.Popen([newest_python, "-c", program, str(n)], stdout=subprocess.PIPE)
        for n in range(4)
    ]
    try:
        assert [child.stdout.readline() for child in children] == [b"ready\n"] * 4
        pids = [child.pid for child in children]
        odd = pids.pop(1)
        done = hangdbg("dump", "--merge", "--json", *pids, odd, 2**22 + 1)
        assert done.rc == 1, done
        merged = done.json()
        assert sorted(branches(merged["tree"])) == [("load", [odd]), ("reduce", sorted(pids))]
        assert merged["tree"]["pids"] == sorted([*pids, odd])
        assert [entry["pids"] for entry in merged["odd"]] == [[odd]]
        assert "load" in merged["odd"][0]["why"] and "reduce" in merged["odd"][0]["why"]
        assert [entry["pid"] for entry in merged["missing"]] == [2**22 + 1]
        done = hangdbg("dump", "--merge", *pids, odd)
        assert done.rc == 0 and "process %d: in load" % odd in done.out, done
        assert "all 4 processes" in done.out and "3 of 4 processes" in done.out, done
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_children(newest_python):
    script = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE,"
        " stderr=subprocess.DEVNULL)\n"
        "subprocess.Popen(['sleep', '60'])\n"
        "sys.stdout.write('ready\\n'); sys.stdout.flush()\n"
        "sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [newest_python, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True)
    try:
        parent.stdout.readline()
        until("its child is Python", lambda: len(
            hangdbg("dump", "-s", parent.pid, "--json").json()["processes"]) == 2)
        found = dump("--children", parent.pid)
        assert found[0]["pid"] == parent.pid
        assert found[1]["pid"] in processes.children(parent.pid)
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()


def test_reader_that_goes(newest_python):
    target = start("lock_main", newest_python)
    done = subprocess.run(
        "%s dump %d --json | head -c 10" % (PROGRAM, target.pid), shell=True,
        capture_output=True, text=True)
    assert done.stdout == '{"processe' and done.stderr == "", done


@pytest.mark.parametrize(
    "words, rc, says",
    [
        (("zero",), 2, '"zero" is not a PID'),
        (("-7",), 2, ""),
        (("0",), 2, '"0" is not a PID'),
        ((str(2**22 + 1),), 2, "no process"),
        (("--source=0", "1"), 2, ""),
        (("--nonsense",), 2, "--nonsense"),
        (("1", "--merge", "--tasks"), 2, "--merge cannot be combined"),
        (("1", "--merge", "--source"), 2, "--merge cannot be combined"),
    ],
)
def test_bad_input(words, rc, says):
    done = hangdbg("dump", *words)
    assert done.rc == rc and says in done.err and done.out == "", done
    assert len(done.err.splitlines()) <= 2 and "try: " in done.err


def test_not_python():
    child = subprocess.Popen(["sleep", "60"])
    try:
        done = hangdbg("dump", child.pid)
        assert done.rc == 2 and "is not Python" in done.err, done
        (process,) = dump(child.pid, rc=2)
        assert process["error"]["type"] == "not-python"
    finally:
        child.kill()
        child.wait()


def test_zombie():
    child = subprocess.Popen(["true"])
    until("it has ended", lambda: processes.state(child.pid) == "Z")
    done = hangdbg("dump", child.pid)
    child.wait()
    assert done.rc == 2 and "is a zombie" in done.err, done
