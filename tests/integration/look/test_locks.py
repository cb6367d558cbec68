"""hangdbg locks: who has which lock and who waits for it, of each kind, and circles."""

import os
import re
import signal
import subprocess
import sys

import processes
from harness import Target, as_nobody, behind, die_with_us, hangdbg, in_targets, start, track, until
from test_diagnose_locks import mutexes  # noqa: F401 (a fixture)
from test_namespaces import needs_root


def begin(case, python, folder, library="", source="causes_locks"):
    return Target([python, in_targets(source + ".py"), case, folder],
                  env={"HANGDBG_TEST_LIBRARY": str(library), "PYTHONWARNINGS": "ignore"})


def seen(pid, *args):
    done = hangdbg("locks", pid, "--json", *args)
    assert done.rc == 0 and done.err == "", done
    (process,) = done.json()["processes"]
    assert process["pid"] == pid
    return process


def awaited(pid, kind, count=1):
    """Once `count` locks of that kind are waited for: those, and all that was seen."""
    found = []

    def there():
        process = seen(pid)
        found[:] = [[one for one in process["locks"]
                     if one["kind"] == kind and one["waiters"]], process]
        return len(found[0]) == count
    until("%d %s are waited for" % (count, kind), there)
    return found


def test_a_circle_of_locks(edge_python, tmp_path):
    target = begin("locks", edge_python, tmp_path, source="causes")
    of_two, process = {}, {}

    def both():
        process.update(seen(target.pid))
        of_two.update({one["name"]: one for one in process["locks"]
                       if one["name"] in ("self.a", "self.b") and one["waiters"]})
        return set(of_two) == {"self.a", "self.b"}
    until("both are waited for", both)
    for name, owner, waiter in (("self.a", "forth", "back"), ("self.b", "back", "forth")):
        assert ['"%s"' % owner in one["who"] for one in of_two[name]["owners"]] == [True], process
        assert ['"%s"' % waiter in one["who"] for one in of_two[name]["waiters"]] == [True]
        assert of_two[name]["owners"][0]["place"].endswith("in " + owner), process
    (circle,) = process["circles"]
    assert {one["tid"] for one in circle} == {
        of_two[name]["owners"][0]["tid"] for name in of_two}, process
    done = hangdbg("locks", target.pid)
    assert re.search(r'^circle: thread \d+ "(forth|back)" waits for the Lock `self\.[ab]`, held by '
                     r'thread \d+ "(forth|back)"; thread', done.out, re.M), done
    assert "\x1b" not in done.out and re.search(r"^Lock `self\.a` at 0x", done.out, re.M), done
    assert "\x1b[31mcircle" in hangdbg("locks", target.pid, "--color=always").out


def test_an_rlock(edge_python, tmp_path):
    target = begin("rlocks", edge_python, tmp_path, source="causes")
    locks, process = awaited(target.pid, "RLock", 2)
    assert all(one["count"] == 1 and len(one["owners"]) == 1 for one in locks), process
    assert len(process["circles"]) == 1, process


def test_a_lock_that_nobody_waits_for(edge_python):
    target = start("evidence_threads", edge_python)
    held = until("it is waited for", lambda: [
        one for one in seen(target.pid)["locks"] if one["name"] == "lock" and one["waiters"]])[0]
    assert held["owners"][0]["tid"] == target.ready["tids"]["holder"]
    assert held["waiters"][0]["tid"] == target.ready["tids"]["waiter"]
    before = target.snapshot()
    assert hangdbg("locks", target.pid).rc == 0
    target.assert_as_before(before, arenas=0)
    target.finish()


def test_mutexes(newest_python, tmp_path, mutexes):  # noqa: F811
    target = begin("mutexes_crosswise", newest_python, tmp_path, mutexes)
    locks, process = awaited(target.pid, "mutex", 2)
    assert {one["name"] for one in locks} == {"normal"}, process
    assert len(process["circles"]) == 1, process
    assert "normal mutex at 0x" in hangdbg("locks", target.pid).out


