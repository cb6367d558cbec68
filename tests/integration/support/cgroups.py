"""Control groups of a test's own, and processes in them; gone after it, whatever
happened. Version 1's controllers are those of a hierarchy each, "unified" is
version 2.

    with cgroup("memory") as group:
        group.write("memory.limit_in_bytes", 64 << 20)
        group.take(target.pid)
"""

import contextlib
import os
import time
from pathlib import Path

import pytest

from harness import until

FOLDER = Path("/sys/fs/cgroup")


class Group:
    def __init__(self, folder):
        self.folder = folder

    def write(self, name, value):
        (self.folder / name).write_text(str(value))

    def read(self, name):
        return (self.folder / name).read_text().strip()

    def entry(self, name, key):
        """Of a file of "key value" lines."""
        return int(dict(line.split() for line in self.read(name).splitlines())[key])

    def take(self, pid):
        self.write("cgroup.procs", pid)

    def freeze(self):
        if self.has("freezer.state"):  # version 1
            self.write("freezer.state", "FROZEN")
            until("frozen", lambda: self.read("freezer.state") == "FROZEN")
        else:
            self.write("cgroup.freeze", "1")
            until("frozen", lambda: self.entry("cgroup.events", "frozen"))

    def has(self, name):
        return (self.folder / name).exists()


@contextlib.contextmanager
def cgroup(controller):
    """Skips the test where there is no such hierarchy, or none may be made."""
    root = FOLDER / controller
    if not (root / "cgroup.procs").exists():
        pytest.skip("no cgroup hierarchy " + str(root))
    folder = root / ("hangdbg-test-%d-%d" % (os.getpid(), time.monotonic_ns()))
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip("no cgroup may be made in %s: %s" % (root, error))
    group = Group(folder)
    try:
        yield group
    finally:
        _thaw(group)
        until("its processes are gone", lambda: _empty(group, root))
        folder.rmdir()


def _thaw(group):
    for name, value in (("freezer.state", "THAWED"), ("cgroup.freeze", "0"),
                        ("memory.oom_control", "0"), ("memory.limit_in_bytes", "-1"),
                        ("pids.max", "max"), ("cpu.cfs_quota_us", "-1")):
        if group.has(name):
            with contextlib.suppress(OSError):
                group.write(name, value)


def _empty(group, root):
    for pid in group.read("cgroup.procs").split():
        with contextlib.suppress(OSError):
            (root / "cgroup.procs").write_text(pid)
    return not group.read("cgroup.procs")
