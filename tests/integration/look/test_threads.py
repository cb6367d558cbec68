"""hangdbg threads: what each thread does, in which call, what the call's descriptors lead
to, the lock it waits for, its signals; nothing changes in the process."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import processes
from harness import Target, as_nobody, behind, die_with_us, hangdbg, in_targets, start, track, until
from test_namespaces import needs_root


@pytest.fixture
def target(some_python):
    return start("evidence_threads", some_python)


def seen(pid, *args):
    done = hangdbg("threads", pid, "--json", *args)
    assert done.rc == 0 and done.err == "", done
    (process,) = done.json()["processes"]
    assert process["pid"] == pid
    return process


def by_name(process):
    return {thread["name"]: thread for thread in process["threads"]}


def asleep(pid):
    """Once all threads sleep in a call."""
    found = []

    def all_asleep():
        found[:] = [seen(pid)]
        return all(one["syscall"] for one in found[0]["threads"])
    until("all threads sleep", all_asleep)
    return found[0]


def test_json(target):
    process = asleep(target.pid)
    threads = by_name(process)
    tids, fds = target.ready["tids"], target.ready["fds"]
    assert {name: threads[name]["tid"] for name in tids} == tids
    assert len(process["threads"]) == len(os.listdir("/proc/%d/task" % target.pid))
    assert process["python"] and process["skipped"] == []

    main = threads["MainThread"]
    assert (main["tid"], main["state"], main["syscall"]["name"]) == (target.pid, "S", "read")
    assert main["pending"] == main["blocked"] == ["SIGUSR2"]
    (stdin,) = main["files"]
    assert (stdin["fd"], stdin["kind"]) == (0, "pipe")
    assert os.getpid() in [end["pid"] for end in stdin["other_ends"]]
    assert main["place"]["function"] == "main"
    assert main["place"]["file"].endswith("evidence_threads.py")

    waits = threads["waiter"]["waits_for"]
    assert (waits["kind"], waits["name"]) == ("Lock", "lock")
    (owner,) = waits["owners"]
    assert (owner["pid"], owner["tid"]) == (target.pid, tids["holder"])
    assert owner["place"].startswith("evidence_threads.py:")
    assert threads["waiter"]["own"]["function"] == "wait_for_lock"
    assert threads["holder"]["waits_for"]["kind"] == "Condition"
    assert threads["polls"]["waits_for"] is None

    assert threads["polls"]["syscall"]["name"] in ("poll", "ppoll")
    assert [one["fd"] for one in threads["polls"]["files"]] == [fds["first"], fds["second"]]
    assert "for ever" in threads["polls"]["syscall"]["args"]
    epoll, watched = threads["epolls"]["files"]
    assert (epoll["fd"], epoll["watches"]) == (fds["epoll"], [fds["second"]])
    assert (watched["fd"], watched["kind"]) == (fds["second"], "pipe")

    pinned = threads["pinned"]
    assert pinned["cpus_allowed"] == str(min(os.sched_getaffinity(0)))
    if len(os.sched_getaffinity(0)) > 1:
        assert pinned["pinned"] and not threads["polls"]["pinned"]
    target.finish()


def test_text(target):
    asleep(target.pid)
    done = hangdbg("threads", target.pid)
    assert done.rc == 0 and "\x1b" not in done.out, done
    tids = target.ready["tids"]
    blocks = {}
    for line in done.out.splitlines()[1:]:
        if not line.startswith(" "):
            block = blocks.setdefault(int(line.split()[0]), [])
        block.append(line.strip())
    assert done.out.startswith("Process %d (" % target.pid), done
    assert "· %d threads · python 3." % len(blocks) in done.out.splitlines()[0], done
    main = "\n".join(blocks[target.pid])
    assert "call     read(0 = pipe:[" in main and "written by %d (" % os.getpid() in main, done
    assert "signals  pending SIGUSR2 · blocked SIGUSR2" in main, done
    waiter = "\n".join(blocks[tids["waiter"]])
    assert ('lock     waits for the Lock `lock`, held by thread %d "holder"' % tids["holder"]
            in waiter), done
    assert "in wait_for_lock" in waiter, done
    assert '"red \\x1b[31m\\n"' in done.out, done
    coloured = hangdbg("threads", target.pid, "--color=always")
    assert "\x1b[1m" in coloured.out and "red \\x1b[31m\\n" in coloured.out, coloured
    target.finish()


def test_nothing_changes_in_it(target):
    before = target.snapshot()
    assert hangdbg("threads", target.pid).rc == 0
    target.assert_as_before(before, arenas=0)
    target.finish()


def test_a_connection(some_python):
    target = Target([some_python, in_targets("causes_network.py"), "silent"])

    def receives():
        return by_name(seen(target.pid))["MainThread"]
    until("recvfrom", lambda: (receives()["syscall"] or {}).get("name") == "recvfrom")
    (file,) = receives()["files"]
    assert file["tcp"]["state"] == "ESTABLISHED" and file["tcp"]["unread"] == 0
    line = [line for line in hangdbg("threads", target.pid).out.splitlines() if "call" in line][0]
    assert "recvfrom(%d = TCP 127.0.0.1:" % file["fd"] in line and "ESTABLISHED" in line, line


def test_several_and_children(some_python, tmp_path):
    target = start("descriptors", some_python, tmp_path)
    child = target.ready["child"]
    done = hangdbg("threads", target.pid, "--children", "--json")
    ours, its = done.json()["processes"]
    assert (ours["pid"], its["pid"], its["python"]) == (target.pid, child, None)
    (sleep,) = its["threads"]
    assert (sleep["comm"], sleep["syscall"]["name"]) == ("sleep", "clock_nanosleep"), sleep
    done = hangdbg("threads", target.pid, 2 ** 22 - 1, "--json")
    assert done.rc == 1, done
    assert done.json()["processes"][1]["error"]["type"] == "no-such-process", done
    target.finish()


def test_one_that_is_stopped(some_python):
    target = start("evidence_threads", some_python)
    os.kill(target.pid, signal.SIGSTOP)
    until("all stand", lambda: {one["state"] for one in seen(target.pid)["threads"]} == {"T"})
    assert "stopped (SIGSTOP or Ctrl-Z)" in hangdbg("threads", target.pid).out
    os.kill(target.pid, signal.SIGCONT)
    target.finish()


def test_one_that_runs(some_python):
    target = start("busy", some_python)

    def has_the_gil():  # at the moment of a look it may be between two of its turns
        main = by_name(seen(target.pid))["MainThread"]
        assert (main["state"], main["doing"], main["syscall"]) == ("R", "running", None)
        return main["has_gil"] and main
    main = until("it has the GIL", has_the_gil)
    assert main["place"]["file"].endswith("busy.py")
    until("more CPU time", lambda: by_name(
        seen(target.pid))["MainThread"]["cpu_s"] > main["cpu_s"])
    until("a share of the CPU", lambda: by_name(
        seen(target.pid))["MainThread"]["cpu_percent"] > 0)
    out = hangdbg("threads", target.pid).out
    assert "R running" in out and "holds the GIL" in out, out


def test_a_debugger(some_python):
    target = Target([some_python, in_targets("causes_processes.py"), "traced", "-"])
    gdb = subprocess.Popen(["gdb", "-p", str(target.pid), "-batch", "-nx", "-ex", "shell cat"],
                           stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, preexec_fn=die_with_us)
    state = Path("/proc/%d/stat" % target.pid)
    try:
        until("gdb has it", lambda: ") t " in state.read_text() or gdb.poll() is not None)
        if gdb.poll() is not None:
            pytest.skip("gdb may not attach here")
        assert {one["tracer"] for one in seen(target.pid)["threads"]} == {gdb.pid}
        assert "tracer   process %d (gdb)" % gdb.pid in hangdbg("threads", target.pid).out
    finally:
        gdb.stdin.close()  # it lets go of it, and ends
        gdb.wait(20)


def test_state_d(hung_mount, some_python):
    """Its memory is not read; the kernel's part is told, and what is missing."""
    toucher = track(subprocess.Popen(
        [some_python, "-c", "import os; os.stat(%r)" % str(hung_mount)],
        start_new_session=True, preexec_fn=die_with_us))
    until("state D", lambda: processes.waits_for_fuse(toucher.pid))
    before = time.monotonic()
    process = seen(toucher.pid)
    assert time.monotonic() - before < 5
    (thread,) = process["threads"]
    assert thread["state"] == "D" and thread["place"] is None, process
    assert "uninterruptible sleep" in process["skipped"][0], process
    assert "not seen: its memory" in hangdbg("threads", toucher.pid).out


