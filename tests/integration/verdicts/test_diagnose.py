"""hangdbg diagnose: the cause is named first, on processes that really hang so; and of
those that are well none is said to hang."""

import os
import re
import subprocess

from diagnosed import diagnosed, named_first, not_hung
from harness import Target, as_nobody, behind, hangdbg, in_targets, start
from test_namespaces import needs_root
from versions import by_case


def begin(case, python, folder):
    return Target([python, in_targets("causes.py"), case, folder])


# case: its cause, how sure, what is in the sentence
HANGS = {
    "locks": ("deadlock", "certain", r'"forth" waits for the Lock `self\.b`, held by thread \d+ '
              r'"back"; thread \d+ "back" waits for the Lock `self\.a`'),
    "twice": ("deadlock", "certain", "`lock`, already held by this thread"),
    "logging_lock": ("logging-lock", "certain", 'the RLock `.*`, held by thread [0-9]+ "logs"'),
    "fork_lock": ("fork-lock", "certain", "`lock`, and no other thread"),
    "flock": ("file-lock", "certain", r"waits for the lock on .*/lock, held by process \d+ "),
    "child_pipe": ("subprocess-pipe", "certain", "pipe that is full"),
    "dead_writer": ("writer-gone", "certain", "a queue that nobody writes into"),
    "join_at_exit": ("pipe-read", "possible", "a pipe"),
    "event_alone": ("nobody-left", "likely", "Event.wait"),
    "syn_sent": ("peer-unreachable", "certain", "does not answer"),
    "await_cycle": ("await-cycle", "certain", "2 tasks wait for each other"),
    "unset_future": ("future-unset", "likely", "1 task waits for what nobody"),
    "loop_blocked": ("asyncio-blocked", "certain", "blocks its event loop: waits for a pipe"),
    "stopped": ("stopped", "certain", "SIGSTOP"),
    "busy": ("busy-loop", "likely", "without changing any state"),
}


# Variations of them are unit tests (tests/unit/diagnosis/causes_*_test.cpp).
@by_case(sorted(HANGS), on_edges={"locks", "twice", "logging_lock", "fork_lock", "join_at_exit",
                                  "event_alone", "await_cycle", "unset_future", "loop_blocked",
                                  "busy"})
def test_named_first(case, python, tmp_path):
    named_first(case, begin(case, python, tmp_path).pid, *HANGS[case])


def test_a_circle_that_may_end_by_itself(edge_python, tmp_path):
    target = begin("locks_with_a_limit", edge_python, tmp_path)
    said = named_first("two Locks crosswise, one with a time limit", target.pid, "deadlock",
                       "certain", "2 threads wait for each other")
    assert said["state"] == "blocked" and not said["hung"], said
    assert any(line.endswith('"back": this wait has a time limit')
               for line in said["evidence"]), said


WELL = ["idle_server", "asyncio_server", "accepts", "pool", "computes", "slow_reader",
        "one_dead_client"]


@by_case(WELL, on_edges={"idle_server", "asyncio_server", "pool"})
def test_who_is_well_is_not_called_hung(case, python, tmp_path):
    not_hung(case, begin(case, python, tmp_path).pid)


def baton(python, folder):
    """Hangs behind a lock file; the folder's name is one that a terminal would obey."""
    folder = folder / "red \x1b[31m"
    folder.mkdir()
    return start("file_baton", python, folder / "lock"), folder / "lock"


@needs_root  # else it may not be seen what others have open
def test_a_lock_file_that_nobody_will_remove(edge_python, tmp_path):
    target, path = baton(edge_python, tmp_path)
    said = named_first("file_baton", target.pid, "stale-lock-file", None, "is gone")
    shared = any("may be shared" in one for one in said["evidence"])
    assert said["confidence"] == ("likely" if shared else "certain"), said
    subprocess.run(said["next"][0]["command"], shell=True, check=True)
    assert not path.exists()
    target.ready["go_on"] = "nothing"
    target.finish()


def test_a_lock_file_that_somebody_has_open(newest_python, tmp_path):
    target, path = baton(newest_python, tmp_path)
    with open(path):
        said = diagnosed(target.pid)
    assert said["chain"][0]["cause"] == "lock-file", said
    assert "process %d " % os.getpid() in said["chain"][0]["summary"], said
    target.finish()


def test_text_names_the_cause_first_and_what_to_type(newest_python, tmp_path):
    target, _ = baton(newest_python, tmp_path)
    done = hangdbg("diagnose", target.pid)
    first = done.out.splitlines()[0]
    assert re.search(r" hangs( \(.*?\))?: ", first) and "/red \\x1b[31m/lock is gone" in first, done
    assert "\ntry: rm " in done.out and "\x1b" not in done.out, done
    target.finish()


def test_who_keeps_the_gil_in_c(some_python):
    target = start("gil_held", some_python)
    named_first("gil_held", target.pid, "gil-held", None, "asleep in read")
    target.finish()


def test_nothing_changes_in_it(edge_python, tmp_path):
    target = start("lock_worker", edge_python)
    before = target.snapshot()
    assert hangdbg("diagnose", target.pid).rc == 0
    target.assert_as_before(before, arenas=0)
    target.finish()


def test_no_such_process():
    hangdbg("diagnose", 999999999).assert_refused(2)
    hangdbg("diagnose", "x").assert_refused(2)


@needs_root
def test_who_may_not_look(newest_python, public):
    target = start("lock_main", newest_python)
    done = behind(*as_nobody(public + "/hangdbg"))("diagnose", target.pid)
    assert done.rc == 3 and "Traceback" not in done.err, done
    target.finish()
