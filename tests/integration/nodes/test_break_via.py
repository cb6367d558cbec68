"""break --via: ranks of two hosts stop, and the job survives it, whoever dies meanwhile."""

import json
import signal
import subprocess

import pytest

import processes
import torches
from harness import PROGRAM, hangdbg, in_targets, start_hangdbg, until
from sshd_hosts import Nodes
from torch_job import IMPORT, LINE, PLACE, TORCHES

TIMEOUT = 20  # seconds: of the job's process group
VIA = ("--job", "auto", "--via", "ssh:n[1-2]")
GROUPS_TIMEOUT = (
    "(lambda group: getattr(group, '_get_backend', lambda _: group)(torch.device('cpu')))"
    "(next(iter(dist.distributed_c10d._pg_map))).options._timeout.total_seconds()")


class JobOfTwoHosts:
    """A rank each, of torch_loop.py."""

    def __init__(self, nodes, python, folder):
        self.nodes, self.folder = nodes, folder
        folder.mkdir()
        for rank, name in enumerate(nodes.names):
            nodes.ssh(name, "cd /; OMP_NUM_THREADS=1 RANK=%d WORLD_SIZE=2 MASTER_ADDR=%s.1 "
                      "MASTER_PORT=29500 GLOO_SOCKET_IFNAME=eth0 %s %s plain %s 0 %d "
                      ">%s/log-%d 2>&1 </dev/null &" % (
                          rank, nodes.net, python, in_targets("torch_loop.py"), folder, TIMEOUT,
                          folder, rank))
        until("both run", lambda: all(self.rounds(rank) > 3 for rank in range(2)), IMPORT)

    def rounds(self, rank):
        path = self.folder / str(rank)
        return path.stat().st_size // 4 if path.exists() else 0

    def has_timeout(self, seconds):
        """Both ranks say so."""
        said = self.nodes.hangdbg("eval", GROUPS_TIMEOUT, "--frame", "train", *VIA)
        return said.out == "[n[1-2]:0,1] %.1f\n" % seconds

    def is_as_before(self):
        until("the timeouts are back", lambda: self.has_timeout(TIMEOUT))
        before = self.rounds(0), self.rounds(1)
        until("it goes on", lambda: all(
            self.rounds(rank) > before[rank] + 5 for rank in range(2)))


@pytest.fixture
def job(tmp_path):
    python = TORCHES[-1].values[0]
    if python is None or torches.keeps_timeouts(python):
        pytest.skip("needs a torch whose timeouts can be raised")
    nodes = Nodes(tmp_path, ("n1", "n2"))
    try:
        yield JobOfTwoHosts(nodes, python, tmp_path / "job")
    finally:
        nodes.down()


def test_the_job_survives_stops_on_both_hosts(job):
    nodes = job.nodes
    done = nodes.hangdbg("break", PLACE, "-c", "p 'of', rank", "-c",
                         "p __import__('time').sleep(2)", "--for", "30", *VIA)
    assert done.rc == 0, done
    # For each host, and once more.
    assert "timeouts of 1 process group raised on rank 0,1 by 90 s" in done.err, done
    for rank, name in enumerate(nodes.names):
        lines = [line for line in done.out.splitlines()
                 if line.startswith("[%s:%d] " % (name, rank))]
        assert any("weight = weight - gradient" in line for line in lines), done
        assert "[%s:%d] ('of', %d)" % (name, rank, rank) in lines, done
    job.is_as_before()

    # On the host that has the store it is seen who else has ranks.
    auto = nodes.ssh("n1", "PATH=%s %s eval rank --frame train --job auto --via auto" % (
        nodes.path, PROGRAM))
    assert "--via ssh:%s.[1-2] (connected to the store of job " % nodes.net in auto, auto
    assert "[%s.1:0] 0\n" % nodes.net in auto and "[%s.2:1] 1\n" % nodes.net in auto, auto
    elsewhere = nodes.ssh("n2", "%s ps --via auto 2>&1; true" % PROGRAM)
    assert "is on %s.1: only there is to be seen" % nodes.net in elsewhere, elsewhere

    # Their groups are seen beside each other.
    dist = nodes.hangdbg("dist", *VIA)
    assert "job %s.1:29500: 2 ranks on n[1-2]\n" % nodes.net in dist.out, dist
    assert "  group 0 (default) · gloo · 2 ranks: 0,1\n" in dist.out, dist
    assert "cannot be read" not in dist.out and dist.out.count("process groups") == 1, dist

    # The asking side is killed while rank 0 stands.
    words = ("break", PLACE, "--ranks", "0", "--for", "40", "--timeout", "60", "-c")
    asking = start_hangdbg(*words, "p __import__('time').sleep(5)", "--json", *VIA,
                           env=nodes.environment())
    for line in asking.stdout:
        if json.loads(line)["event"] == "stop":
            break
    assert json.loads(line)["node"] == "n1" and json.loads(line)["line"] == LINE, line
    asking.send_signal(signal.SIGKILL)
    asking.wait()
    job.is_as_before()

    # The way to one host ends: the others are no longer safe either.
    asking = start_hangdbg("break", PLACE, "--if", "step < 0", "-c", "p step", "--for", "40",
                           *VIA, env=nodes.environment())
    until("all are raised", lambda: job.has_timeout(TIMEOUT + 120))
    [of_n2] = [pid for pid in processes.children(asking.pid)
               if b"n2" in open("/proc/%d/cmdline" % pid, "rb").read().split(b"\0")]
    subprocess.run(["kill", str(of_n2)], check=True)
    out, err = asking.communicate()
    assert asking.returncode == 4 and "n2: " in err, (out, err)
    job.is_as_before()


def test_what_cannot_be_is_said():
    via = ("--via", "cmd:n[1-2] env NODE={host}")
    refused = hangdbg("break", "f", *via)
    refused.assert_refused(2, "--via needs -c or --log", "-c where")
    hangdbg("break", "f", "-c", "n", "--hold-until", "0", *via).assert_refused(
        2, "among the ranks of one machine", "hangdbg break f -c n --via")
    hangdbg("break", "f", "-c", "n", "--via", "pdsh:n1").assert_refused(
        2, "carries no input", "ssh:n1")
    hangdbg("break", "f", "-c", "n", "--job", "no-such-job", *via).assert_refused(
        2, "no rank of no-such-job is on these nodes", "hangdbg ps --via")
    lost = hangdbg("break", "f", "-c", "n", "--via", "cmd:n1 false {host}")
    assert lost.rc == 4 and "the timeouts of all ranks are raised, or none" in lost.err, lost
