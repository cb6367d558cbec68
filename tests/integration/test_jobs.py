"""Which processes are ranks of which job: told by their environment, live or stale."""

import itertools
import os
import subprocess

import pytest

from harness import TARGETS, Target, die_with_us, hangdbg, start, track

_ports = itertools.count(20000 + os.getpid() % 20000)


def ranks_of(world, python, here=None, **more):
    """A job's name and, by rank, those of its targets that are here."""
    port = next(_ports)
    started = {rank: start("lock_main", python, env=dict(
        {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world),
         "LOCAL_WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1",
         "MASTER_PORT": str(port)}, **more)) for rank in here or range(world)}
    return "127.0.0.1:%d" % port, started


def job_of(name, *words):
    done = hangdbg("ps", "--job", name, "--json", *words)
    assert done.rc == 0, done
    (job,) = done.json()["jobs"]
    return job, {one["pid"]: one for one in done.json()["processes"]}


def test_ps(newest_python):
    name, ranks = ranks_of(3, newest_python)
    job, listed = job_of(name)
    assert (job["kind"], job["world_size"], job["ranks"]) == ("torch", 3, [0, 1, 2])
    assert (job["missing"], job["launcher"]) == ([], os.getpid())
    for rank, target in ranks.items():
        one = listed[target.pid]
        assert (one["rank"], one["job"], one["role"]) == (rank, name, "rank")
    assert listed[os.getpid()]["role"] == "launcher"
    done = hangdbg("ps", "--job", name)
    assert "RANK" in done.out and name in done.out and "3 ranks" in done.err, done
    assert set(job_of(name, "--ranks", "1,2")[1]) == {ranks[1].pid, ranks[2].pid}


def test_a_missing_rank(newest_python):
    name, ranks = ranks_of(4, newest_python, here=[0, 1, 3])
    assert job_of(name)[0]["missing"] == [2]
    done = hangdbg("dump", "--job", name, "--merge")
    assert done.rc == 0 and done.out.startswith(
        "rank 2 is missing: 4 were to be here, 3 are"), done
    merged = hangdbg("dump", "--job", name, "--merge", "--json").json()
    assert [one["rank"] for one in merged["missing"]] == [2]
    assert hangdbg("dump", "--job", name, "--json").json()["missing"] == [2]
    done = hangdbg("dump", "--job", name, "--ranks", "1,2")
    assert done.rc == 1 and "rank 2 of job" in done.err and "rank 1 of 4" in done.out, done
    hangdbg("dump", "--job", name, "--ranks", "2").assert_refused(2, "is not here", "0,1,3")


def test_what_its_environment_says_now(python):
    """What it was started with is of another job."""
    port = next(_ports)
    target = Target([python, TARGETS / "late_rank.py", "RANK=2", "WORLD_SIZE=3",
                     "MASTER_ADDR=127.0.0.1", "MASTER_PORT=%d" % port],
                    env={"RANK": "0", "MASTER_ADDR": "stale", "MASTER_PORT": "1"})
    target.wait_hung()
    job, listed = job_of("127.0.0.1:%d" % port)
    assert job["ranks"] == [2] and listed[target.pid]["rank"] == 2
    (process,) = hangdbg("dump", target.pid, "--json").json()["processes"]
    assert (process["rank"], process["world_size"]) == (2, 3)
    assert "rank 2 of 3" in hangdbg("dump", target.pid).out
    target.finish()


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
input()
"""


def test_children_are_under_their_rank(newest_python):
    """They have its environment, and are not ranks."""
    port = next(_ports)
    parent = track(subprocess.Popen(
        [newest_python, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        start_new_session=True, preexec_fn=die_with_us, env=dict(
            os.environ, RANK="1", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(port))))
    child = int(parent.stdout.readline())
    job, listed = job_of("127.0.0.1:%d" % port)
    assert (job["ranks"], job["missing"]) == ([1], [0])
    assert [(pid, listed[pid]["role"], listed[pid]["rank"]) for pid in (parent.pid, child)] == [
        (parent.pid, "rank", 1), (child, "child", 1)]
    (process,) = hangdbg("dump", child, "--json").json()["processes"]
    assert process["child"] is True and process["rank"] == 1
    dumped = hangdbg("dump", "--job", child, "--children", "--json").json()["processes"]
    assert [one["pid"] for one in dumped] == [parent.pid, child]


@pytest.mark.parametrize("words, reason", [
    (("--job", "nowhere:1"), "no job here is called nowhere:1"),
    (("--ranks", "1-"), "no set of ranks: 1-"), (("--job", "auto", "1"), "either processes"),
])
def test_bad_input(words, reason):
    hangdbg("dump", *words).assert_refused(2, reason)


def test_by_any_of_its_processes(newest_python):
    name, ranks = ranks_of(2, newest_python)
    done = hangdbg("dump", "--job", ranks[1].pid, "--merge", "--json")
    assert done.json()["tree"]["ranks"] == [0, 1], done
    done = hangdbg("dump", "--job", name, "--ranks", "!0")
    lines = done.out.splitlines()
    assert done.rc == 0 and all(line.startswith("[%s:1] " % os.uname().nodename)
                                for line in lines), done
    assert "rank 1 of 2" in lines[0]
