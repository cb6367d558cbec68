"""hangdbg diagnose: FIFOs, ends of pipes that were inherited, locks for which a program
tries again and again, and managers, each made for real and named first."""

import re
import subprocess

import pytest

import torches
from diagnosed import named_first, not_hung
from hangs import folder_with
from harness import Target, hangdbg, in_targets, until
from test_diagnose_well import debians
from versions import by_case


def begin(case, python, folder):
    return Target([python, in_targets("causes_pipes.py"), case, folder])


# case: its cause, how sure, and what is in the sentence; "CHILD" is its child's PID
HANGS = {
    "opens_fifo": ("fifo-open", "certain",
                   "opens the FIFO .*/fifo to read it, and nobody has it open to write"),
    "opens_fifo_in_thread": ("fifo-open", "certain", "to write to it, and nobody has it open"),
    "full_fifo": ("pipe-full", "certain",
                  r"the FIFO .*/fifo that is full: process CHILD \(sleep\) does not read it"),
    "idle_sibling": ("pipe-read", "likely",
                     r"open only in itself and in process CHILD \(.*\), which inherited it"),
    "all_read": ("writer-gone", "certain", "all who have its write end open read from it"),
    "grandchild": ("pipe-read", "certain", r"which has ended: process \d+ \(sleep\) still has"),
    "grandchild_of_one_pipe": ("pipe-read", "certain",
                               r"which has ended: process \d+ \(sleep\) still has"),
    "tries_flock": ("file-lock", "likely", r"the lock on .*/lock, held by process CHILD \("),
    "tries_in_fork": ("deadlock", "likely", r"the lock on .*/lock, held by process PARENT \("),
    "tries_seldom": ("file-lock", "likely", r"the lock on .*/lock, held by process CHILD \("),
    "sqlite_exclusive": ("file-lock", "certain", r"SQLite's lock on .*/app.db, held by process CHILD"),
    "sqlite_reserved": ("file-lock", "certain", r"SQLite's lock on .*/app.db, held by process CHILD"),
    "sqlite_log": ("file-lock", "certain", r"SQLite's lock on .*/app.db, held by process CHILD"),
    "manager_queue": ("manager-call", "likely",
                      r"waits for Queue.get\(\) in its manager, process \d+"),
}


@by_case(sorted(HANGS), on_edges={"idle_sibling", "grandchild", "tries_seldom", "manager_queue"})
def test_what_hangs(case, python, tmp_path):
    if case.startswith("sqlite") and subprocess.run(
            [python, "-c", "import sqlite3"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this Python has no sqlite3")
    cause, sure, sentence = HANGS[case]
    target = begin(case, python, tmp_path)
    sentence = sentence.replace("CHILD", str(target.ready.get("child")))
    asked = target.ready.get("asked", target.pid)
    sentence = sentence.replace("PARENT", str(target.pid))
    said = named_first(case, asked, cause, sure, sentence)
    if "child" in target.ready:
        assert said["chain"][-1]["pid"] == target.ready["child"], said


@by_case(["commands_by_fifo", "slow_sender", "slow_child", "has_its_own_lock", "standby",
          "worker_of_one_with_lock"],
         on_edges={"slow_sender"})
def test_who_is_well(case, python, tmp_path):
    target = begin(case, python, tmp_path)
    said = not_hung(case, target.ready.get("asked", target.pid))
    assert case != "worker_of_one_with_lock" or said["cause"] == "sleeps", said


def test_a_manager_whose_lock_another_client_has(newest_python, tmp_path):
    target = begin("manager_lock", newest_python, tmp_path)

    def told():
        done = hangdbg("diagnose", target.pid, "--json")
        return [link["cause"] for link in done.json()["chain"]][:2] == [
            "manager-call", "python-lock"]
    until("the lock of the manager's thread", told)


def test_fds_shows_fifos(newest_python, tmp_path):
    target = begin("full_fifo", newest_python, tmp_path)
    done = hangdbg("fds", target.pid, "--json")
    fifo, = [one for one in done.json()["descriptors"] if one["kind"] == "fifo"]
    assert fifo["name"] == str(tmp_path / "fifo") and fifo["mode"] == "w", fifo
    assert fifo["other_ends"] == [{"pid": target.ready["child"], "fd": 0}], fifo
    assert "FIFO %s, read by %d (sleep) fd 0" % (tmp_path / "fifo", target.ready["child"]) in (
        hangdbg("fds", target.pid).out)


# ---- libraries, where they are in .cache (scripts/test)

LIBRARIES = {"portalocker": "Lock(path, timeout=100000)", "fasteners": "InterProcessLock(path)"}
TRIES = """
import json, os, subprocess, sys, time
import %s as library
path = sys.argv[1]
holds = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.%s(f, fcntl.LOCK_EX); "\\
        "print(1, flush=True); time.sleep(10000)"
child = subprocess.Popen([sys.executable, "-c", holds, path], stdout=subprocess.PIPE)
child.stdout.readline()
print(json.dumps({"pid": os.getpid(), "tid": os.getpid(), "function": "<module>",
                  "syscalls": [], "child": child.pid}), flush=True)
library.%s.acquire()
"""


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_a_library_tries(library, tmp_path):
    path = {"PYTHONPATH": folder_with(library, debians(), library)}
    how = "lockf" if library == "fasteners" else "flock"
    target = Target([debians(), "-c", TRIES % (library, how, LIBRARIES[library]),
                     tmp_path / "lock"], env=path)
    said = named_first(library, target.pid, "file-lock", "certain",
                       r"the lock on .*/lock, held by process %d \(" % target.ready["child"])
    assert "tries again and again" in said["evidence"][0], said


@pytest.mark.skipif(not torches.found(), reason="no torch, and so no filelock")
def test_a_soft_lock_that_nobody_has(tmp_path):
    lock = tmp_path / "soft.lock"
    lock.write_text("")
    code = """if True:
        import json, os, sys
        from filelock import SoftFileLock
        print(json.dumps({"pid": os.getpid(), "tid": os.getpid(), "function": "<module>",
                          "syscalls": []}), flush=True)
        SoftFileLock(sys.argv[1]).acquire()"""
    target = Target([torches.found()[-1][1], "-c", code, lock])
    named_first("filelock.SoftFileLock", target.pid, "stale-lock-file", None,
                "waits until the lock file %s is gone: it is .* old" % re.escape(str(lock)))
