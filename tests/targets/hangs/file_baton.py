"""Hangs as a PyTorch extension build does behind a stale lock file.

Takes the lock file's path as its argument (default: a fresh temporary file),
finds it taken, and looks every 100 ms whether it is gone. Written from what
torch.utils.file_baton does, not from its text: the names that a user would type
at the prompt (`self.lock_file_path`, `self.wait_seconds`) are the same.
"""

import os
import sys
import tempfile
import time

from common import finish, ready


def load(name, sources):
    return _jit_compile(name, sources, os.path.abspath(lock_path))


def _jit_compile(name, sources, path):
    baton = FileBaton(path)
    if baton.try_acquire():
        raise SystemExit("there is no stale lock file at " + path)
    waited = baton.wait()
    return {"module": name, "sources": sources, "waited": waited}


class FileBaton:
    """Whoever creates the file holds the baton; the others wait until it goes."""

    def __init__(self, lock_file_path, wait_seconds=0.1):
        self.lock_file_path = lock_file_path
        self.wait_seconds = wait_seconds

    def try_acquire(self):
        try:
            os.close(os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def wait(self):
        answer = 41
        seen = {0, 2, 4}
        ready(
            "wait",
            ["clock_nanosleep", "select", "pselect6"],
            go_on="unlink",
            path=self.lock_file_path,
            loops=True,
        )
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)
        return answer, sorted(seen)


if len(sys.argv) > 1:
    lock_path = sys.argv[1]
    open(lock_path, "a").close()
else:
    handle, lock_path = tempfile.mkstemp(prefix="stale-lock-")
    os.close(handle)
module = load("fused", ["fused.cpp"])
finish(answer=module["waited"][0], seen=module["waited"][1], module=module["module"])
