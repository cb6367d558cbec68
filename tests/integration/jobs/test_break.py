"""hangdbg break: ranks of a real torch job stop, and the job survives it."""

import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import processes
import torches
from harness import PATIENCE, PROGRAM, die_with_us, hangdbg, track, until
from test_hold import ask
from torch_job import (  # noqa: F401
    FOR_EVER, IMPORT, LINE, PLACE, SOURCE, Job, any_torch_python, running_job, running_jobs,
    torch_python)

pytestmark = pytest.mark.slow

def break_at(job, *words):
    """A hangdbg with a prompt: its Popen, with pipes."""
    return track(subprocess.Popen(
        [str(word) for word in (PROGRAM, "break", PLACE, "--job", job.pid, *words)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True, preexec_fn=die_with_us))


def test_held_for_longer_than_the_timeout(torch_python, tmp_path):
    """A minute, where the job dies after 20 s in which one rank waits for another."""
    job = Job(torch_python, "plain", tmp_path, 600, 20).started()
    client = break_at(job, "--ranks", "1,3", "--hold-until", "1,3", "--for", 90)
    ask(client, "", "weight = weight - gradient")
    since = time.monotonic()
    assert ask(client, "ranks", "held").startswith("->    1 ")
    steps = {ask(client, "ranks %d p step" % rank, "] ").split("] ")[1] for rank in (1, 3)}
    assert len(steps) == 1, "they are in other rounds: %s" % steps
    assert job.timeout_of(0) == 20 + 2 * 90
    held = job.rounds()
    while time.monotonic() < since + 60:
        ask(client, "p 1 + 1", "2")
        time.sleep(1)
    assert job.rounds() == held
    for rank in (1, 3):
        assert processes.state(job.pid_of(rank), job.pid_of(rank)) == "S"
    client.stdin.write("ranks 1,3 n\n")
    ask(client, "", ":3] -> loss = float")
    ask(client, "ranks 1,3 p float(gradient[0]) > 0", ":3] True")
    client.stdin.close()
    assert client.wait(10) == 0
    job.goes_on()
    assert job.timeout_of(0) == job.timeout_of(3) == 20
    job.ends_right()


def attach(pid, *words):
    return track(subprocess.Popen(
        [str(word) for word in (PROGRAM, "attach", pid, *words)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True, preexec_fn=die_with_us))


def test_dies_of_a_debugger_that_raises_nothing(torch_python, tmp_path):
    """So the others of these tests could fail."""
    job = Job(torch_python, "plain", tmp_path, 2000, 4).started()
    client = attach(job.pid_of(1))
    ask(client, "b %s:%d" % (SOURCE, LINE), "Breakpoint 1")
    ask(client, "c", "weight = ")
    assert job.process.wait(60) != 0
    assert "Timed out" in (tmp_path / "log").read_text()


def test_from_the_prompt_of_one_rank(running_job):
    """Where ranks are to stop, the timeouts of all are raised by the prompt, too."""
    job = running_job
    client = attach(job.pid_of(1))
    client.stdin.write("ranks 1,3 b %s:%d\n" % (SOURCE, LINE))
    ask(client, "", ":3] Breakpoint 1")
    assert job.timeout_of(0) == 20 + 2 * 600
    ask(client, "c", "weight = ")
    ask(client, "p 'held', rank", "('held', 1)")
    client.stdin.close()
    assert client.wait(10) == 0
    job.goes_on()
    assert job.timeout_of(0) == 20


def test_commands_in_several(running_job):
    job = running_job
    done = hangdbg("break", PLACE, "--job", job.pid, "--ranks", "1,3", "--hold-until", "all",
                   "-c", "p step", "-c", "n")
    assert done.rc == 0, done
    assert re.search(r"timeouts of 1 process group raised on rank 0-3 by", done.err), done
    steps = re.findall(r":(\d)\] (\d+)$", done.out, re.M)
    assert [rank for rank, _ in steps] == ["1", "3"] and len({n for _, n in steps}) == 1, done
    assert re.findall(r":(\d)\] -> loss = ", done.out) == ["1", "3"], done


def test_log(running_job):
    job = running_job
    done = hangdbg("break", PLACE, "--job", job.pid, "--ranks", "!0", "--wait", 1,
                   "--log", "step {step} of {rank}", "--if", "step % 2 == 0")
    assert done.rc == 0, done
    said = re.findall(r"^\[\S+:(\d)\] step (\d+) of (\d)$", done.out, re.M)
    assert len(said) == len(done.out.splitlines()) > 10, done
    assert {rank for rank, _, _ in said} == {"1", "2", "3"}
    assert all(rank == own and int(step) % 2 == 0 for rank, step, own in said), done
    assert job.timeout_of(1) == 20


@pytest.mark.parametrize("end", ["killed", "stopped", "asleep"])
def test_goes_on_without_us(running_job, end):
    """When the client is killed, at once; when it does nothing, or cannot, when the
    time is up."""
    job = running_job
    client = break_at(job, "--ranks", "1", "--for", 100 if end == "killed" else 4)
    ask(client, "p 'held', rank", "('held', 1)")
    held = job.rounds()
    if end == "killed":
        client.kill()
        client.wait()
        job.goes_on()
        until("timeouts are back", lambda: job.timeout_of(0) == job.timeout_of(1) == 20)
    else:
        if end == "stopped":
            os.kill(client.pid, signal.SIGSTOP)
        until("it goes on", lambda: job.rounds() > held, 8)
    job.goes_round()  # nobody stops again for one who may be asleep
    client.kill()
    client.wait()


def test_stops_of_one_round_share_the_time(torch_python, tmp_path):
    """The others have waited since the first of them."""
    job = Job(torch_python, "plain", tmp_path, 2000, 20).started()
    client = break_at(job, "--ranks", "1", "--for", 6)
    ask(client, "b %s:%d" % (SOURCE, LINE + 1), "Breakpoint 2")
    since, held = time.monotonic(), job.rounds()
    while time.monotonic() < since + 3:
        ask(client, "p 1 + 1", "2")
        time.sleep(0.2)
    ask(client, "c", "-> loss = ")
    ask(client, "cl", "Deleted breakpoint 2")
    until("it goes on", lambda: job.rounds() > held + 2, 12)
    assert 4 < time.monotonic() - since < 8.5  # alone it would have 6 more
    # When all have come out of what they waited in, there is all of it again.
    until("it loops", lambda: job.rounds() > held + 200)
    ask(client, "b %s:%d" % (SOURCE, LINE), "Breakpoint 3")
    ask(client, "c", "weight = ")
    since = time.monotonic()
    held = job.rounds()
    until("it goes on again", lambda: job.rounds() > held + 2, 9)
    assert 3.5 < time.monotonic() - since
    client.stdin.close()
    assert client.wait(10) == 0
    job.ends_right()


def test_a_collective_that_began_before(torch_python, tmp_path):
    """It is named, and nothing is set before it is over."""
    job = Job(torch_python, "once", tmp_path, FOR_EVER, 60)
    until("they wait", lambda: hangdbg("dump", "--job", job.pid, "--merge").out.count(
        "train (%s" % SOURCE) > 0 and "in all_reduce" in hangdbg(
            "dump", "--job", job.pid, "--merge").out, IMPORT)
    client = track(subprocess.Popen(
        [str(word) for word in (PROGRAM, "break", PLACE, "--job", job.pid, "--ranks", "0",
                                "-c", "p step")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    said = next(line for line in client.stderr if "it began with" in line)
    assert re.search(
        r"rank 0,1,3 waits in collective \d+ of group 0 for rank 2; it began with the "
        r"timeout of 60 s, \d\d\.\d s are left", said), said
    job.may("go on")
    out, err = client.stdout.read(), client.stderr.read()
    assert client.wait() == 0 and re.search(r"\] \d+$", out, re.M), (out, err)
    job.may("end")
    assert job.process.wait(IMPORT) == 0


def test_a_rank_that_cannot_be_asked(torch_python, tmp_path):
    """Its timeout stays, so nobody is held for longer than half of it."""
    job = Job(torch_python, "plain", tmp_path, 600, 8).started()
    if shutil.which("strace") is None:
        pytest.skip("no strace here")
    tracer = track(subprocess.Popen(
        ["strace", "-f", "-o", os.devnull, "-e", "trace=none", "-p", str(job.pid_of(2))],
        stderr=subprocess.PIPE))
    tracer.stderr.readline()
    client = break_at(job, "--ranks", "1", "--for", 60)
    ask(client, "p 'held', rank", "('held', 1)")
    held = job.rounds()
    until("it goes on", lambda: job.rounds() > held, 6)
    client.stdin.close()
    assert client.wait(10) == 0
    said = client.stderr.read()
    assert "timeout of 8 s stays: threads are held for 4 s at most" in said, said
    tracer.terminate()
    job.ends_right()


def test_a_torch_whose_timeouts_cannot_be_raised(any_torch_python, tmp_path):
    if not torches.keeps_timeouts(any_torch_python):
        pytest.skip("this torch's can be")
    job = Job(any_torch_python, "plain", tmp_path, 600, 8).started()
    client = break_at(job, "--ranks", "1", "--for", 60)
    ask(client, "p 'held', rank", "('held', 1)")
    held = job.rounds()
    until("it goes on", lambda: job.rounds() > held, 6)
    client.stdin.close()
    assert client.wait(10) == 0
    said = client.stderr.read()
    assert "rank 0-3: " in said and "keeps the timeout" in said, said
    assert "timeout of 8 s stays: threads are held for 4 s at most" in said, said
    assert job.timeout_of(0) == 8
    job.ends_right()


def test_who_waits_in_recv(torch_python, tmp_path):
    """Its timeout cannot be raised: the others go on before it is over."""
    job = Job(torch_python, "pairs", tmp_path, 200, 8).started()
    client = break_at(job, "--ranks", "1", "--for", 60)
    ask(client, "p 'held', rank", "('held', 1)")
    held = job.rounds(1)
    until("it goes on", lambda: job.rounds(1) > held, 8)
    client.stdin.close()
    assert client.wait(10) == 0
    assert "in recv, whose timeout of 8" in client.stderr.read()
    assert job.process.wait(IMPORT) == 0


@pytest.mark.parametrize("words, said", [
    (["train.py"], None),
    (["train.py:x"], "neither FILE:LINE nor a function: train.py:x"),
    (["train.py:0"], "neither FILE:LINE nor a function: train.py:0"),
    (["a.py:1", "--ranks", "x"], "no set of ranks"),
    (["a.py:1", "--for", "0"], "--for"),
    (["a.py:1", "--for", "nan"], "nan is not a number"),
    (["a.py:1", "--log", "x", "-c", "w"], "--log cannot be combined with -c"),
    ([], "PLACE"),
])
def test_what_is_wrong_is_said(words, said):
    done = hangdbg("break", *words, "--job", "no such job")
    assert done.rc == 2 and len(done.err.splitlines()) <= 3, done
    assert said is None or said in done.err, done
