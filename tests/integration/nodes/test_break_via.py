"""break --via: ranks of several hosts stop, and the job survives it, whoever dies meanwhile."""

import fcntl
import json
import re
import shutil
import signal
import struct
import subprocess
import termios

import pytest

import processes
import torches
from harness import PROGRAM, hangdbg, in_targets, start_hangdbg, until
from slurm_hosts import SlurmOfHosts
from sshd_hosts import Nodes
from terminal import Terminal
from torch_job import IMPORT, LINE, PLACE, TORCHES

TIMEOUT = 60  # seconds: of the process group, and for all to meet (four imports of torch)
GROUPS_TIMEOUT = (
    "(lambda group: getattr(group, '_get_backend', lambda _: group)(torch.device('cpu')))"
    "(next(iter(dist.distributed_c10d._pg_map))).options._timeout.total_seconds()")


class JobOfHosts:
    """A rank each, of torch_loop.py; Slurm starts them, or ssh. `hangdbg` asks by the same."""

    def __init__(self, nodes, python, folder, slurm=None):
        self.nodes, self.folder, self.ranks = nodes, folder, range(len(nodes.names))
        self.all = "n[1-%d]" % len(nodes.names)
        self.environment = (slurm or nodes).environment()
        folder.mkdir()
        command = ("cd /; OMP_NUM_THREADS=1 RANK=%%s WORLD_SIZE=%d MASTER_ADDR=%s.1 "
                   "MASTER_PORT=29500 GLOO_SOCKET_IFNAME=eth0 %s %s plain %s 0 %d "
                   ">%s/log-%%s 2>&1 </dev/null" % (
                       len(nodes.names), nodes.net, python, in_targets("torch_loop.py"), folder,
                       TIMEOUT, folder))
        if slurm:
            self.how = "srun:" + slurm.run("sh", "-c", command % (("$SLURM_PROCID",) * 2))
        else:
            self.how = "ssh:" + self.all
            for rank, name in enumerate(nodes.names):
                nodes.ssh(name, command % (rank, rank) + " &")
        self.via = ("--job", "auto", "--via", self.how)
        until("all run", lambda: all(self.rounds(rank) > 3 for rank in self.ranks), IMPORT)

    def hangdbg(self, *words):
        return hangdbg(*words, env=self.environment)

    def rounds(self, rank):
        path = self.folder / str(rank)
        return path.stat().st_size // 4 if path.exists() else 0

    def has_timeout(self, seconds):
        """All ranks say so."""
        said = self.hangdbg("eval", GROUPS_TIMEOUT, "--frame", "train", *self.via)
        ranks = "0,1" if len(self.ranks) == 2 else "0-%d" % self.ranks[-1]
        return said.out == "[%s:%s] %.1f\n" % (self.all, ranks, seconds)

    def is_as_before(self):
        until("the timeouts are back", lambda: self.has_timeout(TIMEOUT))
        before = [self.rounds(rank) for rank in self.ranks]
        until("it goes on", lambda: all(
            self.rounds(rank) > before[rank] + 5 for rank in self.ranks))


@pytest.fixture
def python():
    path = TORCHES[-1].values[0]
    if path is None or torches.keeps_timeouts(path):
        pytest.skip("needs a torch whose timeouts can be raised")
    return path


@pytest.fixture
def make_nodes(tmp_path):
    made = []

    def make(*names):
        made.append(Nodes(tmp_path, names))
        return made[-1]

    yield make
    for nodes in made:
        nodes.down()


@pytest.fixture
def make_job(make_nodes, python, tmp_path):
    return lambda *names: JobOfHosts(make_nodes(*names), python, tmp_path / "job")


