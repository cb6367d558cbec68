"""hangdbg tree: the processes around one, real ones in each state, and who waits for whom."""

import os
import re
import subprocess
import sys
from pathlib import Path

import processes
from harness import Target, die_with_us, hangdbg, in_targets, start, track, until
from test_diagnose_files import OWN_MOUNTS
from test_jobs import _ports
from test_namespaces import needs_root


def seen(pid, *args):
    done = hangdbg("tree", pid, "--json", *args)
    assert done.rc == 0 and done.err == "", done
    (tree,) = done.json()["processes"]
    assert tree["pid"] == pid
    return tree, {one["pid"]: one for one in tree["processes"]}


def test_json(some_python):
    target = start("evidence_tree", some_python)
    told = target.ready
    tree, by_pid = seen(target.pid)
    names = {name: by_pid[told[name]] for name in
             ("pid", "shell", "grandchild", "ended", "killed", "hostile")}
    assert set(by_pid) == {one["pid"] for one in names.values()}
    assert tree["processes"][0]["pid"] == target.pid
    assert [one["pid"] for one in tree["ancestors"]][-1] == os.getpid()
    assert {name: one["depth"] for name, one in names.items()} == {
        "pid": 0, "shell": 1, "grandchild": 2, "ended": 1, "killed": 1, "hostile": 1}
    # It comes right after who has started it.
    order = [one["pid"] for one in tree["processes"]]
    assert order.index(told["grandchild"]) == order.index(told["shell"]) + 1
    assert (names["ended"]["state"], names["ended"]["ended"]) == ("Z", "exit code 3")
    assert (names["killed"]["state"], names["killed"]["ended"]) == ("Z", "killed by SIGKILL")
    assert names["shell"]["waited_for_by"] == [target.pid]
    assert names["grandchild"]["waited_for_by"] == names["hostile"]["waited_for_by"] == []
    assert names["pid"]["python"] and names["hostile"]["python"]
    assert names["pid"]["stalled"] is True and names["shell"]["stalled"] is None
    assert not names["shell"]["python"] and names["shell"]["name"] == "sh"
    assert names["grandchild"]["cmdline"] == ["sleep", "600"]
    assert names["hostile"]["cmdline"][-1] == "red \x1b[31m"
    for one in names.values():
        assert 0 <= one["age_s"] < 300 and one["cpu_s"] >= 0, one
    target.finish()


def test_text(some_python):
    target = start("evidence_tree", some_python)
    told = target.ready
    done = hangdbg("tree", target.pid)
    assert done.rc == 0 and "\x1b" not in done.out, done
    below, root, *others = done.out.splitlines()
    assert re.match(r"below 1 \S+ > .*%d \S+$" % os.getpid(), below) or (
        below.startswith("below ")), done
    assert root.startswith("%d · S asleep in wait4 · " % target.pid) and root.endswith(" ←"), done
    lines = {int(re.search(r"\d+", line)[0]): line for line in others}
    assert lines[told["shell"]].startswith("├─ %d · " % told["shell"]), done
    assert lines[told["shell"]].endswith(" · %d waits for it" % target.pid), done
    assert lines[told["grandchild"]].startswith("│  └─ %d · " % told["grandchild"]), done
    assert " · zombie, exit code 3 · " in lines[told["ended"]], done
    assert " · zombie, killed by SIGKILL · " in lines[told["killed"]], done
    assert lines[told["hostile"]].startswith("└─ ") and "red \\x1b[31m" in lines[told["hostile"]]
    coloured = hangdbg("tree", target.pid, "--color=always").out
    assert "\x1b[31mzombie, exit code 3\x1b[0m" in coloured and "red \\x1b[31m" in coloured
    before = target.snapshot()
    assert hangdbg("tree", target.pid).rc == 0
    target.assert_as_before(before, arenas=0)
    target.finish()


def test_whom_it_waits_for_by_a_pipe(newest_python):
    """Told by what `diagnose` knows: no system call names the other process."""
    writer = track(subprocess.Popen(
        [newest_python, "-c", "import subprocess, sys\n"
         "child = subprocess.Popen(['sleep', '600'], stdout=subprocess.PIPE)\n"
         "print(child.pid, flush=True)\n"
         "child.stdout.read(1)\n"], stdout=subprocess.PIPE, start_new_session=True,
        preexec_fn=die_with_us))
    child = int(writer.stdout.readline())
    until("it waits for the child", lambda: seen(writer.pid)[1][child]["waited_for_by"] ==
          [writer.pid])


