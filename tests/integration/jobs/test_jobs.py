"""Which processes are ranks of which job, told by their environment, live or stale; and
one question to all of them."""

import itertools
import os
import signal
import subprocess
import time

import pytest

import processes
from harness import (PROGRAM, Target, die_with_us, hangdbg, in_targets, outcome, start,
                     start_hangdbg, track, until)

_ports = itertools.count(20000 + os.getpid() * 97 % 20000)  # workers are numbered in a row


def ranks_of(world, python, here=None, target="lock_main", **more):
    """A job's name and, by rank, those of its targets that are here."""
    port = next(_ports)
    started = {rank: start(target, python, env=dict(
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
    target = Target([python, in_targets("late_rank.py"), "RANK=2", "WORLD_SIZE=3",
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
    os.kill(child, signal.SIGSTOP)
    until("it is stopped", lambda: processes.state(child, child) == "T")
    out = hangdbg("dump", "--job", child, "--children", "--merge").out
    assert "rank 1: its child %d is stopped" % child in out, out
    os.kill(child, signal.SIGCONT)


@pytest.mark.parametrize("words, reason", [
    (("--job", "nowhere:1"), "no job here is called nowhere:1"),
    (("--ranks", "1-"), "no set of ranks: 1-"), (("--job", "auto", "1"), "a PID and --job cannot be combined"),
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


def test_in_which_c_functions_they_are(newest_python):
    """All are at one line of Python; below it they part in C."""
    name, ranks = ranks_of(4, newest_python, target="native_parted")
    plain = hangdbg("dump", "--job", name, "--merge").out
    assert "[0-3] 4 ranks" in plain and "[2]" not in plain, plain
    done = hangdbg("dump", "--job", name, "--merge", "--native")
    first, second = done.out.splitlines()[:2]
    assert first.startswith("rank 2: in ") and "pause" in first, done
    assert second.startswith("    ranks 0,1,3: in ") and "pause" not in second, done
    together, _, apart = done.out.partition("\n    wait (")
    assert "[0-3] 4 ranks" in together and "[2]" not in together, done
    assert "pause" in apart.partition("[2] 1 rank\n")[2], done


def test_in_what_they_differ(readable_edge_python):
    """Where they part, the step of one is another."""
    name, ranks = ranks_of(4, readable_edge_python, target="parted")
    done = hangdbg("dump", "--job", name, "--merge", "--locals")
    first, second, third, fourth, fifth = done.out.splitlines()[:5]
    assert first.startswith("rank 2: in load (") and "by way of train (" in first, done
    assert second.startswith("    ranks 0,1,3: in reduce ("), done
    assert third.startswith("they differ in train ("), done
    assert (fourth, fifth) == ("    step = 12 [0,1,3], 11 [2]", "[0-3] 4 ranks"), done
    differences = hangdbg("dump", "--job", name, "--merge", "-l", "--json").json()["differences"]
    assert differences["locals"] == {"step": [
        {"repr": "12", "ranks": [0, 1, 3], "pids": None},
        {"repr": "11", "ranks": [2], "pids": None}]}, differences
    end_normally(ranks)


# ---- one question to all

HOST = os.uname().nodename
OWN_RANK = "int(__import__('os').environ['RANK'])"


def end_normally(ranks, before=None):
    for rank, target in ranks.items():
        if before:
            target.assert_as_before(before[rank])
        target.finish()


def test_eval(edge_python):
    """Equal answers are one line; what each has printed is with it."""
    name, ranks = ranks_of(3, edge_python)
    before = {rank: target.snapshot() for rank, target in ranks.items()}
    done = hangdbg("eval", "--job", name, "answer")
    assert (done.rc, done.out) == (0, "[%s:0-2] 41\n" % HOST), done
    done = hangdbg("eval", "--job", name, "--ranks", "!0", "print(%s)" % OWN_RANK)
    assert done.out == "[%s:1] 1\n[%s:1] None\n[%s:2] 2\n[%s:2] None\n" % ((HOST,) * 4), done
    done = hangdbg("eval", "--job", name, "--json", "1 // (%s - 1)" % OWN_RANK)
    assert done.rc == 1, done
    answers = done.json()["answers"]
    assert [(one["rank"], one["pid"], one["repr"]) for one in answers] == [
        (0, ranks[0].pid, "-1"), (1, ranks[1].pid, None), (2, ranks[2].pid, "1")], answers
    assert answers[1]["error"]["type"] == "ZeroDivisionError"
    end_normally(ranks, before)


def test_the_same_function_in_each(newest_python):
    """By its name, since the ranks are elsewhere."""
    name, ranks = ranks_of(2, newest_python)
    for function in ("wait_for_lock", "own"):
        done = hangdbg("peek", "--job", name, "answer", "--frame", function)
        assert (done.rc, done.out) == (0, "[%s:0,1] 41\n" % HOST), done
    done = hangdbg("peek", "--job", name, "answer", "--frame", "nowhere")
    assert done.rc == 2 and done.err.count("has no frame in function nowhere") == 2, done
    hangdbg("peek", "--job", name, "answer", "--frame=-1").assert_refused(2, "neither a frame number")
    end_normally(ranks)


def test_one_does_not_answer(newest_python):
    """A rank that is stopped, and one that dies of the question: the others answer."""
    name, ranks = ranks_of(4, newest_python)
    os.kill(ranks[1].pid, signal.SIGSTOP)
    until("it is stopped", lambda: processes.state(ranks[1].pid, ranks[1].pid) == "T")
    done = hangdbg("eval", "--job", name, "--timeout", "2", "__import__('os').kill("
                   "__import__('os').getpid(), 9 * (%s == 2))" % OWN_RANK)
    assert (done.rc, done.out) == (1, "[%s:0,3] None\n" % HOST), done
    assert "[%s:1] " % HOST in done.err and "kill -CONT" in done.err, done
    assert "[%s:2] " % HOST in done.err and "SIGKILL" in done.err, done
    ranks.pop(2)
    os.kill(ranks[1].pid, signal.SIGCONT)
    end_normally(ranks)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_we_are_ended_in_the_middle(number, newest_python):
    """Ctrl-C ends what runs in each rank; our death leaves nothing in any."""
    name, ranks = ranks_of(3, newest_python)
    before = {rank: target.snapshot() for rank, target in ranks.items()}
    begun = time.monotonic()
    run = start_hangdbg("eval", "--job", name, "--timeout", "60",
                        "[__import__('time').sleep(0.01) for _ in range(6000)]")
    for target in ranks.values():
        until("it runs there", lambda: "hangdbg-exec" in processes.threads(
            target.pid).values())
    os.kill(run.pid, number)
    done = outcome(run)
    assert done.rc == (130 if number == signal.SIGINT else -signal.SIGKILL), done
    for target in ranks.values():
        until("nothing is left", lambda: not processes.debugger_threads(target.pid))
    assert time.monotonic() - begun < 20
    for rank, target in ranks.items():
        target.assert_as_before(before[rank], arenas=3)  # one of who cancels
    end_normally(ranks)


def test_attach_to_each(newest_python):
    name, ranks = ranks_of(2, newest_python)
    done = hangdbg("attach", "--job", name, "-c", "p answer + 1", "-c", "w")
    assert done.rc == 0, done
    for rank in ranks:
        assert "[%s:%d] 42\n" % (HOST, rank) in done.out, done
    end_normally(ranks)


def test_commands_go_on_in_another_rank(newest_python):
    """Each once; a rank that is not here ends them."""
    name, ranks = ranks_of(2, newest_python)
    done = hangdbg("attach", "--job", name, "--ranks", "0", "-c", "p 'in', " + OWN_RANK,
                   "-c", "rank 1", "-c", "p 'in', " + OWN_RANK, "-c", "rank 0", "-c", "p 6 * 7")
    assert done.rc == 0 and done.out.count("('in', 0)") == 1, done
    assert done.out.count("('in', 1)") == 1 and done.out.endswith("42\n"), done
    end_normally(ranks)


def test_from_rank_to_rank(newest_python):
    """What is held or set in one stays while the prompt is in another."""
    name, ranks = ranks_of(3, newest_python)
    lines = ["ranks", "p answer", "hold", "rank 2", "p " + OWN_RANK, "rank 0", "h rank",
             "p 'held', __import__('threading').get_native_id()", "rank 7", "rank x",
             "release", "q"]
    done = subprocess.run([PROGRAM, "attach", "--job", name], text=True, timeout=60,
                          input="".join(line + "\n" for line in lines), capture_output=True)
    assert done.returncode == 0, done
    assert "rank 0 of job %s (torch, 3 ranks)" % name in done.stderr, done
    assert done.stdout.count("wait_for_lock") >= 6, done
    assert "\n41\n" in done.stdout and "\n2\n" in done.stdout, done
    assert "('held', %d)" % ranks[0].pid in done.stdout, done
    assert "rank 7 is not here" in done.stderr and "rank needs" in done.stderr, done
    end_normally(ranks)