def test_the_job_survives_stops_on_both_hosts(make_job):
    job = make_job("n1", "n2")
    nodes = job.nodes
    done = nodes.hangdbg("break", PLACE, "-c", "p 'of', rank", "-c",
                         "p __import__('time').sleep(2)", "--for", "30", *job.via)
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
    dist = nodes.hangdbg("dist", *job.via)
    assert "job %s.1:29500: 2 ranks on n[1-2]\n" % nodes.net in dist.out, dist
    assert "  group 0 (default) · gloo · 2 ranks: 0,1\n" in dist.out, dist
    assert "cannot be read" not in dist.out and dist.out.count("process groups") == 1, dist

    # The asking side is killed while rank 0 stands.
    words = ("break", PLACE, "--ranks", "0", "--for", "40", "--timeout", "60", "-c")
    asking = start_hangdbg(*words, "p __import__('time').sleep(5)", "--json", *job.via,
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
                           *job.via, env=nodes.environment())
    until("all are raised", lambda: job.has_timeout(TIMEOUT + 120))
    [of_n2] = [pid for pid in processes.children(asking.pid)
               if b"n2" in open("/proc/%d/cmdline" % pid, "rb").read().split(b"\0")]
    subprocess.run(["kill", str(of_n2)], check=True)
    out, err = asking.communicate()
    assert asking.returncode == 4 and "n2: " in err, (out, err)
    job.is_as_before()


@pytest.mark.parametrize("launcher", ["ssh", "clush"])
def test_ranks_of_four_hosts_stop_in_the_same_round(launcher, make_job):
    if not shutil.which(launcher):
        pytest.skip("needs " + launcher)
    job = make_job("n1", "n2", "n3", "n4")
    via = ("--job", "auto", "--via", "%s:%s" % (launcher, job.all))
    done = job.hangdbg("break", PLACE, "--hold-until", "all", "-c", "p 'step', step",
                       "--for", "40", "--timeout", "60", *via)
    assert done.rc == 0, done
    assert "timeouts of 1 process group raised on rank 0-3 by 200 s" in done.err, done
    steps = {line.split("] ")[1] for line in done.out.splitlines() if "('step', " in line}
    assert done.out.count("('step', ") == 4 and len(steps) == 1, done
    job.is_as_before()


def test_by_a_real_srun_of_two_hosts(make_nodes, python, tmp_path):
    """A step of ours beside the job's own: one srun carries the orders to both."""
    nodes = make_nodes("n1", "n2")
    slurm = SlurmOfHosts(nodes, tmp_path)
    job = JobOfHosts(nodes, python, tmp_path / "job", slurm)
    done = job.hangdbg("break", PLACE, "--hold-until", "all", "-c", "p 'step', step", "--for", "40",
                       "--timeout", "60", *job.via)
    assert done.rc == 0, done
    assert re.findall(r"^\[(n[12]:[01])\] \('step', ", done.out, re.M) in (
        ["n1:0", "n2:1"], ["n2:1", "n1:0"]), done
    job.is_as_before()


def test_a_prompt_in_ranks_of_two_hosts(make_job):
    job = make_job("n1", "n2")
    asking = start_hangdbg("break", PLACE, "--hold-until", "all", "--for", "60",
                           "--timeout", "60", *job.via, env=job.nodes.environment(), stdin=subprocess.PIPE)

    def ask(line, *expected):
        """Until there is an answer with each of these."""
        asking.stdin.write(line + "\n")
        asking.stdin.flush()
        left, said = list(expected), []
        while left:
            said.append(asking.stdout.readline())
            assert said[-1], (said, left, asking.stderr.read())
            left = [one for one in left if one not in said[-1]]
        return said

    ask("ranks all p 'of', rank", "[n1:0] ('of', 0)", "[n2:1] ('of', 1)")
    first = ask("p step", "] ")[-1]
    other = 1 - int(first.partition(":")[2][0])
    said = ask("rank %d" % other, "rank %d on n%d" % (other, other + 1))
    assert "not suspended" not in said[-1], said
    ask("ranks all n", "[n1:0] -> loss = ", "[n2:1] -> loss = ")
    ask("ranks", "0  n1  suspended", "1  n2  suspended")
    # A statement of more than a line, and what is not there.
    ask("p (41 +\n1)", "[n%d:%d] 42" % (other + 1, other))
    assert job.has_timeout(TIMEOUT + 3 * 60)
    # Both resume, and come back to the breakpoint.
    ask("ranks all c\nrank 0", "rank 0 on n1")
    ask("", "[n1:0] > ", "[n2:1] > ")
    asking.stdin.write("rank 7\nq\n")
    out, err = asking.communicate()
    assert asking.returncode == 0 and "rank 7 is on none of these nodes" in err, (out, err)
    job.is_as_before()


