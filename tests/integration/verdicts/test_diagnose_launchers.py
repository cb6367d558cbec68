"""hangdbg diagnose of jobs that mpirun, mpiexec, srun and others have started: the rank that
hangs on something of its own is named first, whether the others wait for it in MPI, in a
collective of torch, or in what nobody knows; and those that wait for each other in MPI."""

import contextlib
import fcntl
import json
import os
import re
import sys
from pathlib import Path

import pytest

import launchers
from diagnosed import AFTER, diagnosed, keep, named_first, not_hung
from harness import PROGRAM, behind, hangdbg, in_targets, kill_group, start_hangdbg, until
from test_launchers import BEGUN, launch, listed, merged
from test_namespaces import needs_root
from test_seccomp import ALLOW, EPERM

pytestmark = pytest.mark.slow

MPI = (launchers.OpenMpi, launchers.Mpich)
LAUNCHERS = (*MPI, launchers.Slurm)

# way: its cause, how sure, the rank's own part of the sentence
ODD = {
    "reads": ("writer-gone", "likely", "waits for a pipe that nobody writes into any more"),
    "locks": ("file-lock", "certain", r"waits for the lock on \S+/lock, held by process \d+ .*"),
    "stops": ("stopped", "certain", "is stopped, by SIGSTOP"),
}


def by_name(one):
    return one.name if isinstance(one, type) else one


@pytest.fixture
def begin(launch, tmp_path, monkeypatch):
    """A job whose ranks wait for rank 2, which goes that way; the lock is ours."""
    held = open(tmp_path / "lock", "w")
    fcntl.flock(held, fcntl.LOCK_EX)

    def one(launcher, waits, way):
        monkeypatch.setenv("HANGDBG_TEST_LOADS", "%s %s" % (way, held.name))
        job = launch(launcher, waits)
        until_met(job)
        return job
    yield one
    held.close()


def until_met(job):
    """Rank 2 is on its way, and the others wait for it."""
    def met():
        out = merged(job).out
        return (re.search(r"^rank 2: in .* train .*\n    ranks 0,1,3: in ", out, re.M)
                and "uninterruptible" not in out)
    until("the others wait for rank 2", met, BEGUN)


def named_by(job):
    """By its launcher's PID; srun is not above the ranks that it has started."""
    return ["--job", job.name if isinstance(job, launchers.Slurm) else job.pid]


def odd_one_first(job, way, after=""):
    cause, sure, does = ODD[way]
    said = named_first("a rank of %s %s" % (job.kind, way), named_by(job), cause, sure,
                       "^rank 2 %s.*%s$" % (does, after))
    assert (said["odd"], said["missing"], said["kind"]) == ([2], [], job.kind), said
    assert [one["ranks"] for one in said["alike"]] == [[2], [0, 1, 3]], said
    return said


@pytest.mark.parametrize("way", sorted(ODD))
@pytest.mark.parametrize("launcher", MPI, ids=by_name)
def test_in_a_barrier_of_mpi(begin, launcher, way):
    job = begin(launcher, launcher.library, way)
    odd_one_first(job, way, "; ranks 0,1,3 wait for it in MPI_Barrier")


@pytest.mark.parametrize("launcher, way", list(zip(LAUNCHERS, ODD)), ids=by_name)
def test_in_a_collective_of_torch(begin, launcher, way):
    """They have met by the numbers that the launcher gave them."""
    job = begin(launcher, "tcp://127.0.0.1:" + launchers.free_port(), way)
    said = odd_one_first(job, way, "; ranks 0,1,3 wait for it in all_reduce")
    assert [bool(one["call"]) for one in said["ranks"]] == [True, True, False, True], said


@pytest.mark.parametrize("launcher", MPI, ids=by_name)
def test_who_rests_hangs_a_barrier_and_who_works_does_not(begin, launcher):
    job = begin(launcher, launcher.library, "sleeps")
    said = named_first("a rank of %s sleeps" % job.kind, named_by(job), "sleeps", "certain",
                       "^rank 2 sleeps for a fixed time; ranks 0,1,3 wait for it in MPI_Barrier$")
    assert said["odd"] == [2], said
    kill_group(job.process)
    job = begin(launcher, launcher.library, "works")
    said = not_hung("a rank of %s works" % job.kind, named_by(job))
    assert said["odd"] == [2], said


@pytest.mark.parametrize("launcher", MPI, ids=by_name)
def test_who_meets_again_and_again_is_well(launch, launcher, monkeypatch):
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "meets")
    job = launch(launcher, launcher.library)

    def meet():
        ranks = diagnosed(named_by(job))["ranks"] if listed(job)[0] else []
        return sum(one["call"] == "MPI_Barrier" for one in ranks) > 1
    until("they meet", meet, BEGUN)
    not_hung("ranks of %s meet" % job.kind, named_by(job))
    not_hung("a rank of %s meets others" % job.kind, listed(job)[1]["rank", 0])


