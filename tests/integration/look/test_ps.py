"""`hangdbg ps`: which of the machine's Python processes hang, and in what. The
words one by one: tests/unit/diagnosis/activity_test.cpp; the causes: test_diagnose*.py."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import harness
import processes
from harness import PROGRAM, Target, as_nobody, behind, hangdbg, in_targets, start, until
from test_preflight import raw, root_only
from test_seccomp import ALLOW, KILL

KEYS = {"pid", "ppid", "uid", "rank", "job", "role", "python", "state", "hung", "stalled", "cause",
        "waits", "waiting_s", "cmdline", "error"}


def listed(*words, run=hangdbg):
    """{pid: what ps says of it}"""
    done = run("ps", "--json", "--hung-after=1", *words)
    assert (done.rc, done.err) == (0, ""), done
    found = done.json()["processes"]
    assert all(set(one) == KEYS for one in found), found
    stalled = [one["stalled"] for one in found]
    assert stalled == sorted(stalled, reverse=True), "stalled first"
    assert all(one["hung"] == (one["state"] == "stuck") for one in found), found
    return {one["pid"]: one for one in found}


def seen(pid, run=hangdbg):
    return listed(pid, run=run)[pid]


def seen_when(what, pid, condition):
    """What ps says of it once the condition is met."""
    def met():
        one = seen(pid)
        return one if condition(one) else None
    return until("%d %s" % (pid, what), met)


def seen_hung(pid):
    return seen_when("hangs", pid, lambda one: one["stalled"])


def seen_asleep(pid):
    """For longer than what counts as hung."""
    return seen_when("sleeps", pid, lambda one: (one["waiting_s"] or 0) > 1)


def test_asleep(readable_edge_python):
    target = start("lock_main", readable_edge_python)
    one = seen_asleep(target.pid)
    assert one["stalled"], one
    assert one["python"].startswith("3.") and one["state"] == "stuck", one
    assert 1 <= one["waiting_s"] < 60, one
    assert one["ppid"] == os.getpid() and one["uid"] == os.getuid(), one
    assert one["cmdline"] == [readable_edge_python, str(in_targets("lock_main.py"))], one
    assert (one["rank"], one["job"], one["error"]) == (None, None, None), one
    target.finish()


def test_hung_after(newest_python, tmp_path):
    """Who waits for one that may let go of it: after a time."""
    code = ("import fcntl, sys, time\n"
            "file = open(%r, 'w')\n"
            "fcntl.flock(file, fcntl.LOCK_EX)\n"
            "print('has it', flush=True)\n"
            "time.sleep(1000)\n" % str(tmp_path / "lock"))
    holder = raw(newest_python, "-c", code)
    assert holder.stdout.readline() == b"has it\n"
    waiter = raw(newest_python, "-c", code).pid
    one = seen_hung(waiter)
    assert one["cause"] == "file-lock" and one["waits"].startswith("flock of "), one
    (later,) = [one for one in hangdbg("ps", "--json", "--hung-after=3600").json()["processes"]
                if one["pid"] == waiter]
    assert not later["stalled"] and later["waits"] == one["waits"], later
    assert later["cause"] == one["cause"], later
    assert (one["state"], one["hung"]) == ("blocked", False), "the holder may let go of it"
    assert not seen(holder.pid)["stalled"]


def test_stuck_at_once(readable_edge_python):
    """Nothing can end it: no time has to pass."""
    target = start("lock_main", readable_edge_python)
    (one,) = [one for one in hangdbg("ps", "--json", "--hung-after=3600").json()["processes"]
              if one["pid"] == target.pid]
    assert one["stalled"], one
    assert one["cause"] == hangdbg("diagnose", target.pid, "--json").json()["cause"], one
    target.finish()


@pytest.mark.parametrize("name, call", [
    ("lock_worker", "futex"), ("join", "futex"), ("recv", "recvfrom of socket:["),
    ("os_read", "read of pipe:[")])
def test_says_where(newest_python, name, call):
    target = start(name, newest_python)
    one = seen_hung(target.pid)
    assert one["state"] in ("stuck", "blocked") and one["waits"].startswith(call), one
    assert "%s.py:" % name in one["waits"], one
    assert " in %s" % target.function in one["waits"], one
    target.finish()


def test_loop(readable_edge_python):
    target = start("file_baton", readable_edge_python)
    one = seen_hung(target.pid)
    assert one["state"] == "stuck" and one["cause"] == "stale-lock-file", one
    one = seen_when("is never seen to ask for the file", target.pid,
                    lambda one: "5 of 5 looks" in one["waits"])
    assert "file_baton.py:" in one["waits"], one
    target.finish()


@pytest.mark.parametrize("name", ["sleep", "asyncio_idle"])
def test_idle(edge_python, name):
    target = start(name, edge_python)
    one = seen_asleep(target.pid)
    assert not one["stalled"] and one["state"] == "idle", one
    target.finish()


def test_event_loop_with_a_timer(newest_python):
    code = ("import asyncio\n"
            "async def beat():\n"
            "    while True: await asyncio.sleep(0.02)\n"
            "asyncio.run(beat())\n")
    process = raw(newest_python, "-c", code)
    one = seen_when("waits", process.pid, lambda one: one["waits"].startswith("epoll_"))
    assert not one["stalled"] and "selectors.py" in one["waits"], one


def test_busy(readable_edge_python):
    target = start("busy", readable_edge_python)
    one = seen(target.pid)
    assert not one["stalled"] and one["state"] == "running", one
    assert "5 looks" in one["waits"], one
    target.finish()


def test_changes_nothing(edge_python):
    """Nobody is stopped, woken or run."""
    target = start("lock_main", edge_python)
    before = target.snapshot(), processes.thread_activity(target.pid, target.tid)
    for _ in range(3):
        assert seen(target.pid)
    assert processes.thread_activity(target.pid, target.tid) == before[1]
    target.assert_as_before(before[0])
    target.finish()


@pytest.mark.parametrize("name", ["busy", "spin", "lock_main"])
def test_traces_nobody(newest_python, name):
    """A PTRACE_DETACH (17) of ours would be our end here."""
    filtered = behind(sys.executable, in_targets("seccomp_filter.py"), json.dumps(
        {"default": ALLOW, "rules": {"101": [6, KILL]}}), PROGRAM)
    target = start(name, newest_python)
    for words in (["ps", target.pid], ["tree", target.pid]):
        done = filtered(*words)
        assert done.rc == 0 and str(target.pid) in done.out, done
    assert filtered("dump", target.pid).rc != 0 or name == "lock_main", "it is seen"
    target.finish()


def test_for_people(newest_python):
    target = start("lock_main", newest_python)
    for words in (["ps", "--hung-after=1"], ["ps", "--tree", "--hung-after=1"]):
        def table():
            """Once it hangs: the dump of another test may have woken it."""
            done = hangdbg(*words)
            assert done.rc == 0, done
            (row,) = [line for line in done.out.splitlines()
                      if line.split()[0] == str(target.pid)]
            return (done, row) if row.split()[2] == "stuck" else None

        done, row = until("hung", table)
        assert "lock_main.py" in row, row
        lines = done.out.splitlines()
        # Ranks of another test's job have two columns more.
        head = [word for word in lines[0].split() if word not in ("RANK", "JOB")]
        assert head == ["PID", "PYTHON", "STATE", "SINCE", "WAITS", "FOR", "COMMAND"]
        hung = [line.split()[0] for line in lines[1:]
                if {"stuck", "blocked"} & set(line.split()[2:5])]
        named = re.findall(r"hangdbg (diagnose|attach) (\d+)", done.err)
        assert [command for command, _ in named] == ["diagnose", "attach"], done
        assert {pid for _, pid in named} <= set(hung), done
        if "--tree" not in words:
            assert {"stuck", "blocked"} & set(lines[1].split()[2:5]), lines
    alone = hangdbg()
    assert alone.rc == 0 and "STATE" in alone.out.splitlines()[0].split(), alone
    target.finish()


def test_tree(newest_python):
    """A launcher that polls its worker is not the one that hangs; the worker is."""
    hang = "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()"
    code = ("import subprocess, sys, time\n"
            "child = subprocess.Popen([sys.executable, '-c', %r])\n"
            "while child.poll() is None: time.sleep(0.02)\n" % hang)
    parent = raw(newest_python, "-c", code).pid
    child = until("the worker", lambda: processes.children(parent))[0]
    worker = seen_when("hangs", child, lambda one: one["stalled"])
    assert worker["ppid"] == parent, worker
    launcher = seen_when("polls", parent, lambda one: one["state"] == "polling")
    assert not launcher["stalled"], launcher
    assert worker["cause"] != launcher["cause"], (worker, launcher)
    head, *rows = hangdbg("ps", "--tree").out.splitlines()
    at = [i for i, row in enumerate(rows) if row.split()[0] == str(parent)][0]
    assert rows[at + 1].split()[0] == str(child), rows
    above, below = (row[head.index("COMMAND"):] for row in rows[at:at + 2])
    assert below.index("/") == above.index("/") + 2, (above, below)


@root_only
def test_another_users(newest_python, public):
    """What /proc tells everybody, and why not more."""
    target = start("lock_main", newest_python)
    seen_asleep(target.pid)
    nobody = behind(*as_nobody(public + "/hangdbg"))
    one = until("asleep for a second", lambda: [
        one for one in [seen(target.pid, run=nobody)] if (one["waiting_s"] or 0) > 1])[0]
    assert "another user" in one["error"], one
    assert (one["python"], one["stalled"], one["waits"]) == (None, False, ""), one
    assert one["state"] == "unknown", one
    assert one["cmdline"][-1].endswith("lock_main.py"), one
    table = nobody("ps")
    assert "(not permitted)" in table.out, table
    assert "another user" in table.err and "sudo hangdbg ps" in table.err, table
    target.finish()


def test_stopped_and_ended(newest_python):
    stopped = start("lock_main", newest_python)
    os.kill(stopped.pid, signal.SIGSTOP)
    until("stopped", lambda: processes.state(stopped.pid) == "T")
    ended = raw(newest_python, "-c", "")
    until("ended", lambda: processes.state(ended.pid) == "Z")
    found = listed()
    assert found[stopped.pid]["state"] == "stuck", found[stopped.pid]
    assert found[ended.pid]["state"] == "ended", found[ended.pid]
    assert found[stopped.pid]["stalled"] and found[stopped.pid]["cause"] == "stopped"
    assert (found[ended.pid]["stalled"], found[ended.pid]["cause"]) == (False, None)
    os.kill(stopped.pid, signal.SIGCONT)
    stopped.finish()


def test_state_d(newest_python, hung_mount):  # noqa: F811
    """Nobody waits for it."""
    process = raw(newest_python, "-c", "import os; os.stat(%r)" % str(hung_mount / "x"))
    until("state D", lambda: processes.waits_for_fuse(process.pid))
    before = time.monotonic()
    one = seen_hung(process.pid)
    assert one["state"] == "blocked" and one["cause"] == "mount", one
    assert time.monotonic() - before < 10


def test_by_another_name(tmp_path):
    """Found by what it exports; what is no Python is not there."""
    job = shutil.copy("/usr/bin/python3", tmp_path / "job")
    target = Target([job, in_targets("lock_main.py")])
    target.wait_hung()
    plain = harness.track(subprocess.Popen(["sleep", "100"], start_new_session=True))
    found = listed()
    assert found[target.pid]["python"].startswith("3."), found[target.pid]
    assert plain.pid not in found
    target.finish()


@root_only
def test_without_a_pid(newest_python, tmp_path):
    """The only one that hangs is meant; each is alone in a PID namespace."""
    alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    run = behind(*alone, harness.PROGRAM)
    for words in (["attach"], ["dump"], ["dump", "--children"]):
        run(*words).assert_refused(2, "no PID", "no Python process here hangs", "hangdbg ps")

    def loop(name):
        return [newest_python, in_targets("file_baton.py"), tmp_path / name]

    target = Target([*alone, *loop("one")])
    there = ["nsenter", "--target", processes.children(target.process.pid)[0],
             "--pid", "--mount"]
    run = behind(*there, harness.PROGRAM)
    def seen_to_hang(rc, *words):
        """A loop that naps for 0.1 s is awake in some looks."""
        return until("told from one that runs", lambda: [
            done for done in [run(*words)] if done.rc == rc])[0]

    attached = seen_to_hang(0, "attach", "-c", "p self.wait_seconds")
    assert attached.out.splitlines()[-1] == "0.1", attached
    assert "using process 1, the only one" in attached.err, attached
    dumped = seen_to_hang(0, "dump", "--json")
    assert [one["pid"] for one in dumped.json()["processes"]] == [1], dumped

    second = Target([*there, *loop("two")])
    for words in (["attach"], ["dump"]):
        until("both told from those that run", lambda: "2 Python processes" in run(*words).err)
        seen_to_hang(2, *words).assert_refused(2, "no PID", "hangdbg ps")
    second.go_on()
    target.go_on()


def test_by_pid(newest_python):
    targets = [start("lock_main", newest_python), start("sleep", newest_python)]
    found = listed(targets[0].pid, "-p", targets[1].pid)
    assert set(found) == {one.pid for one in targets}, found
    assert [found[one.pid]["stalled"] for one in targets] == [True, False], found
    hangdbg("ps", 999999999).assert_refused(2, "no process 999999999")
    shell = harness.track(subprocess.Popen(["sleep", "100"], start_new_session=True))
    hangdbg("ps", shell.pid).assert_refused(2, "process %d (sleep) is not a Python process" % shell.pid)
    for target in targets:
        target.finish()


@root_only
def test_of_two_that_wait_for_each_other_one_is_meant(newest_python):
    """In a PID namespace of their own, where nobody else hangs."""
    code = ("import os, socket\n"
            "one, other = socket.socketpair()\n"
            "mine, its = (one, other) if os.fork() else (other, one)\n"
            "its.close()\n"
            "mine.recv(1)\n")
    alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    process = raw(*alone, newest_python, "-c", code)
    first = until("the first", lambda: processes.children(process.pid))[0]
    until("the second", lambda: processes.children(first))
    run = behind("nsenter", "--target", first, "--pid", "--mount", harness.PROGRAM)
    dumped = until("one is meant", lambda: [
        done for done in [run("dump", "--json")] if done.rc == 0])[0]
    assert [one["pid"] for one in dumped.json()["processes"]] == [1], dumped
    assert "the only one that is hung" in dumped.err, dumped
    (line,) = [line for line in run().err.splitlines() if "wait for each other" in line]
    assert line.startswith("process 1 probably hangs: 2 processes wait for each other"), line


@pytest.mark.parametrize("words, next_step", [
    (["--hung-after=0"], "hangdbg ps --help"), (["--forest"], "hangdbg ps --help"),
    (["1", "--job=auto"], "hangdbg ps --job auto")])
def test_bad_input(words, next_step):
    hangdbg("ps", *words).assert_refused(2, next_step)
    hangdbg("ps", "x").assert_refused(2, "is not a PID", "hangdbg ps")


HUNG = ["locks", "flock", "event_alone", "unset_future", "stopped", "dead_writer"]
WELL = ["idle_server", "asyncio_server", "sleeps", "pool", "computes"]


@pytest.mark.parametrize("case", HUNG + WELL)
def test_one_verdict(case, newest_python, tmp_path):
    """Whoever is asked, at the same moment. (test_diagnose*.py compare `ps` with
    `diagnose` for each of their targets.)"""
    pid = Target([newest_python, in_targets("causes.py"), case, tmp_path]).pid
    hung = case in HUNG

    def told():
        one = seen(pid)
        return one if one["stalled"] == hung and (one["waiting_s"] or 10) > 1 else None
    one = until("told to hang" if hung else "asleep for a second", told)
    said = hangdbg("diagnose", pid, "--json", "--hung-after=1").json()
    assert said["stalled"] == hung and (not hung or said["cause"] == one["cause"]), (one, said)
    assert listed()[pid]["stalled"] == hung
    (tree,) = hangdbg("tree", pid, "--json").json()["processes"]
    (there,) = [each for each in tree["processes"] if each["pid"] == pid]
    if case != "flock":  # it hangs after ten seconds
        assert there["stalled"] == hung, there
        (row,) = [line for line in hangdbg().out.splitlines()
                  if line.split()[0] == str(pid)]
        assert ({"stuck", "blocked"} & set(row.split()[:5]) != set()) == hung, row
        (help,) = [line for line in hangdbg("__complete", "dump", "").out.splitlines()
                   if line.split()[0] == str(pid)]
        assert (re.search(r"\b(stuck|blocked), ", help) is not None) == hung, help
