"""A visit does not reset the clock: after `eval` a process has waited as long as before."""

import time
from pathlib import Path

import pytest

from harness import hangdbg, place, start, until

WAITED_S = 0.5  # longer than from a visit to the look after it, on a machine with time


@pytest.mark.parametrize("name", ["lock_main", "sleep", "os_read", "asyncio_idle"])
def test_wait_after_a_visit(name, python, tmp_path):
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}

    def waiting_s():
        shown = hangdbg("ps", target.pid, "--json", env=env)
        return shown.json()["processes"][0]["waiting_s"]

    target = start(name, python)
    if waiting_s() is None:
        pytest.skip("the kernel does not tell when a thread ran last")
    note = Path(tmp_path) / "hangdbg" / str(target.tid)
    seen = {}

    def noted():
        """A machine too busy to see it fall asleep again leaves no note."""
        until("a wait", lambda: (waiting_s() or 0) > WAITED_S)
        seen["before"], seen["at"] = waiting_s(), time.monotonic()
        assert hangdbg("eval", target.pid, "answer", *place(target), env=env).rc == 0
        return note.exists()

    until("a note of the wait", noted)
    asked_at = time.monotonic()
    after = waiting_s()
    assert after >= seen["before"] + asked_at - seen["at"] - 0.05, (seen, after)
    target.finish()
