"""hangdbg dump where there is much, where it changes under our eyes, and where the
kernel has the last word."""

import os
import random
import re
import signal
import subprocess
import time
import zipfile

import pytest

import processes
from harness import as_nobody, behind, die_with_us, hangdbg, start, track, until


def run_python(python, code, *args):
    """It has said "ready"; killed with the test."""
    child = track(subprocess.Popen(
        [python, "-c", code, *map(str, args)], stdout=subprocess.PIPE, start_new_session=True,
        preexec_fn=die_with_us))
    assert child.stdout.readline() == b"ready\n"
    return child


def dump(*words):
    done = hangdbg("dump", *words, "--json")
    assert done.rc == 0, done
    (process,) = done.json()["processes"]
    return process


def functions(thread):
    return [frame["function"] for frame in thread["frames"]]


def test_a_thousand_threads(newest_python):
    child = run_python(newest_python, (
        "import os, threading\n"
        "gate = threading.Lock(); gate.acquire()\n"
        "def deep(n):\n"
        "    if n: return deep(n - 1)\n"
        "    gate.acquire()\n"
        "threading.stack_size(1 << 18)\n"
        "for i in range(999): threading.Thread(target=deep, args=(36,), daemon=True).start()\n"
        "os.write(1, b'ready\\n')\n"
        "deep(39)\n"))
    until("all of them sleep", lambda: all(
        thread["exact"] and functions(thread)[:1] == ["deep"]
        for thread in dump(child.pid)["threads"]))
    process = dump(child.pid)
    assert len(process["threads"]) == 1000
    for thread in process["threads"]:
        assert functions(thread).count("deep") == (
            40 if thread["tid"] == child.pid else 37), thread


def test_a_hundred_thousand_frames(newest_python):
    child = run_python(newest_python, (
        "import os, sys, time\n"
        "sys.setrecursionlimit(10**6)\n"
        "def deep(n):\n"
        "    if n: return deep(n - 1)\n"
        "    os.write(1, b'ready\\n'); time.sleep(100)\n"
        "deep(99_990)\n"))
    until("it sleeps", lambda: processes.state(child.pid) == "S")
    (thread,) = dump(child.pid)["threads"]
    assert functions(thread) == ["deep"] * 99_991 + ["<module>"] and thread["complete"]
    done = hangdbg("dump", child.pid)
    assert "(repeated 99987 more times)" in done.out and done.seconds < 20


def test_threads_that_come_and_go(edge_python):
    """Each dump is whole; a thread that cannot be read costs the others nothing."""
    child = run_python(edge_python, (
        "import os, threading, time\n"
        "def short(): time.sleep(0.001)\n"
        "def start():\n"
        "    while True:\n"
        "        thread = threading.Thread(target=short); thread.start(); thread.join()\n"
        "for i in range(4): threading.Thread(target=start, daemon=True).start()\n"
        "os.write(1, b'ready\\n'); time.sleep(100)\n"))
    until("it sleeps", lambda: processes.state(child.pid) == "S")
    exact = 0
    for _ in range(30):
        threads = dump(child.pid)["threads"]
        (main,) = [thread for thread in threads if thread["tid"] == child.pid]
        assert functions(main) == ["<module>"], main
        for thread in threads:
            assert thread["error"] is None or thread["frames"] == []
            if thread["exact"] and "start" in functions(thread):
                exact += 1
    assert exact > 30


def test_a_process_that_ends(newest_python):
    """At a random moment of a dump: an answer, or one line."""
    chance = random.Random(5)
    for _ in range(30):
        child = run_python(newest_python, (
            "import os, threading, time\n"
            "for i in range(20): threading.Thread(target=time.sleep, args=(9,)).start()\n"
            "os.write(1, b'ready\\n'); time.sleep(100)\n"))
        timer = subprocess.Popen(
            ["sh", "-c", "sleep %.4f; kill -9 %d" % (chance.uniform(0, 0.02), child.pid)])
        done = hangdbg("dump", child.pid, "--locals", "--native")
        timer.wait()
        child.wait()
        assert done.rc in (0, 2, 4) and done.seconds < 10, done
        assert done.rc == 0 or len(done.err.splitlines()) <= 2, done