def test_a_prompt_in_ranks_of_two_hosts_at_a_terminal(make_job, monkeypatch):
    job = make_job("n1", "n2")
    monkeypatch.setenv("PATH", job.nodes.path)
    one = Terminal(None, command=("break", PLACE, "--hold-until", "all", "--for", "120", "--timeout", "60",
                                  *job.via), size=(30, 100))
    prompt = r"^\(hangdbg r(\d) n\d HELD\) $"
    try:
        here = int(one.expect(prompt, IMPORT).group(1))
        there = 1 - here
        one.type("p rnk\x1b[D\x1b[Da\r")  # two to the left
        one.expect(r"^\[n%d:%d\] %d$" % (here + 1, here, here))
        one.expect(prompt)
        one.type("\x1b[A + 40\r")  # the line before, longer
        one.expect(r"^\[n%d:%d\] %d$" % (here + 1, here, here + 40))
        one.expect(prompt)
        one.type("p 'dropped'\x03")
        one.expect(r"\^C")
        one.expect(prompt)
        one.type("rank %d\r" % there)
        one.expect(r"^rank %d on n%d$" % (there, there + 1))
        one.expect(prompt)
        begun = [job.folder / ("begun%d" % rank) for rank in job.ranks]
        one.type("ranks all p open('%s/begun%%d' %% rank, 'w').close(), sum(1 for _ in iter(int, 1))\r" % job.folder)
        one.expect(r"iter.*\n")
        until("it runs", lambda: any(path.exists() for path in begun))
        one.type("\x03")  # ends it on both
        one.expect(prompt)
        one.type("ranks all p 'of', rank\r")
        one.expect(r"^\[n1:0\] \('of', 0\)$")
        one.expect(prompt)
        fcntl.ioctl(one.master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 70, 0, 0))
        one.type("p 'a' * 60, 'end'\x1b[D\x1b[D\x1b[D\x1b[DTHE\r")
        one.expect(r"'THEend'\)")
        one.expect(prompt)
        # Both resume and come back while a line is typed: it is shown anew, and is what was typed.
        one.type("ranks all c\rp 'wh")
        one.expect(r"^\[n[12]:[01]\] > (.*\n)+?\[n[12]:[01]\] > ")
        one.expect(r"p 'wh$")
        one.type("ole'\r")
        one.expect(r"^\[n%d:%d\] 'whole'$" % (there + 1, there))
        one.expect(prompt)
        one.type("q\r")
        assert one.wait() == 0, one.text
        assert termios.tcgetattr(one.master) == one.modes
    finally:
        one.close()
    job.is_as_before()


def test_what_cannot_be_is_said():
    via = ("--via", "cmd:n[1-2] env NODE={host}")
    hangdbg("break", "f", "--json", *via).assert_refused_as_json(2, "it opens no prompt")
    hangdbg("break", "f", "-c", "n", "--via", "pdsh:n1").assert_refused(
        2, "carries no input", "ssh:n1")
    hangdbg("break", "f", "-c", "n", "--job", "no-such-job", *via).assert_refused(
        2, "no rank of no-such-job is on these nodes", "hangdbg ps --via")
    lost = hangdbg("break", "f", "-c", "n", "--via", "cmd:n1 false {host}")
    assert lost.rc == 4 and "the timeouts of all ranks are raised, or none" in lost.err, lost
