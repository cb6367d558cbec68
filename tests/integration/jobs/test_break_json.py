"""hangdbg break --json: what happens as it happens, an object a line on stdout."""

import json
import os
import shutil
import subprocess

import pytest

from harness import PROGRAM, hangdbg, track, until
from torch_job import (  # noqa: F401
    FOR_EVER, IMPORT, LINE, PLACE, SOURCE, Job, any_torch_python, running_job, running_jobs,
    torch_python)

pytestmark = pytest.mark.slow


def events_of(done):
    """By kind, in order; each line is an object, the last says how it ended."""
    found = [json.loads(line) for line in done.out.splitlines()]
    assert found[-1] == {"event": "end", "code": done.rc}, done
    by_kind = {}
    for one in found:
        by_kind.setdefault(one.pop("event"), []).append(one)
    return by_kind


def test_stops_and_what_commands_print(running_job):
    job = running_job
    done = hangdbg("break", PLACE, "--job", job.pid, "--ranks", "1,3", "--hold-until", "all",
                   "-c", "p 'of', rank", "-c", "n", "-c", "p 1 / 0", "--for", "30", "--json")
    found = events_of(done)
    assert done.rc == 1, done
    (about,), (raised,), (set_on,) = (
        found["job"], found["timeouts raised"], found["breakpoint"])
    assert about["launcher"] == job.pid and about["ranks"] == [0, 1, 2, 3], about
    assert about["missing"] == about["findings"] == [], about
    assert raised == {"ranks": [0, 1, 2, 3], "groups": 1, "by_s": 60.0, "held_for_s": 30.0}
    assert set_on == {"place": PLACE, "ranks": [1, 3]}
    for stop, rank in zip(found["stop"], (1, 3)):
        pid = job.pid_of(rank)
        assert stop == {"rank": rank, "pid": pid, "thread": pid, "thread_name": "MainThread",
                        "file": str(SOURCE), "line": LINE, "function": "train"}
    assert len(found["stop"]) == 2
    said = {(one["rank"], one["command"]): one for one in found["output"]}
    assert len(said) == len(found["output"]) == 6
    for rank in (1, 3):
        first, step, failed = (
            said[rank, command] for command in ("p 'of', rank", "n", "p 1 / 0"))
        assert (first["code"], first["out"], first["err"]) == (0, "('of', %d)\n" % rank, "")
        assert step["code"] == 0 and "-> loss = " in step["out"], step
        assert failed["code"] == 1 and "ZeroDivisionError" in failed["err"], failed
    assert "timeouts of 1 process group raised" in done.err, done  # the same in words
    job.goes_on()


def test_log(running_job):
    job = running_job
    done = hangdbg("break", PLACE, "--job", job.pid, "--ranks", "!0", "--wait", 1,
                   "--log", "step {step} of {rank}", "--json")
    found = events_of(done)
    assert done.rc == 0 and set(found) == {"job", "breakpoint", "log", "end"}, done
    assert {one["rank"] for one in found["log"]} == {1, 2, 3}
    assert all(one["text"].startswith("step ")
               and one["text"].endswith(" of %d\n" % one["rank"]) for one in found["log"])


def test_as_it_happens(running_job):
    """A reader of the pipe need not wait for the end."""
    job = running_job
    with subprocess.Popen(
            [str(word) for word in (PROGRAM, "break", PLACE, "--job", job.pid, "--log", "x",
                                    "--json")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as client:
        kinds = []
        while not {"breakpoint", "log"} <= set(kinds):
            kinds.append(json.loads(client.stdout.readline())["event"])
        client.kill()
    assert kinds[0] == "job"
    job.goes_on()


def test_a_collective_that_began_before(torch_python, tmp_path):
    job = Job(torch_python, "once", tmp_path, FOR_EVER, 60)
    until("they wait", lambda: "in all_reduce" in hangdbg(
        "dump", "--job", job.pid, "--merge").out, IMPORT)
    client = track(subprocess.Popen(
        [str(word) for word in (PROGRAM, "break", PLACE, "--job", job.pid, "--ranks", "0",
                                "-c", "p step", "--json")],
        stdout=subprocess.PIPE, text=True))
    old = next(one for one in map(json.loads, client.stdout) if one["event"] == "old collective")
    assert (old["inside"], old["awaited"], old["group"], old["timeout_s"]) == (
        [0, 1, 3], [2], "group 0", 60.0), old
    job.may("go on")
    kinds = [json.loads(line)["event"] for line in client.stdout]
    assert client.wait() == 0 and "stop" in kinds and kinds[-1] == "end", kinds
    job.may("end")
    assert job.process.wait(IMPORT) == 0


def test_who_is_not_raised_and_that_nobody_came(running_job):
    job = running_job
    if shutil.which("strace") is None:
        pytest.skip("no strace here")
    tracer = track(subprocess.Popen(
        ["strace", "-f", "-o", os.devnull, "-e", "trace=none", "-p", str(job.pid_of(2))],
        stderr=subprocess.PIPE))
    tracer.stderr.readline()
    done = hangdbg("break", "no_such_function", "--job", job.pid, "--ranks", "0",
                   "--wait", "1", "-c", "w", "--json")
    tracer.terminate()
    found = events_of(done)
    (stays,), (raised,), (error,) = (
        found["timeouts stay"], found["timeouts raised"], found["error"])
    assert done.rc == 4 and error["error"]["type"] == "timed-out", done
    assert raised["ranks"] == [0, 1, 3] and raised["held_for_s"] == 10.0, raised
    assert stays["ranks"] == [2] and stays["why"], stays


@pytest.mark.parametrize("words", [[], ["--hold-until", "all"]])
def test_it_has_no_prompt(words):
    done = hangdbg("break", "a.py:1", *words, "--json")
    done.assert_refused_as_json(2, "it opens no prompt")
