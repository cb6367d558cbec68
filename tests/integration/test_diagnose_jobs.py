"""hangdbg diagnose of jobs of the real torch: the rank that the others wait for is named first,
with its own cause; and of a job that is only slow none is said to hang."""

import os
import re
import signal
import socket
import subprocess

import pytest

import processes
import torches
from harness import TARGETS, die_with_us, hangdbg, track, until

TORCHES = [pytest.param(path, id=version, marks=pytest.mark.slow)
           for version, path in torches.found()][-1:] or [
    pytest.param(None, marks=pytest.mark.skip(reason="no Python here has torch"))]
IMPORT = 90  # seconds: three times torch, on two CPUs
AFTER = "0.5"  # seconds after which a wait counts as a hang here
SOURCE = TARGETS / "causes_jobs.py"


@pytest.fixture(params=TORCHES, scope="module")
def torch_python(request):
    return request.param


class Job:
    """Ranks of causes_jobs.py, started by a script or by torchrun. `pid`: who has started them."""

    def __init__(self, python, folder, *turns, ranks=3, torchrun=False):
        self.folder, self.turns, self.ranks, self.number = folder, turns, ranks, -1
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        begin = [python, TARGETS / "launches_ranks.py", ranks, self.port]
        if torchrun:
            begin = [*torches.torchrun(python, ranks), "--master_port=" + self.port]
        self.process = track(subprocess.Popen(
            [str(word) for word in (*begin, SOURCE, folder, *turns)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=open(folder / "log", "w"),
            start_new_session=True, preexec_fn=die_with_us,
            env=dict(os.environ, OMP_NUM_THREADS="1")))
        self.pid = self.process.pid

    def met(self):
        until("all have met", lambda: all((self.folder / ("ready-%d" % rank)).exists()
                                          for rank in range(self.ranks)), IMPORT)
        return self

    def begin_turn(self):
        self.number += 1
        (self.folder / ("go-%d" % self.number)).touch()
        return self.turns[self.number]

    def turn_is_over(self):
        def done():
            return all((self.folder / ("done-%d-%d" % (self.number, rank))).exists()
                       for rank in range(self.ranks))
        until("all have gone on after %s" % self.turns[self.number], done, IMPORT)

    def diagnosed(self, *words):
        done = hangdbg("diagnose", "--job", self.pid, "--json", "--hung-after", AFTER, *words)
        assert done.rc == 0 and done.err == "", done
        return done.json()

    def until_said(self, cause, sentence):
        said = []

        def told():
            said[:] = [self.diagnosed()]
            return (said[0]["hung"] and said[0]["cause"] == cause
                    and re.search(sentence, said[0]["sentence"]))
        try:
            until(cause, told, IMPORT)
        except AssertionError:
            raise AssertionError("%s is said to be %s\n%s" % (
                self.turns[self.number], said, (self.folder / "log").read_text())) from None
        return said[0]

    def pids(self):
        """By rank."""
        listed = hangdbg("ps", "--job", self.pid, "--json").json()["processes"]
        return {one["rank"]: one["pid"] for one in listed if one["role"] == "rank"}


# way: its cause, how sure, the rank's own part of the sentence
ODD = {
    "baton": ("stale-lock-file", ("certain", "likely"), r"waits until the lock file .*/lock-0 is gone"),
    "stop": ("stopped", ("certain",), "is stopped, by SIGSTOP"),
    "input": ("terminal-input", ("certain",), "waits for input from its standard input"),
    "sleep": ("sleeps", ("certain",), "sleeps, for a time that it has chosen"),
    "busy": ("busy-loop", ("likely",), "goes round in a loop in which nothing changes"),
    "polls": ("polls", ("possible",), r"comes back to causes_jobs\.py:\d+ in polls"),
    "store": ("store-wait", ("likely", "certain"), "waits in the store"),
}


def test_the_odd_rank_is_named_first(torch_python, tmp_path):
    """And what is advised lets the job go on."""
    os.mkfifo(tmp_path / ("key-%d" % list(ODD).index("store")))
    job = Job(torch_python, tmp_path, *ODD).met()
    remedies = {
        "baton": lambda said: subprocess.run(said["next"][0]["command"], shell=True, check=True),
        "stop": lambda said: subprocess.run(said["next"][0]["command"], shell=True, check=True),
        "input": lambda said: (job.process.stdin.write(b"\n"), job.process.stdin.flush()),
        "sleep": lambda said: os.kill(job.pids()[2], signal.SIGUSR1),
        "busy": lambda said: os.kill(job.pids()[2], signal.SIGUSR1),
        "polls": lambda said: (tmp_path / ("file-%d" % job.number)).touch(),
        "store": lambda said: (tmp_path / ("key-%d" % job.number)).write_text(""),
    }
    for _ in ODD:
        way = job.begin_turn()
        if way == "baton":
            (tmp_path / "lock-0").touch()
        cause, sure, does = ODD[way]
        said = job.until_said(cause, "^rank 2 %s" % does)
        assert said["sentence"].endswith("; ranks 0,1 wait for it in all_reduce"), said
        assert (said["odd"], said["missing"]) == ([2], []), said
        assert said["confidence"] in sure and said["evidence"], said
        assert [one["ranks"] for one in said["alike"]] == [[2], [0, 1]], said
        assert [one["diagnosis"]["cause"] for one in said["ranks"][:2]] == ["collective"] * 2
        remedies[way](said)
        job.turn_is_over()
    assert job.process.wait(IMPORT) == 0
