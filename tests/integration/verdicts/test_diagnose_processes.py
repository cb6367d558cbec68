"""hangdbg diagnose: pools, children, and the ends of programs, each made for real and
named first."""

import re
import subprocess
import sys

from diagnosed import diagnosed, named_first, well_by
from harness import Target, hangdbg, in_targets, track, until
from versions import by_case


CHILD_ABORTS = """
import json, os, threading
child = os.fork()
if child == 0:
    os.abort()
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print(json.dumps({"pid": os.getpid(), "tid": threading.get_native_id(), "function": "<module>",
                  "syscalls": ["read"], "child": child}), flush=True)
os.read(0, 1)
"""


def begin(case, python, folder):
    return Target([python, in_targets("causes_processes.py"), case, folder])


# case: its cause, how sure, what is in the sentence, and the causes on the way there
HANGS = {
    "future": ("pipe-read", None, "a pipe", ["future", "pipe-read"]),
    "future_of_process": ("writer-gone", None, "a pipe", ["future", "writer-gone"]),
    "pool_task": ("writer-gone", None, "a pipe", ["pool-result", "writer-gone"]),
    "pool_worker_killed": ("task-lost", "likely", "none of its 2 workers is at", ["task-lost"]),
    "pool_lock_died": ("lock-of-dead-process", "likely", "who had it has ended",
                       ["pool-result", "lock-of-dead-process"]),
    "child_reads": ("subprocess-pipe", "certain", "its standard input",
                    ["child", "terminal-input"]),
    "queue_not_read": ("subprocess-pipe", "certain", "into a pipe that is full",
                       ["child", "exit-join", "pipe-full"]),
    "pool_at_exit": ("pipe-read", None, "a pipe", ["exit-join", "pipe-read"]),
    "process_at_exit": ("writer-gone", None, "a pipe", ["child", "writer-gone"]),
    "handler_at_exit": ("exit-handler", "possible", "has come to its end, and waits in Event",
                        ["exit-handler"]),
}


@by_case(sorted(HANGS), on_edges={"future", "pool_task", "handler_at_exit"})
def test_between_processes(case, python, tmp_path):
    cause, sure, sentence, way = HANGS[case]
    target = begin(case, python, tmp_path)
    said = named_first(case, target.pid, cause, sure, sentence)
    assert [link["cause"] for link in said["chain"]] == way, said


def test_a_child_that_nobody_waits_for(newest_python, tmp_path):
    target = begin("zombie", newest_python, tmp_path)
    done = hangdbg("diagnose", target.ready["child"])
    done.assert_refused(2, "is a zombie: its parent %d has not reaped it" % target.pid)


def test_how_a_child_has_ended():
    """It is said of one that a signal has killed."""
    parent = Target([sys.executable, "-c", CHILD_ABORTS])
    done = hangdbg("diagnose", parent.ready["child"])
    done.assert_refused(2, "process %d is a zombie (killed by SIGABRT): its parent %d"
                        % (parent.ready["child"], parent.pid))


# Those are named, and not called hung: nobody can tell that they are not to go round.
ROUND = {
    "polls": ("polls", r"polls `socket.create_connection\(.*\)` at causes_processes.py:\d+-\d+ in polls"),
    "counts_forever": ("runs", r"in the loop at causes_processes.py:\d+(-\d+)? in counts_forever"),
    "select_loop": ("polls", r"polls `select\.select\(.*\)` at .* into which only it itself can write"),
}


@by_case(sorted(ROUND), on_edges={"counts_forever"})
def test_who_goes_round(case, python, tmp_path):
    target = begin(case, python, tmp_path)
    cause, sentence = ROUND[case]
    said = well_by(case, target.pid, cause)
    assert re.search(sentence, said["summary"]), said


def test_a_descendant_that_hangs_is_named(newest_python):
    """Whoever above it is asked, though that one rests; a zombie has ended, and does not hang."""
    hang = "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()"
    code = ("import subprocess, sys, time\n"
            "ended = subprocess.Popen(['true'])\n"
            "child = subprocess.Popen([sys.executable, '-c', %r])\n"
            "print(child.pid, flush=True)\n"
            "time.sleep(1000)\n" % hang)
    parent = track(subprocess.Popen([newest_python, "-c", code], stdout=subprocess.PIPE,
                                    start_new_session=True))
    child = int(parent.stdout.readline())

    def named():
        said = diagnosed(parent.pid)
        assert said["state"] == "idle" and len(said["also"]) < 2, said
        return [one["pid"] for one in said["also"]] == [child] and said
    said = until("the child is named", named)
    assert re.match("(probably )?hangs: waits for the Lock", said["also"][0]["summary"]), said
