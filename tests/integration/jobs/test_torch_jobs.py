"""Jobs of the real torch that hang: the outlier and its line are named first."""

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

import processes
import torches
from harness import die_with_us, hangdbg, in_targets, track, until

pytestmark = pytest.mark.slow
TORCHES = [pytest.param(path, id=version) for version, path in torches.found()] or [
    pytest.param(None, marks=pytest.mark.skip(reason="no Python here has torch"))]
IMPORT = 90  # seconds: four times torch, on two CPUs
SOURCE = in_targets("torch_job.py")


@pytest.fixture(params=TORCHES)
def torch_python(request):
    return request.param


SPAWNED = ("spawn", "argument", "early", "forked", "importing")


class Job:
    """Four ranks under torchrun, or by mp.spawn. `pid`: who has started them."""

    def __init__(self, python, way, ranks=4):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        begin = [python]
        if way not in SPAWNED:
            begin = [*torches.torchrun(python, ranks), "--master_port=" + self.port]
        words = [*begin, SOURCE, way, self.port]
        self.process = track(subprocess.Popen(
            [str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True, preexec_fn=die_with_us,
            env=dict(os.environ, OMP_NUM_THREADS="1")))
        self.pid = self.process.pid
        for _ in range(ranks):
            assert self.process.stdout.readline().endswith(b"ready\n")

    def merged(self, *words):
        done = hangdbg("dump", "--job", self.pid, "--merge", *words, "--timeout", "30")
        assert done.rc == 0, done
        return done

    def until_parted(self, *odd):
        """The text, once these are the outliers."""
        def parted():
            ranks = [one["ranks"] for one in self.merged("--json").json()["odd"]]
            return ranks == [list(odd)]
        until("%s are odd" % (odd,), parted, IMPORT)
        return self.merged().out

    def kill_all(self):
        """Whatever meets at this job's port, found or not."""
        mark = b"MASTER_PORT=%s\0" % self.port.encode()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                pass  # it has ended

    def pids(self):
        """By rank."""
        listed = hangdbg("ps", "--job", self.pid, "--json").json()["processes"]
        return {one["rank"]: one["pid"] for one in listed if one["role"] == "rank"}


def line_of(text):
    lines = SOURCE.read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.strip() == text)


@pytest.mark.parametrize("way", ["user", "spawn", "argument", "forked"])
def test_one_is_in_its_own_code(torch_python, way):
    first, second = Job(torch_python, way).until_parted(3).splitlines()[:2]
    assert re.match(r"rank 3: in \S+ \(threading.py:\d+\)", first), first
    assert "train (%s:%d)" % (SOURCE, line_of("load()")) in first, first
    assert re.match(r"    ranks 0-2: in all_reduce .*asleep in ", second), second


def test_one_has_no_number_yet(torch_python):
    """It is known by its place among those that mp.spawn has started."""
    job = Job(torch_python, "early")
    until("all are there", lambda: set(job.pids()) == {0, 1, 2, 3}, IMPORT)
    place = "load (%s:%d)" % (SOURCE, line_of("threading.Event().wait()"))
    until("it is in load", lambda: place in hangdbg(
        "dump", "--job", job.pid, "--ranks", 3).out, IMPORT)
    out = job.merged().out
    assert "[3] 1 rank" in out and place in out, out
    assert "rank 3 of 4" in hangdbg("dump", job.pids()[3]).out
    (found,) = hangdbg("ps", "--job", job.pid, "--json").json()["jobs"]
    assert (found["job"], found["world_size"], found["missing"], found["left_over"]) == (
        "127.0.0.1:" + job.port, 4, [], []), found


def test_one_is_still_importing(torch_python):
    """Nothing says its number; it is not lost for that."""
    job = Job(torch_python, "importing")
    until("the others are there", lambda: set(job.pids()) == {0, 1, 2}, IMPORT)
    found = hangdbg("ps", "--job", job.pid, "--json").json()
    assert found["jobs"][0]["missing"] == [3], found
    (late,) = [one for one in found["processes"] if one["role"] == "no number yet"]
    out = job.merged().out
    assert out.startswith("rank 3 is missing: 4 were to be here, 3 are\n"
                          "there, and without a number yet: %d\n" % late["pid"]), out
    assert "load (" in hangdbg("dump", late["pid"]).out


def test_a_collective_that_does_not_match(torch_python):
    first, second = Job(torch_python, "mismatch").until_parted(2).splitlines()[:2]
    assert re.match("rank 2: in all_gather .*, by way of train ", first), first
    assert second.startswith("    ranks 0,1,3: in all_reduce "), second


def test_one_has_ended(torch_python):
    job = Job(torch_python, "exited")
    until("it has ended", lambda: set(job.pids()) == {0, 2, 3}, IMPORT)
    until("the others wait", lambda: "init_process_group" in job.merged().out, IMPORT)
    out = job.merged().out
    assert out.startswith("rank 1 is missing: 4 were to be here, 3 are"), out
    assert "[0,2,3] 3 ranks" in out, out


def test_one_is_stopped(torch_python):
    job = Job(torch_python, "user")
    job.until_parted(3)
    pid = job.pids()[1]
    os.kill(pid, signal.SIGSTOP)
    until("it is stopped", lambda: processes.state(pid, pid) == "T")
    first, second = job.merged().out.splitlines()[:2]
    assert first == "rank 1: stopped (SIGSTOP or Ctrl-Z); resume it by kill -CONT %d" % pid
    assert second.startswith("rank 3: "), second
    os.kill(pid, signal.SIGCONT)


def test_all_wait_for_a_lock_file(torch_python):
    job = Job(torch_python, "baton")
    until("they wait", lambda: "file_baton.py" in job.merged().out, IMPORT)
    out = job.merged().out
    assert out.startswith("[0-3] 4 ranks\n") and "FileBaton.wait" in out, out
    assert len(job.merged("--json").json()["classes"]) == 1


def test_workers_hang_on_a_lock(torch_python):
    job = Job(torch_python, "workers")

    def hung():
        listed = hangdbg("ps", "--job", job.pid, "--json", "--hung-after=1").json()["processes"]
        return {one["rank"] for one in listed
                if one["role"] == "child" and "__getitem__" in one["waits"]} == {0, 1, 2, 3}
    until("their workers hang", hung, IMPORT)
    out = job.merged("--children").out
    assert "Data.__getitem__ (%s:%d)" % (SOURCE, line_of("with self.lock:")) in out, out
    assert "_try_get_data" in out, out


def test_a_worker_outlives_its_rank(torch_python):
    """It has the rank's number, and is not it."""
    job = Job(torch_python, "outlived")
    workers = {}

    def all_there():
        workers.update({one["rank"]: one["pid"] for one in hangdbg(
            "ps", "--job", job.pid, "--json").json()["processes"] if one["role"] == "child"})
        return set(workers) == {0, 1, 2, 3}
    try:
        until("workers are there", all_there, IMPORT)
        os.kill(job.process.pid, signal.SIGSTOP)  # or it would end the others
        os.kill(job.pids()[2], signal.SIGKILL)
        until("it is gone", lambda: 2 not in job.pids())
        out = hangdbg("dump", "--job", job.pid, "--merge").out
        assert out.startswith("rank 2 is missing: 4 were to be here, 3 are; ended, and not "
                              "waited for by %d" % job.pid), out
        assert "left over, and still running: %d\n" % workers[2] in out, out
    finally:
        job.kill_all()  # nothing else ends the workers