def test_source_that_is_gone(newest_python, tmp_path):
    """Deleted, in a zip file, of no file at all: names and lines are there."""
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("packed.py", "\n\ndef from_zip(f):\n    f()\n")
    (tmp_path / "deleted.py").write_text("\ndef deleted(f, g):\n    f(g)\n")
    child = run_python(newest_python, (
        "import os, sys, time\n"
        "folder = sys.argv[1]\n"
        "sys.path[:0] = [folder, folder + '/packed.zip']\n"
        "import deleted, packed\n"
        "os.unlink(folder + '/deleted.py')\n"
        "scope = {}\n"
        "exec(compile('\\n\\n\\ndef executed():\\n    wait()', '<made up>', 'exec'), scope)\n"
        "def wait(): os.write(1, b'ready\\n'); time.sleep(100)\n"
        "scope['wait'] = wait\n"
        "deleted.deleted(packed.from_zip, scope['executed'])\n"), tmp_path)
    until("it sleeps", lambda: processes.state(child.pid) == "S")
    (thread,) = dump(child.pid)["threads"]
    places = [(f["function"], f["file"].rsplit("/", 1)[-1], f["line"]) for f in thread["frames"]]
    assert places == [
        ("wait", "<string>", 8), ("executed", "<made up>", 5), ("from_zip", "packed.py", 4),
        ("deleted", "deleted.py", 3), ("<module>", "<string>", 10)]
    done = hangdbg("dump", child.pid, "--source")
    assert done.rc == 0 and "from_zip (" in done.out, done


# ---- what the kernel says


def test_state_d(edge_python, hung_mount):
    """A file system that does not answer: the rest of the process is there."""
    child = run_python(edge_python, (
        "import os, sys\n"
        "def look(path): os.stat(path)\n"
        "os.write(1, b'ready\\n')\n"
        "look(sys.argv[1])\n"), hung_mount / "x")
    until("it hangs", lambda: functions(dump(child.pid)["threads"][0]) == ["look", "<module>"])
    until("state D", lambda: processes.waits_for_fuse(child.pid))
    (thread,) = dump(child.pid)["threads"]
    assert functions(thread) == ["look", "<module>"] and thread["exact"]
    assert thread["state"].startswith("in uninterruptible sleep in "), thread


def test_in_vfork(newest_python, hung_mount):
    child = run_python(newest_python, (
        "import os, sys\n"
        "def spawn(path): os.posix_spawn(path, ['x'], {})\n"
        "os.write(1, b'ready\\n')\n"
        "spawn(sys.argv[1])\n"), hung_mount / "x")
    until("the vfork", lambda: processes.children(child.pid))
    process = dump(child.pid)
    assert functions(process["threads"][0]) == ["spawn", "<module>"]


def test_kernel_thread():
    if not os.path.exists("/proc/2/comm") or open("/proc/2/comm").read() != "kthreadd\n":
        pytest.skip("no kernel threads are visible in this PID namespace")
    done = hangdbg("dump", 2)
    assert done.rc == 4 and "kernel thread" in done.err, done


def test_other_users(public):
    """Nobody may not read root's; root may read nobody's."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    target = start("lock_main", "/usr/bin/python3")
    nobody = behind(*as_nobody(public + "/hangdbg"))
    done = nobody("dump", target.pid)
    assert done.rc == 3 and re.search("user|root|permit", done.err), done
    assert str(target.pid) not in nobody("dump", "--all").out
    target.finish()
    # Another user forgets whom to die with (prctl(2)).
    theirs = track(subprocess.Popen(
        as_nobody("--", "/usr/bin/python3", "-c", "import time; time.sleep(100)"),
        start_new_session=True))
    until("Python", lambda: hangdbg("dump", theirs.pid).rc == 0)
    assert hangdbg("dump", theirs.pid).out.startswith("Process %d" % theirs.pid)
    theirs.send_signal(signal.SIGKILL)
    theirs.wait()


def test_no_thread_can_be_had(public):
    """As in a container that the hung program has filled with its threads."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    # Another user forgets whom to die with (prctl(2)).
    theirs = track(subprocess.Popen(
        as_nobody("--", "/usr/bin/python3", "-c", "while True: pass"),
        start_new_session=True))
    until("Python", lambda: hangdbg("dump", theirs.pid).rc == 0)
    nobody = behind(*as_nobody("--", "prlimit", "--nproc=1", public + "/hangdbg"))
    for command in (["dump", theirs.pid], ["dump", "--all"], ["ps"], ["peek", theirs.pid, "__name__"]):
        done = nobody(*command)
        assert done.rc == 0 and "terminate" not in done.err, done
    theirs.send_signal(signal.SIGKILL)
    theirs.wait()


def test_time_is_bounded(newest_python):
    """--timeout is kept, also where there is too much to read."""
    child = run_python(newest_python, (
        "import os, time\n"
        "def f():\n"
        "    values = [list(range(1000)) for i in range(1000)]\n"
        "    os.write(1, b'ready\\n'); time.sleep(100)\n"
        "f()\n"))
    began = time.monotonic()
    done = hangdbg("dump", child.pid, "--locals=50", "--timeout", "5")
    assert done.rc in (0, 1, 4) and time.monotonic() - began < 8, done