@pytest.mark.parametrize("launcher", MPI, ids=by_name)
def test_in_a_message_of_mpi(begin, launcher, monkeypatch):
    """From whom it is to come cannot be seen; rank 2 alone is elsewhere."""
    monkeypatch.setenv("HANGDBG_TEST_CALLS", "MPI_Recv")
    job = begin(launcher, launcher.library, "reads")
    odd_one_first(job, "reads", "; ranks 0,1,3 wait for it in MPI_Recv")
    said = named_first("another one of them", listed(job)[1]["rank", 0], "writer-gone", "likely",
                       ODD["reads"][2])
    assert said["chain"][0]["summary"] == (
        "waits in MPI_Recv for a message, perhaps of rank 2, which is in no call of MPI"), said


# how: its cause, the sentence
ALL_IN_MPI = {
    "receives": ("mpi-message", "all 4 ranks wait in MPI, and nobody is left to send what they "
                 "wait for: ranks 0-3 in MPI_Recv"),
    "parts": ("collective-mismatch", "rank 2 is in MPI_Bcast, ranks 0,1,3 in MPI_Barrier, in a group "
              "of MPI: they do not match, and wait for each other for ever"),
}


@pytest.mark.parametrize("how", sorted(ALL_IN_MPI))
@pytest.mark.parametrize("launcher", MPI, ids=by_name)
def test_who_waits_for_each_other_in_mpi(launch, launcher, how, monkeypatch):
    cause, sentence = ALL_IN_MPI[how]
    monkeypatch.setenv("HANGDBG_TEST_LOADS", how)
    job = launch(launcher, launcher.library)
    until_counted(job)
    said = named_first("all ranks of %s, where it %s" % (launcher.name, how), named_by(job), cause,
                       "likely", "^%s$" % re.escape(sentence))
    assert said["evidence"][-1] == (
        "none of them came back from it, and nothing moved on connections between them, in the "
        "%s s that they were watched" % AFTER), said


def test_it_is_killed_while_it_counts(launch, monkeypatch):
    """A thread has four breakpoints: none of them stays taken."""
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "receives")
    job = launch(launchers.OpenMpi, launchers.OpenMpi.library)
    until_counted(job)
    for _ in range(6):
        diagnosis = start_hangdbg("diagnose", *named_by(job))
        until("it counts", lambda: counters_of(diagnosis.pid) == launchers.RANKS)
        diagnosis.kill()
        diagnosis.wait()
    named_first("all ranks, after six were killed", named_by(job), "mpi-message", "likely",
                "nobody is left to send what they wait for")


def counters_of(pid):
    count = 0
    for fd in Path("/proc/%d/fd" % pid).iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            count += os.readlink(fd) == "anon_inode:[perf_event]"
    return count


def test_where_nothing_counts_how_often_they_come_back(launch, monkeypatch):
    """As in a container: it cannot be told from ranks that go on, and that is said."""
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "receives")
    job = launch(launchers.OpenMpi, launchers.OpenMpi.library)
    until_in_mpi(job)
    filtered = behind(sys.executable, in_targets("seccomp_filter.py"), json.dumps(
        {"default": ALLOW, "rules": {"perf_event_open": EPERM}}), PROGRAM)

    def told():
        done = filtered("diagnose", *named_by(job), "--json", "--hung-after", AFTER)
        assert done.rc == 0 and done.err == "", done
        said = done.json()
        assert (said["stalled"], said["cause"], said["confidence"], said["summary"]) == (
            False, "mpi-message", "possible",
            "all 4 ranks wait in MPI: ranks 0-3 in MPI_Recv"), said
        return any(re.fullmatch(r"whether they come back was not counted: perf_event_open of a "
                                r"breakpoint: Operation not permitted", one)
                   for one in said["evidence"])
    until("it is said why", told)


@pytest.mark.parametrize("size, after", [(1, AFTER), (10_000, AFTER), (50_000_000, "10")])
@pytest.mark.parametrize("launcher", MPI, ids=by_name)
def test_who_exchanges_messages_is_well(launch, launcher, size, after, monkeypatch):
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "exchanges %d" % size)
    job = launch(launcher, launcher.library)
    until_counted(job)
    not_hung("ranks of %s exchange %d bytes" % (launcher.name, size), named_by(job),
             ask=lambda chosen: diagnosed(chosen, after=after))
    said = until("they are seen in MPI", lambda: next((
        one for one in [diagnosed(named_by(job), after=after)] if one["ranks"][0]["call"]), None))
    assert said["cause"] == "runs", said


@pytest.mark.parametrize("launcher", MPI, ids=by_name)
def test_who_computes_between_two_messages_is_well(launch, launcher, monkeypatch):
    """They meet at the moment of a look, and then all compute for longer than counts."""
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "phases 1")
    job = launch(launcher, launcher.library)
    until("they are seen in MPI", lambda: listed(job)[0] and any(
        one["call"] for one in diagnosed(named_by(job))["ranks"]), BEGUN)
    not_hung("ranks of %s compute between two messages" % launcher.name, named_by(job), looks=20)


