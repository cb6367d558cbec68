"""A real torch job of four ranks (tests/targets/jobs/torch_loop.py), and whether it continues
as without a debugger: each rank notes the loss of each round.

    job = Job(torch_python, "plain", tmp_path, 600, 20).started()
    job.ends_right()

running_job is one that runs for ever. Tests share it that leave it as it was, for four
times `import torch` is most of what such a test takes.
"""

import array
import os
import socket
import subprocess

import pytest

import torches
from harness import die_with_us, hangdbg, in_targets, kill_group, track, until

TORCHES = [pytest.param(path, id=version) for version, path in torches.found()] or [
    pytest.param(None, marks=pytest.mark.skip(reason="no Python here has torch"))]
IMPORT = 90  # seconds: four times torch, on two CPUs
RANKS = 4
TIMEOUT = 20  # seconds, of running_job
FOR_EVER = 0
SOURCE = in_targets("torch_loop.py")
LINE = next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
            if line.strip().startswith("weight = weight"))
PLACE = "%s:%d" % (SOURCE, LINE)


class Job:
    def __init__(self, python, way, directory, rounds, timeout, started=track):
        self.directory = directory
        self.all_rounds = rounds
        self.timeout = timeout
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self.process = started(subprocess.Popen(
            [str(word) for word in (
                *torches.torchrun(python, RANKS), "--master_port=" + port,
                SOURCE, way, directory, rounds, timeout)],
            stdout=subprocess.DEVNULL, stderr=open(directory / "log", "w"),
            start_new_session=True, preexec_fn=die_with_us,
            env=dict(os.environ, OMP_NUM_THREADS="1")))
        self.pid = self.process.pid

    def losses(self, rank):
        path = self.directory / str(rank)
        return array.array("f", path.read_bytes() if path.exists() else b"")

    def rounds(self, rank=0):
        return len(self.losses(rank))

    def started(self):
        until("all run", lambda: all(self.rounds(rank) > 3 for rank in range(RANKS)), IMPORT)
        return self

    def goes_on(self, seconds=3):
        before = self.rounds()
        until("another round", lambda: self.rounds() > before, seconds)

    def is_right(self):
        """Each loss of each rank is what the loop gives without a debugger."""
        for rank in range(RANKS):
            weight = 0.0
            for step, loss in enumerate(self.losses(rank)):
                gradient = sum(range(1, RANKS + 1)) + RANKS * (weight / 4 + step)
                weight -= gradient / 100
                assert abs(loss - 8 * weight) < 1e-4 * abs(8 * weight), (rank, step, loss)

    def ends_right(self):
        self.ends_well()
        assert [self.rounds(rank) for rank in range(RANKS)] == [self.all_rounds] * RANKS
        self.is_right()

    def ends_well(self):
        assert self.process.wait(IMPORT) == 0, (self.directory / "log").read_text()[-3000:]

    def goes_on_as_before(self):
        """The timeouts are what they were, every round is right, and more of them come."""
        until("timeouts are back", lambda: {
            self.timeout_of(rank) for rank in range(RANKS)} == {self.timeout})
        self.goes_round()
        self.is_right()

    def goes_round(self):
        """A hundred times."""
        last = self.rounds()
        until("more rounds", lambda: min(map(self.rounds, range(RANKS))) > last + 100)

    def may(self, what):
        """What it waits for: "go on", "end"."""
        (self.directory / what).touch()

    def pid_of(self, rank):
        listed = hangdbg("ps", "--job", self.pid, "--json").json()["processes"]
        return next(one["pid"] for one in listed
                    if one["rank"] == rank and one["role"] == "rank")

    def timeout_of(self, rank):
        """That of its process group, in seconds."""
        return float(hangdbg(
            "eval", self.pid_of(rank), "--frame", "train",
            "(lambda group: getattr(group, '_get_backend', lambda _: group)("  # not in 1.13
            "torch.device('cpu')))(next(iter(dist.distributed_c10d._pg_map)))"
            ".options._timeout.total_seconds()").out)


@pytest.fixture(params=TORCHES, scope="module")
def any_torch_python(request):
    return request.param


@pytest.fixture(scope="module")
def torch_python(any_torch_python):
    if torches.keeps_timeouts(any_torch_python):
        pytest.skip("the timeouts of this torch's gloo cannot be raised")
    return any_torch_python


@pytest.fixture(scope="module")
def running_jobs(torch_python):
    """At most one that is well; at the end it ends well."""
    jobs = []
    yield jobs
    for job in jobs:
        job.may("end")
        job.ends_well()
        job.is_right()


@pytest.fixture
def running_job(running_jobs, torch_python, tmp_path_factory):
    if not running_jobs:
        running_jobs.append(Job(
            torch_python, "plain", tmp_path_factory.mktemp("running"), FOR_EVER, TIMEOUT,
            started=lambda process: process).started())
    job = running_jobs.pop()
    try:
        yield job
        job.goes_on_as_before()
    except BaseException:
        kill_group(job.process)
        raise
    running_jobs.append(job)
