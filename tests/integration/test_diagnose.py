"""hangdbg diagnose: the cause is named first, on processes that really hang so; and of
those that are well none is said to hang."""

import re

import pytest

from harness import TARGETS, Target, as_nobody, behind, hangdbg, start, until
from test_namespaces import needs_root

AFTER = "0.3"  # seconds after which a wait counts as a hang here


def diagnosed(pid, *args):
    done = hangdbg("diagnose", pid, "--json", "--hung-after", AFTER, *args)
    assert done.rc == 0 and done.err == "", done
    return done.json()


def begin(case, python, folder):
    return Target([python, TARGETS / "causes.py", case, folder])


# case: its cause, how sure, what is in the sentence
HANGS = {
    "locks": ("deadlock", "certain", r'"forth" waits for the Lock `self\.b`, which thread \d+ '
              r'"back" has; thread \d+ "back" waits for the Lock `self\.a`'),
    "rlocks": ("deadlock", "certain", r"the RLock `self\.b`"),
    "twice": ("deadlock", "certain", "`lock`, which it has itself"),
    "lock_behind_sleep": ("writer-gone|pipe-read", None, "pipe"),
    "fork_lock": ("fork-lock", "certain", "`lock`, and no other thread"),
    "flock": ("sleeps|file-lock", None, ""),
    "child_pipe": ("subprocess-pipe", "certain", "pipe that is full"),
    "dead_writer": ("writer-gone", "certain", "a queue that nobody writes into"),
    "join_at_exit": ("pipe-read|writer-gone", None, "pipe"),
    "event_alone": ("nobody-left", "likely", "Event.wait"),
    "syn_sent": ("peer-unreachable", "certain", "does not answer"),
    "peer_reads_not": ("peer-does-not-read", "likely", "waits until 127.0.0.1"),
    "await_cycle": ("await-cycle", "certain", "2 tasks wait for each other"),
    "unset_future": ("future-unset", "likely", "1 task waits for what nobody"),
    "loop_blocked": ("asyncio-blocked", None, "blocks its event loop"),
    "stopped": ("stopped", "certain", "SIGSTOP"),
    "busy": ("busy-loop", "likely", "nothing changes"),
}


@pytest.mark.parametrize("case", sorted(HANGS))
def test_named_first(case, some_python, tmp_path):
    cause, sure, sentence = HANGS[case]
    target = begin(case, some_python, tmp_path)
    said = []

    def told():
        said[:] = [diagnosed(target.pid)]
        return re.fullmatch(cause, said[0]["cause"]) and re.search(sentence, said[0]["sentence"])
    try:
        until(cause, told, 10)
    except AssertionError:
        raise AssertionError("%s is said to be %s" % (case, said))
    assert sure in (None, said[0]["confidence"]), said
    assert said[0]["evidence"], said


WELL = ["idle_server", "asyncio_server", "accepts", "pool", "sleeps", "computes",
        "waits_for_input"]


@pytest.mark.parametrize("case", WELL)
def test_who_is_well_is_not_called_hung(case, some_python, tmp_path):
    target = begin(case, some_python, tmp_path)
    for _ in range(5):
        said = diagnosed(target.pid)
        assert not said["hung"], said


def test_a_lock_file_that_nobody_will_remove(some_python, tmp_path):
    target = start("file_baton", some_python, tmp_path / "lock")
    said = diagnosed(target.pid)
    assert (said["cause"], said["confidence"], said["hung"]) == ("stale-lock-file", "certain", True)
    assert said["next"][0]["command"] == "rm %s/lock" % tmp_path
    target.finish()


def test_text_names_the_cause_first_and_what_to_type(some_python, tmp_path):
    target = start("file_baton", some_python, tmp_path / "lock")
    done = hangdbg("diagnose", target.pid)
    first, *rest = done.out.splitlines()
    assert " hangs: " in first and "%s/lock is gone" % tmp_path in first, done
    assert "try: rm %s/lock" % tmp_path in done.out, done
    assert "\x1b" not in done.out
    target.finish()


def test_nothing_changes_in_it(some_python, tmp_path):
    target = start("lock_worker", some_python)
    before = target.snapshot()
    assert hangdbg("diagnose", target.pid).rc == 0
    target.assert_as_before(before, arenas=0)
    target.finish()


def test_no_such_process():
    hangdbg("diagnose", 999999999).assert_refused(2)
    hangdbg("diagnose", "x").assert_refused(2)


@needs_root
def test_who_may_not_look(some_python, public):
    target = start("lock_main", some_python)
    done = behind(*as_nobody(public + "/hangdbg"))("diagnose", target.pid)
    assert done.rc == 3 and "Traceback" not in done.err, done
    target.finish()
