"""hangdbg diagnose: who polls and who sleeps between rounds of work, told by the loop
that it is in: at the first look, whatever the pause."""

import re
import sys

import processes
from diagnosed import diagnosed
from harness import Target, in_targets, until
from versions import by_case

import pytest

# kind: the cause, how sure, what is in the sentence
KINDS = {
    "file": ("polls", "certain",
             r"^polls `os\.path\.exists\(path\)` at polling_loops\.py:\d+-\d+ in file, and sleeps"),
    "attempts": ("polls", "certain", r"^polls `open\(NEVER\)` at .* in attempts"),
    "with_limit": ("polls", "certain", r"^polls `condition\(\)` at .* in with_limit"),
    "variable": ("polls", "certain", r"^polls the variable `worker\.done` at .* in variable"),
    "by_helper": ("polls", "certain", r"^polls `os\.path\.isdir\(path\)` at .* in by_helper"),
    "by_event": ("polls", "certain", r"^polls `os\.path\.exists\(NEVER\)` at .* in by_event"),
    "by_queue": ("polls", "likely",
                 r"^polls `items\.get\(timeout=PAUSE\)` at .* in by_queue, and waits in Queue\.get"),
    "by_lock": ("polls", "likely", r"^polls `lock\.acquire\(timeout=PAUSE\)` at .* in by_lock, and"),
    "by_condition": ("polls", "likely", r"^polls `items` at .* in by_condition, and waits in Cond"),
    "by_select": ("polls", "likely", r"^polls `select\.select\(.*\)` at .* in by_select, and "),
    "beats": ("sleeps", None, r"^sleeps between rounds of the loop at .* in beats"),
    # The compiler puts the first wait before the loop in some versions.
    "beats_until": ("sleeps", None, r"^sleeps .* or until an Event is set$"),
    "beats_until_interrupted": ("sleeps", None, r"^sleeps between rounds of the loop at "),
    "batches": ("sleeps", None, r"^sleeps between rounds of the loop at .* in batches"),
    "once": ("sleeps", "certain", r"^sleeps for a fixed time"),
}
PAUSES = ["0.05", "0.3", "0.5", "1", "5", "30"]
LOOKS = 10


def check(target, kind):
    cause, sure, sentence = KINDS[kind]
    said = diagnosed(target.pid, after="10")
    assert said["cause"] == cause, said
    assert sure in (None, said["confidence"]), said
    assert re.search(sentence, said["summary"]), said
    assert not said["stalled"] and said["evidence"], said
    return said


@by_case(sorted(KINDS), on_edges=set(KINDS))
def test_each_loop(case, python):
    check(Target([python, in_targets("polling_loops.py"), case, "30"]), case)


@pytest.mark.parametrize("pause", PAUSES)
def test_the_same_in_ten_looks(pause):
    for kind in ("file", "beats", "by_queue"):
        target = Target([sys.executable, in_targets("polling_loops.py"), kind, pause])
        said = [check(target, kind)["summary"] for _ in range(LOOKS)]
        assert len(set(said)) == 1, said


@pytest.mark.parametrize("kind", ["file", "attempts", "by_helper", "beats"])
def test_after_many_rounds(kind, python):
    """The interpreter has replaced the instructions by faster ones by then."""
    target = Target([python, in_targets("polling_loops.py"), kind, "0.01"])
    until("a hundred rounds", lambda: (
        int(processes.thread_activity(target.pid, target.tid).switches[0]) > 100))
    check(target, kind)
