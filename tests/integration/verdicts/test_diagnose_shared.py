"""hangdbg diagnose: who waits in multiprocessing's Event, Condition, Semaphore or queue
until another process resumes it; each made for real and named first."""

import pytest

from diagnosed import diagnosed, named_first, not_hung
from harness import Target, in_targets, until
from versions import by_case


def begin(case, python):
    """`case`: who waits, and what the other process does (causes_shared.py)."""
    return Target([python, in_targets("causes_shared.py"), *case.split()])


# case: the cause behind it, how sure, what is in the sentence
HANGS = {
    "event reads": ("writer-gone", "certain", "a pipe"),
    "event waits_for_another": ("nobody-left", "likely", "no other process is left that shares it"),
    "event_of_several reads": ("writer-gone", "certain", "a pipe"),
    "event_of_spawned reads": ("writer-gone", "certain", "a pipe"),
    "bounded_semaphore reads": ("writer-gone", "certain", "a pipe"),
    "condition reads": ("writer-gone", "certain", "a pipe"),
    "full_queue reads": ("writer-gone", "certain", "a pipe"),
    "semaphore reads": ("writer-gone", "certain", "a pipe"),
    "unfinished_queue reads": ("writer-gone", "certain", "a pipe"),
}


@by_case(sorted(HANGS), on_edges={"event reads"})
def test_who_waits_for_another_process(case, python):
    cause, sure, sentence = HANGS[case]
    target = begin(case, python)
    said = named_first("shared " + case, target.pid, cause, sure, sentence)
    assert [link["cause"] for link in said["chain"]] == ["shared-wait", cause], said
    assert said["chain"][-1]["pid"] == target.ready["other"], said


# case: what is said of who waits
WELL = {
    "event computes_in_thread": "shared-wait",
    "event naps": "shared-wait",
    "event_of_several naps": "shared-wait",
    "event_with_time reads": "sleeps",
    "full_queue takes_slowly": "shared-wait",
}


@pytest.mark.parametrize("case", sorted(WELL))
def test_who_waits_and_is_well(case, newest_python):
    target = begin(case, newest_python)
    until(WELL[case], lambda: diagnosed(target.pid)["chain"][0]["cause"] == WELL[case])
    not_hung("shared " + case, target.pid)
