"""hangdbg diagnose: event loops in which nobody is left to go on, each made for real and
named first."""

import pytest

from diagnosed import named_first
from harness import Target, in_targets

# case: how many tasks wait, and where one of them does
CASES = {
    "lock": ("2 tasks wait", "locks.py:%s in __aenter__"),
    "queue": ("1 task waits", "queues.py:%s in get"),
    "join": ("1 task waits", "queues.py:%s in join"),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_nobody_is_left_to_go_on(case, newest_python):
    tasks, where = CASES[case]
    target = Target([newest_python, in_targets("causes_asyncio.py"), case],
                    env={"PYTHONWARNINGS": "ignore"})
    said = named_first("asyncio: " + case, target.pid, "future-unset", "likely", tasks)
    file, function = where.split(":%s")
    assert any(file in one and function in one for one in said["evidence"]), said
