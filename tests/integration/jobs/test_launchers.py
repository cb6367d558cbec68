"""Ranks that the real launchers have started: which they are, who is missing, whose
children there are, and that the outlier and its line are named first."""

import os
import re
import signal

import pytest

import launchers
from diagnosed import named_first
from harness import hangdbg, in_targets, kill_group, until

pytestmark = pytest.mark.slow
BEGUN = 90  # seconds: four times torch, on two CPUs


@pytest.fixture
def launch(tmp_path):
    begun = []

    def one(launcher, *words):
        begun.append(launcher(tmp_path, *words))
        return begun[-1]
    yield one
    for job in begun:
        job.end()


@pytest.fixture(params=launchers.ALL, ids=lambda one: one.name, scope="module")
def parted(request, tmp_path_factory):
    """The job of a launcher in which rank 2 is the outlier, and what --merge says of it."""
    processes = []

    def started(process):
        processes.append(process)
        return process
    try:
        job = request.param(tmp_path_factory.mktemp("parted"), started=started)
        yield job, until_parted(job)
        job.end()
    finally:
        for process in processes:
            kill_group(process)


def listed(job):
    """The job, and its processes by their role and rank; nothing before it is there."""
    done = hangdbg("ps", "--job", job.name, "--json")
    if done.rc != 0:
        return None, {}
    (found,) = done.json()["jobs"]
    return found, {(one["role"], one["rank"]): one["pid"] for one in done.json()["processes"]}


def merged(job, *words):
    return hangdbg("dump", "--job", job.name, "--merge", "--timeout", "30", *words)


def until_parted(job):
    """What --merge says once rank 2 is the outlier, in its own code, and nothing is
    read from a disk any more."""
    def parted():
        done = merged(job)
        odd = re.findall(r"^rank .*", done.out, re.M)
        return (len(odd) == 1 and re.match(r"rank 2: in .* (\S+\.)?train ", odd[0])
                and "uninterruptible" not in done.out)
    try:
        until("rank 2 is odd", parted, BEGUN)
    except AssertionError as late:
        raise AssertionError("%s\n%s\n%s" % (late, job.said(), merged(job))) from None
    return merged(job).out


def line_of(source, text):
    (number,) = [n for n, line in enumerate(in_targets(source).read_text().splitlines(), 1)
                 if line.strip() == text]
    return number


def test_ranks(parted):
    job, out = parted
    first, second = out.splitlines()[:2]
    source, call = ("ray_job.py", "self.load()") if isinstance(job, launchers.Ray) else (
        "launched.py", "load()")
    assert re.match(r"rank 2: in \S+ \(threading.py:\d+\)", first), out
    assert "train (%s:%d)" % (in_targets(source), line_of(source, call)) in first, out
    assert re.match(r"    ranks 0,1,3: in \S+ \(.*asleep in ", second), out

    found, pids = listed(job)
    ranks = {("rank", rank) for rank in range(launchers.RANKS)}
    assert (found["kind"], found["world_size"], found["missing"], found["elsewhere"],
            found["left_over"]) == (job.kind, 4, [], [], []), found
    assert ranks <= set(pids) and not any(role == "left over" for role, _ in pids), pids
    if not isinstance(job, launchers.Ray):
        assert ("child", 0) in pids and ("child", 1) not in pids, pids


def test_what_never_comes(parted):
    """The others are in a collective of torch, or each waits for a lock of its own; then the one that is
    at another line than the rest is named. Ray's ranks have other threads."""
    job, _ = parted
    said = named_first("a rank of %s" % job.name, ["--job", job.name],
                       "condition" if isinstance(job, launchers.Ray) else "nobody-left", None,
                       "^rank 2 waits (in Condition.wait|for an Event)")
    assert said["odd"] == [2], said
    waits = "; ranks 0,1,3 wait for it in all_reduce"
    assert said["summary"].endswith(waits) == (job.waits == "gloo"), said


@pytest.mark.parametrize("launcher", launchers.ALL, ids=lambda one: one.name)
def test_one_has_ended(launch, launcher):
    """With 0, so that the launcher lets the others be."""
    job = launch(launcher, "plain")
    until_parted(job)
    os.kill(listed(job)[1]["rank", 2], signal.SIGUSR1)
    until("rank 2 is missing", lambda: listed(job)[0]["missing"] == [2])
    out = merged(job).out
    assert out.startswith("rank 2 is missing: 4 were to be here, 3 are"), out
    assert "[0,1,3] 3 ranks" in out, out


@pytest.mark.parametrize("launcher", [launchers.OpenMpi, launchers.Mpich],
                         ids=lambda one: one.name)
def test_in_a_barrier(launch, launcher):
    """Who waits in MPI_Barrier runs all the while."""
    out = until_parted(launch(launcher, launcher.library))
    first, second = out.splitlines()[:2]
    assert first.startswith("rank 2: in ") and "train (" in first, out
    assert second.startswith("    ranks 0,1,3: in reduce ("), out


def test_two_at_once(launch):
    """MPICH gives no name."""
    jobs = [launch(launchers.Mpich), launch(launchers.Mpich)]
    for job in jobs:
        until_parted(job)
        found, pids = listed(job)
        assert (found["ranks"], found["left_over"]) == ([0, 1, 2, 3], []), found
    assert not set(listed(jobs[0])[1].values()) & set(listed(jobs[1])[1].values())


def test_two_containers(launch):
    """Each meets at its own 127.0.0.1:29500; we are outside."""
    jobs = [launch(launchers.Container), launch(launchers.Container)]
    for job in jobs:
        until_parted(job)
        found, _ = listed(job)
        assert (found["job"], found["ranks"]) == ("127.0.0.1:29500", [0, 1, 2, 3]), found
        assert (found["missing"], found["left_over"]) == ([], []), found
    pids = [set(listed(job)[1].values()) for job in jobs]
    assert not pids[0] & pids[1]
    done = hangdbg("dump", "--job", "127.0.0.1:29500", "--merge")
    done.assert_refused(2, "jobs are here", "--job ")


def test_by_the_interface_of_mpi(launch):
    """srun --mpi=pmi2 sets MPICH's variables, too."""
    job = launch(launchers.Slurm, "plain", ["--mpi=pmi2"])
    until_parted(job)
    assert listed(job)[0]["kind"] == "Slurm"


def test_a_batch_job_is_no_rank(launch):
    """Its script has the number 0 of Slurm's; the steps that it runs have ranks."""
    job = launch(launchers.SlurmBatch)
    until_parted(job)
    found, pids = listed(job)
    assert (found["ranks"], found["elsewhere"]) == ([0, 1, 2, 3], []), found
    script = int((job.folder / "script").read_text())
    (one,) = [one for one in hangdbg("ps", "--json").json()["processes"] if one["pid"] == script]
    assert (one["rank"], one["job"]) == (None, None), one


def test_torchrun_below_srun(launch):
    """Slurm's tasks are the torchruns, which are no ranks."""
    job = launch(launchers.SlurmTorchrun)
    until_parted(job)
    found, pids = listed(job)
    assert (found["kind"], found["ranks"], found["missing"], found["left_over"]) == (
        "torch", [0, 1, 2, 3], [], []), found
    everything = hangdbg("ps", "--json").json()["jobs"]
    assert job.job + ".0" not in [one["job"] for one in everything], everything
    os.kill(pids["rank", 2], signal.SIGUSR1)
    until("rank 2 is missing", lambda: listed(job)[0]["missing"] == [2])
