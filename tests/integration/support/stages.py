"""The programs of the tutorials, as the pages show them: each in a folder of its own, until it
hangs. What a machine lacks for one is said by a skip."""

import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

import launchers
import torches
from harness import PATIENCE, ROOT, hangdbg, kill_group
from pages import LAUNCHER, PID, Stage, copied

PYTHON = "/usr/bin/python3"
MINE = 79655, 79656, 79657, 79658


def gunicorn():
    folder = ROOT / ".cache/gunicorn/3.11"
    if not folder.exists():
        pytest.skip("gunicorn: not fetched")
    return folder


def a_torch():
    if not torches.found():
        pytest.skip("no Python here has torch")
    return torches.found()[-1][1]


class Mean(Stage):
    def __init__(self, folder):
        copied(folder, tutorials__mean="mean.py")
        super().__init__(folder, PYTHON, ["mean.py"])
        self.call(self.pid, PID)

    def begin(self):
        self.wait_hung("nobody-left", self.pid)


class Core(Mean):
    """The same, and what gcore makes of it."""

    def begin(self):
        super().begin()
        gdb = shutil.which("gdb") or pytest.skip("no gdb, which makes the core file")
        made = subprocess.run(
            [gdb, "-nx", "-batch", "-p", str(self.pid), "-ex", "generate-core-file core." + PID],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=PATIENCE)
        assert (self.folder / ("core." + PID)).exists(), made.stdout


class Crawl(Stage):
    def __init__(self, folder):
        copied(folder, tutorials__crawl="crawl.py")
        super().__init__(folder, PYTHON, ["crawl.py"])
        self.call(self.pid, PID)

    def begin(self):
        self.wait_hung("future-unset", self.pid)


class Web(Stage):
    """gunicorn with one worker."""

    def __init__(self, folder, python, app, *words):
        copied(folder, **{"tutorials__" + app: app + ".py"})
        self.port, packages = launchers.free_port(), gunicorn()
        super().__init__(
            folder, python, ["-m", "gunicorn", *words, app + ":app"], PYTHONPATH=str(packages),
            GUNICORN_CMD_ARGS="--no-control-socket --timeout 0 --bind 127.0.0.1:" + self.port)
        self.names[re.escape(str(packages)) + "/"] = ""
        self.names[r"127\.0\.0\.1:%s\b" % self.port] = "127.0.0.1:8000"
        self.call(self.pid, LAUNCHER)
        self.asking = []

    def begin(self):
        self.wait_until("gunicorn listens", lambda: "Booting worker" in self.said())
        (self.worker,) = self.wait_until("a worker", self.children)
        self.call(self.worker, PID)

    def ask(self, path):
        """Without waiting for the answer."""
        self.asking.append(socket.create_connection(("127.0.0.1", int(self.port))))
        self.asking[-1].sendall(b"GET %s HTTP/1.0\r\n\r\n" % path.encode())

    def end(self):
        super().end()
        for one in self.asking:
            one.close()


class Shop(Web):
    def __init__(self, folder):
        super().__init__(folder, PYTHON, "shop", "--threads", "4")

    def begin(self):
        super().begin()
        # Both requests are there when the worker looks: the sale gets the first thread.
        os.kill(self.worker, signal.SIGSTOP)
        self.ask("/sell")
        self.ask("/refund")
        os.kill(self.worker, signal.SIGCONT)
        self.wait_hung("deadlock", self.worker)


class Scores(Web):
    def __init__(self, folder):
        super().__init__(folder, a_torch(), "scores", "--preload")

    def begin(self):
        super().begin()
        self.ask("/")
        self.wait_hung("openmp-fork", self.worker)


class Fused(Stage):
    def __init__(self, folder):
        python = a_torch()
        copied(folder, tutorials__fused="fused.py")
        (folder / "build").mkdir()
        (folder / "build" / "lock").touch()
        (folder / "fused.cpp").touch()
        super().__init__(folder, python, ["fused.py"])
        self.call(self.pid, PID)

    def begin(self):
        if os.geteuid() != 0:
            pytest.skip("only root sees that nobody has the lock file open")
        self.wait_hung("stale-lock-file", self.pid)


class Epoch(Stage):
    def __init__(self, folder):
        python = a_torch()
        copied(folder, tutorials__epoch="epoch.py")
        (folder / "data").mkdir()
        for number in range(7):
            (folder / "data" / ("%d.txt" % number)).write_text("text %d\n" % number)
        self.port = launchers.free_port()
        super().__init__(
            folder, python, [*torches.torchrun(python, 3)[1:], "--master_port=" + self.port,
                             "epoch.py"], OMP_NUM_THREADS="1")
        self.call(self.pid, LAUNCHER)
        self.names[r"127\.0\.0\.1:%s" % self.port] = "127.0.0.1:29500"

    def begin(self):
        self.wait_hung("collective-mismatch", "--job", self.pid)
        for rank, pid in enumerate(self.children()):
            self.call(pid, MINE[rank])

    def end(self):
        ranks = self.children() if self.process.poll() is None else []
        super().end()
        for pid in ranks:  # torchrun gives each a group of its own
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass


class Export(Stage):
    def __init__(self, folder):
        copied(folder, tutorials__ci_export="test_export.py")
        super().__init__(
            folder, PYTHON, ["-m", "pytest", "test_export.py"], PYTEST_ADDOPTS="-p no:cacheprovider")
        self.call(self.pid, PID)

    def begin(self):
        self.wait_hung("subprocess-pipe", self.pid)
        for pid in self.children():
            self.call(pid, MINE[1])


STOPPED = """
import fcntl, os, signal
lock = open("cache/2.lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
os.kill(os.getpid(), signal.SIGSTOP)
"""


class Cluster(Stage):
    """Slurm's daemons on one machine; the lock of shard 2 is held by a process that is stopped."""

    def __init__(self, folder):
        self.started = []
        python = a_torch()
        copied(folder, tutorials__shards="shards.py")
        (folder / "cache").mkdir()
        super().__init__(folder, PYTHON, ["-c", STOPPED])
        self.names[re.escape(python)] = "python3"
        self.call(self.pid, MINE[0])
        self.wait_until("the holder is stopped", self.stopped)
        self.before = os.getcwd()
        os.chdir(folder)
        try:
            self.job = Shards(folder, python, started=self.keep)
        except BaseException:
            self.end()
            raise
        self.names[r"\b%s\.0\b" % self.job.job] = "4711.0"
        self.names[r"\b%s\b" % self.job.job] = "4711"

    def stopped(self):
        with open("/proc/%d/stat" % self.pid) as stat:
            return stat.read().rpartition(")")[2].split()[0] == "T"

    def keep(self, process):
        self.started.append(process)
        return process

    def begin(self):
        self.wait_hung("stopped", "--job", self.job.name)
        listed = hangdbg("ps", "--job", self.job.name, "--json").json()["processes"]
        for one in listed:
            if one["role"] == "rank":
                self.call(one["pid"], 79601 + one["rank"])
        self.programs = {"srun": self.job.root / "usr/bin/srun"}
        self.environment = self.job.environment()

    def end(self):
        super().end()
        if hasattr(self, "job"):
            self.job.end()
        os.chdir(self.before)
        for process in self.started:
            kill_group(process)


class Shards(launchers.Slurm):
    def __init__(self, folder, python, started):
        self.torch = python
        super().__init__(folder, started=started)

    def program(self):
        return ["shards.py"]

    def python(self):
        return self.torch