@pytest.mark.parametrize("launcher", MPI, ids=by_name)
def test_who_works_may_be_the_one_that_sends(launch, launcher, monkeypatch):
    """However long another one rests."""
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "awaits")
    job = launch(launcher, launcher.library)

    def all_there():
        ranks = diagnosed(named_by(job))["ranks"] if listed(job)[0] else []
        first = [one["diagnosis"]["chain"][0] for one in ranks]
        return [one["cause"] for one in first] == [
            "mpi-message", "runs", "sleeps", "mpi-message"] and (first[2]["waiting_s"] or 0) > float(AFTER)
    until("all are where they are to be", all_there, BEGUN)
    not_hung("ranks of %s wait for one that works, and one rests" % launcher.name, named_by(job))


class WithOthers(launchers.OpenMpi):
    """Rank 0 is Python, the others are not, and of MPI all the same."""

    def command(self):
        words = super().command()
        return [*words[:-2], 1, words[-1]]

    def program(self):
        return [*super().program(), ":", "-n", 3, "-x", "LD_PRELOAD=" + self.library,
                "sleep", 1000]


def test_ranks_that_are_no_python_have_not_ended(launch):
    job = launch(WithOthers, WithOthers.library)

    def seen():
        return listed(job)[0] and diagnosed(named_by(job))["ranks"][0]["call"] == "MPI_Init"
    until("rank 0 is in MPI_Init", seen, BEGUN)
    said = not_hung("one of a job's programs is Python", named_by(job))
    assert (said["missing"], said["odd"]) == ([], []), said


def until_counted(job):
    """All are in MPI, and how often they come back can be counted here."""
    until_in_mpi(job)
    for said in diagnosed(named_by(job))["evidence"]:
        if "not counted" in said:
            pytest.skip(said)


def until_in_mpi(job):
    def all_there():
        ranks = diagnosed(named_by(job))["ranks"] if listed(job)[0] else []
        calls = [one["call"] or "" for one in ranks]
        return len(calls) == launchers.RANKS and all(call.startswith("MPI_") for call in calls)
    until("all are in MPI", all_there, BEGUN)


@pytest.mark.parametrize("way", ["reads", "stops"])
@pytest.mark.parametrize("launcher", LAUNCHERS, ids=by_name)
def test_in_what_nobody_knows(begin, launcher, way):
    """All of them hang then; the one that is elsewhere is why."""
    said = odd_one_first(begin(launcher, "plain", way), way)
    assert all(one["diagnosis"]["stalled"] for one in said["ranks"]), said


def test_what_most_do(begin):
    """Nothing that is to be seen can let these go on; a lock may be given back."""
    job = begin(launchers.OpenMpi, "plain", "locks")
    said = named_first("three at what can never come", named_by(job), "nobody-left", "likely",
                       "^each of ranks 0,1,3 waits in Condition.wait")
    assert said["odd"] == [0, 1, 3], said


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=by_name)
def test_all_compute(launch, launcher, monkeypatch):
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "computes")
    job = launch(launcher)

    def at_work():
        ranks = diagnosed(named_by(job))["ranks"] if listed(job)[0] else []
        return [one["diagnosis"]["cause"] for one in ranks] == ["runs"] * launchers.RANKS
    until("all compute", at_work, BEGUN)
    said = not_hung("ranks of %s compute" % launcher.name, named_by(job))
    assert (said["cause"], said["odd"]) == ("runs", []), said


class Alone(launchers.OpenMpi):
    """No other process is to be seen there, and so no other job."""

    def command(self):
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                *super().command()]


def inside(job):
    return behind("nsenter", "-t", listed(job)[1]["rank", 0], "--mount", "--pid", PROGRAM)


@needs_root
def test_in_a_line_below_the_table(launch, monkeypatch):
    """Where each of its ranks, by itself, runs."""
    monkeypatch.setenv("HANGDBG_TEST_LOADS", "receives")
    job = launch(Alone, Alone.library)
    until_counted(job)
    line = "^job .* ranks\\) hangs: %s \\(likely\\)$" % ALL_IN_MPI["receives"][1]
    until("hangdbg alone says why", lambda: re.search(line, inside(job)().err, re.M))


@needs_root
def test_the_only_job_there(begin):
    job = begin(Alone, Alone.library, "reads")
    done = inside(job)("diagnose", "--job", "auto", "--json", "--hung-after", AFTER)
    assert done.rc == 0 and done.err == "", done
    said = done.json()
    keep("the only job there", "writer-gone", said)
    assert (said["stalled"], said["cause"], said["odd"]) == (True, "writer-gone", [2]), said


@pytest.mark.parametrize("launcher", MPI, ids=by_name)
def test_the_pid_of_mpirun_means_the_job(begin, launcher):
    """MPICH's has started another, which has started the ranks."""
    job = begin(launcher, launcher.library, "stops")
    out = hangdbg("diagnose", job.pid).out
    assert out.startswith("job ") and " hangs: rank 2 is stopped, by SIGSTOP" in out, out