def test_ten_hundred_threads(some_python):
    program = ("import threading, sys\n"
               "gate = threading.Lock()\n"
               "gate.acquire()\n"
               "threading.stack_size(65536)\n"
               "for _ in range(1000): threading.Thread(target=gate.acquire, daemon=True).start()\n"
               "print(1, flush=True)\n"
               "sys.stdin.read(1)\n")
    crowd = track(subprocess.Popen([some_python, "-c", program], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, start_new_session=True,
                                   preexec_fn=die_with_us))
    assert crowd.stdout.readline()
    done = hangdbg("threads", crowd.pid, "--json")
    assert len(done.json()["processes"][0]["threads"]) == 1001, done.err
    assert done.seconds < 9, done.seconds  # it gives up after 10


@needs_root
def test_who_may_not_look(target, public):
    done = behind(*as_nobody(public + "/hangdbg"))("threads", target.pid)
    done.assert_refused(3, "sudo hangdbg threads %d" % target.pid)
    target.finish()


def test_of_what_is_no_process():
    hangdbg("threads", 2 ** 22 - 1).assert_refused(2, "no process", "hangdbg ps")
    hangdbg("threads", "one").assert_refused(2, "is not a PID", "hangdbg ps")
    hangdbg("threads", 2 ** 22 - 1, "--json").assert_refused_as_json(2, "no process")
    hangdbg("threads", "--nothing").assert_refused(2, "hangdbg threads --help")
