"""Ranks that the real launchers have started: which they are, who is missing, whose
children there are, and that the odd one and its line are named first."""

import os
import re
import signal

import pytest

import launchers
from diagnosed import diagnosed, keep, not_hung
from harness import TARGETS, hangdbg, kill_group, until

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
    """What --merge says once rank 2 is the odd one, in its own code, and nothing is
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
    (number,) = [n for n, line in enumerate((TARGETS / source).read_text().splitlines(), 1)
                 if line.strip() == text]
    return number


@pytest.mark.parametrize("launcher", launchers.ALL, ids=lambda one: one.name)
def test_ranks(launch, launcher):
    job = launch(launcher)
    out = until_parted(job)
    first, second = out.splitlines()[:2]
    source, call = ("ray_job.py", "self.load()") if launcher is launchers.Ray else (
        "launched.py", "load()")
    assert re.match(r"rank 2: in \S+ \(threading.py:\d+\)", first), out
    assert "train (%s:%d)" % (TARGETS / source, line_of(source, call)) in first, out
    assert re.match(r"    ranks 0,1,3: in \S+ \(.*asleep in ", second), out

    found, pids = listed(job)
    ranks = {("rank", rank) for rank in range(launchers.RANKS)}
    assert (found["kind"], found["world_size"], found["missing"], found["elsewhere"],
            found["left_over"]) == (launcher.kind, 4, [], [], []), found
    assert ranks <= set(pids) and not any(role == "left over" for role, _ in pids), pids
    if launcher is not launchers.Ray:
        assert ("child", 0) in pids and ("child", 1) not in pids, pids


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


@pytest.mark.parametrize("launcher", launchers.ALL, ids=lambda one: one.name)
def test_the_odd_one_is_diagnosed(launch, launcher):
    """The others are in a collective where there is one; else each waits for itself, and the
    one that is at another line than the rest is named."""
    library = getattr(launcher, "library", None)
    job = launch(launcher, *[library] * (library is not None))
    until_parted(job)
    said = until("it hangs", lambda: hung(job))
    keep("a rank of %s" % launcher.name, "nobody-left", said)
    assert said["odd"] == [2], said
    assert said["sentence"].startswith("rank 2 waits in Event.wait"), said
    what = "MPI_Barrier" if library else launcher.waits == "gloo" and "all_reduce"
    if what:
        assert said["sentence"].endswith("; ranks 0,1,3 wait for it in " + what), said


@pytest.mark.parametrize("launcher", [launchers.OpenMpi, launchers.Mpich],
                         ids=lambda one: one.name)
def test_who_rests_hangs_a_barrier_and_who_works_does_not(launch, launcher, monkeypatch):
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "sleeps")
    job = launch(launcher, launcher.library)
    until_parted(job)
    said = until("it hangs", lambda: hung(job))
    keep("a rank of %s sleeps" % launcher.name, "sleeps", said)
    assert (said["cause"], said["odd"]) == ("sleeps", [2]), said
    assert said["sentence"].endswith("; ranks 0,1,3 wait for it in MPI_Barrier"), said
    kill_group(job.process)
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "works")
    job = launch(launcher, launcher.library)
    until_parted(job)
    said = not_hung("a rank of %s works" % launcher.name, ["--job", job.name])
    assert said["odd"] == [2], said


@pytest.mark.parametrize("launcher", [launchers.OpenMpi, launchers.Mpich],
                         ids=lambda one: one.name)
def test_who_meets_again_and_again_is_well(launch, launcher, monkeypatch):
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "meets")
    job = launch(launcher, launcher.library)

    def meets():
        ranks = diagnosed(["--job", job.name])["ranks"] if listed(job)[0] else []
        return sum(one["call"] == "MPI_Barrier" for one in ranks) > 1
    until("they meet", meets, BEGUN)
    not_hung("ranks of %s meet" % launcher.name, ["--job", job.name])
    not_hung("a rank of %s meets others" % launcher.name, listed(job)[1]["rank", 0])


def hung(job):
    done = hangdbg("diagnose", "--job", job.name, "--json", "--hung-after", "0.5")
    assert done.rc == 0 and done.err == "", done
    return done.json() if done.json()["hung"] else None


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