def test_a_mutex_across_fork(newest_python, tmp_path, mutexes):  # noqa: F811
    target = begin("mutex_across_fork", newest_python, tmp_path, mutexes)
    child = target.ready["child"]
    ((lock,), process) = awaited(child, "mutex")
    assert lock["owners"] == [], process
    assert lock["owner_in_parent"]["pid"] == target.pid, process
    assert lock["owner_in_parent"]["tid"] in map(int, os.listdir("/proc/%d/task" % target.pid))
    assert "had it at the fork" in lock["note"], process


def test_an_rlock_across_fork(newest_python, tmp_path):
    target = begin("rlock_across_fork", newest_python, tmp_path)
    ((lock,), process) = awaited(target.ready["child"], "RLock")
    assert lock["owner_in_parent"]["pid"] == target.pid, process
    assert lock["owner_in_parent"]["tid"] != target.pid, process


def test_the_gil(some_python, tmp_path, mutexes):  # noqa: F811
    """A mutex and the GIL, crosswise."""
    target = begin("mutex_and_gil", some_python, tmp_path, mutexes)
    ((gil,), process) = awaited(target.pid, "GIL")
    assert gil["owners"][0]["tid"] == target.pid, process
    assert '"holder"' in gil["waiters"][0]["who"], process
    until("a circle", lambda: len(seen(target.pid)["circles"]) == 1)


def test_a_lock_of_multiprocessing(newest_python, tmp_path):
    target = begin("shared", newest_python, tmp_path)
    ((lock,), process) = awaited(target.pid, "shared lock")
    assert [one["pid"] for one in lock["owners"]] == [target.ready["holder"]], process


LOCKS = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("has it", flush=True)
sys.stdin.read()
"""


def test_file_locks(newest_python, tmp_path):
    """Of who holds it, and of who waits for it."""
    path = tmp_path / "red \x1b[31m"

    def locks():
        return track(subprocess.Popen([newest_python, "-c", LOCKS, path], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, start_new_session=True,
                                      preexec_fn=die_with_us))
    holder = locks()
    assert holder.stdout.readline()
    waiter = locks()
    ((lock,), process) = awaited(waiter.pid, "file lock")
    assert lock["name"] == str(path), process
    assert [one["pid"] for one in lock["owners"]] == [holder.pid], process
    ((lock,), process) = awaited(holder.pid, "file lock")
    assert [one["pid"] for one in lock["owners"]] == [holder.pid], process
    assert [one["pid"] for one in lock["waiters"]] == [waiter.pid], process
    assert "POSIX write lock" in lock["note"], process
    done = hangdbg("locks", holder.pid)
    assert "file lock on %s/red \\x1b[31m\n" % tmp_path in done.out and "\x1b" not in done.out, done


def test_of_what_is_no_python():
    sleep = track(subprocess.Popen(["sleep", "600"], start_new_session=True,
                                   preexec_fn=die_with_us))
    assert seen(sleep.pid)["locks"] == []


def test_state_d(hung_mount):
    toucher = track(subprocess.Popen(
        [sys.executable, "-c", "import os; os.stat(%r)" % str(hung_mount)],
        start_new_session=True, preexec_fn=die_with_us))
    until("state D", lambda: processes.waits_for_fuse(toucher.pid))
    assert "uninterruptible sleep" in seen(toucher.pid)["skipped"][0]
    os.kill(toucher.pid, signal.SIGKILL)


@needs_root
def test_who_may_not_look(newest_python, public):
    target = start("evidence_threads", newest_python)
    done = behind(*as_nobody(public + "/hangdbg"))("locks", target.pid)
    done.assert_refused(3, "sudo hangdbg locks %d" % target.pid)
    target.finish()


def test_bad_input():
    hangdbg("locks", 2 ** 22 - 1).assert_refused(2, "no process", "hangdbg ps")
    hangdbg("locks", "one").assert_refused(2, "is not a PID", "hangdbg ps")