def test_a_rank_is_shown_with_its_job(newest_python):
    port = next(_ports)
    launcher = track(subprocess.Popen(
        [newest_python, in_targets("launches_ranks.py"), "3", str(port), "-c",
         "import time; time.sleep(1000)"], start_new_session=True, preexec_fn=die_with_us))
    children = Path("/proc/%d/task/%d/children" % (launcher.pid, launcher.pid))
    until("three ranks", lambda: len(children.read_text().split()) == 3)
    one = int(children.read_text().split()[1])

    def ranks():
        return {process["rank"]: process for process in seen(one)[0]["processes"]
                if process["role"] == "rank"}
    until("it is a job", lambda: set(ranks()) == {0, 1, 2})
    tree, by_pid = seen(one)
    assert tree["processes"][0]["pid"] == launcher.pid
    assert by_pid[launcher.pid]["role"] == "launcher"
    assert ranks()[0]["waited_for_by"] == [launcher.pid], tree  # for one after the other
    assert ranks()[1]["waited_for_by"] == [], tree
    text = hangdbg("tree", one).out
    assert re.search(r"^├─ %d rank 1 · .* ←$" % one, text, re.M), text
    os.killpg(launcher.pid, 9)


def test_state_d(hung_mount):
    """Whose memory may not answer: its command line is not waited for."""
    program = ("import os, subprocess, sys\n"
               "child = subprocess.Popen([sys.executable, '-c',"
               " \"import os; os.stat(%r)\"])\n"
               "print(child.pid, flush=True)\n"
               "child.wait()\n" % str(hung_mount))
    parent = track(subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                                    start_new_session=True, preexec_fn=die_with_us))
    child = int(parent.stdout.readline())
    until("state D", lambda: processes.waits_for_fuse(child))
    tree, by_pid = seen(parent.pid)
    assert by_pid[child]["state"] == "D" and by_pid[child]["waited_for_by"] == [parent.pid]
    assert by_pid[child]["cmdline"] == [] and by_pid[child]["python"], tree
    assert tree["skipped"] == ["the command line of 1 process in uninterruptible sleep: such "
                               "memory may not answer"]
    out = hangdbg("tree", parent.pid).out
    assert "· D in uninterruptible sleep in " in out and "not seen: the command line" in out, out
    os.kill(child, 9)


@needs_root
def test_one_whose_memory_does_not_answer(newest_python, tmp_path):
    """Not even SIGKILL would end one of us who reads it by process_vm_readv(2)."""
    target = Target([*OWN_MOUNTS, newest_python, in_targets("causes_fuse.py"), "unmaps", tmp_path])
    try:
        until("state D", lambda: processes.waits_for_fuse(target.pid))
        for command in ("tree", "threads", "locks", "net"):
            done = hangdbg(command, target.pid, "--json", "--timeout", "5")
            assert done.rc == 0 and done.seconds < 10, done
            (one,) = done.json()["processes"]
            assert command == "net" or one["skipped"], done
            if command in ("threads", "locks"):
                assert "uninterruptible sleep" in str(one["skipped"]), done
                assert "its memory does not answer" in str(one["skipped"]), done
            if command == "threads":
                assert target.pid in [thread["tid"] for thread in one["threads"]], done
    finally:
        os.kill(target.ready["server"], 9)


def test_of_what_is_no_python():
    sleep = track(subprocess.Popen(["sleep", "600"], start_new_session=True,
                                   preexec_fn=die_with_us))
    tree, by_pid = seen(sleep.pid)
    assert set(by_pid) == {sleep.pid} and by_pid[sleep.pid]["python"] is False


def test_bad_input():
    hangdbg("tree", 2 ** 22 - 1).assert_refused(2, "no process", "hangdbg ps")
    hangdbg("tree", "one").assert_refused(2, "is not a PID", "hangdbg ps")
    hangdbg("tree", "--children").assert_refused(2, "hangdbg tree --help")


@needs_root
def test_one_whose_memory_does_not_answer_leaves_time_for_others(newest_python, tmp_path):
    """For `ps`, which has its verdicts from all of them."""
    hung = start("lock_main", newest_python)
    target = Target([*OWN_MOUNTS, newest_python, in_targets("causes_fuse.py"), "unmaps", tmp_path])
    try:
        until("state D", lambda: processes.waits_for_fuse(target.pid))
        done = hangdbg("ps", hung.pid, target.pid, "--json")
        assert done.rc == 0, done
        said = {one["pid"]: one for one in done.json()["processes"]}
        assert said[hung.pid]["hung"] and said[hung.pid]["cause"] == "python-lock", said
        assert said[target.pid]["cause"] == "mount", said
    finally:
        os.kill(target.ready["server"], 9)
    hung.finish()
