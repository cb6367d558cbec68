"""hangdbg diagnose of jobs of the real torch: the rank that the others wait for is named first,
with its own cause; and of a job that is only slow none is said to hang."""

import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

import processes
import torches
from cgroups import cgroup
from diagnosed import keep, not_hung
from harness import die_with_us, hangdbg, in_targets, start, track, until
from test_namespaces import needs_root

TORCHES = [pytest.param(path, id=version, marks=pytest.mark.slow)
           for version, path in torches.found()][-1:] or [
    pytest.param(None, marks=pytest.mark.skip(reason="no Python here has torch"))]
IMPORT = 90  # seconds: three times torch, on two CPUs
AFTER = "0.5"  # seconds after which a wait counts as a hang here
SOURCE = in_targets("causes_jobs.py")


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
        begin = [python, in_targets("launches_ranks.py"), ranks, self.port]
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

    def diagnosed(self, *words, after=AFTER):
        done = hangdbg("diagnose", "--job", self.pid, "--json", "--hung-after", after, *words)
        assert done.rc == 0 and done.err == "", done
        return done.json()

    def until_said(self, cause, sentence):
        """What is kept is the first verdict that it hangs; ranks may come later than that."""
        said, first = [], []

        def told():
            said[:] = [self.diagnosed()]
            first.extend(said if said[0]["stalled"] and not first else [])
            return (said[0]["stalled"] and said[0]["cause"] == cause
                    and re.search(sentence, said[0]["summary"]))
        try:
            until(cause, told, IMPORT)
        except AssertionError:
            raise AssertionError("%s is said to be %s\n%s" % (
                self.turns[self.number], said, (self.folder / "log").read_text())) from None
        finally:
            keep("job: " + self.turns[self.number], cause, (first or said)[0])
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
    "sleep": ("sleeps", ("certain",), "sleeps for a fixed time"),
    "busy": ("busy-loop", ("likely",), "spins without changing any state"),
    "polls": ("polls", ("certain",), r"polls `exists\(.*\)` at causes_jobs\.py:\d+-\d+ in polls"),
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
        assert said["summary"].endswith("; ranks 0,1 wait for it in all_reduce"), said
        assert (said["odd"], said["missing"]) == ([2], []), said
        assert said["confidence"] in sure and said["evidence"], said
        assert [one["ranks"] for one in said["alike"]] == [[2], [0, 1]], said
        assert [one["diagnosis"]["cause"] for one in said["ranks"][:2]] == ["collective"] * 2
        remedies[way](said)
        job.turn_is_over()
    assert job.process.wait(IMPORT) == 0


def test_what_is_waited_for_in_c_code(torch_python, tmp_path):
    """No function of torch.distributed is to be seen in these stacks."""
    job = Job(torch_python, tmp_path, "work", "backward").met()
    for _ in range(2):
        job.begin_turn()
        said = job.until_said(
            "sleeps", "^rank 2 sleeps for a fixed time; ranks 0,1 wait for it in ALLREDUCE$")
        assert [one["call"] for one in said["ranks"]] == ["ALLREDUCE of group 0"] * 2 + [None]
        os.kill(said["ranks"][2]["pid"], signal.SIGUSR1)
        job.turn_is_over()


# turn: which ranks are odd, what is said of them and the others
MISMATCHES = {
    "gather": ([2], r"^rank 2 is in all_gather, ranks 0,1 in all_reduce \(sum, torch\.float32 "
               r"\(4,\)\), as collective 2 of group 0: they do not match"),
    "barrier": ([2], r"^rank 2 is in barrier, ranks 0,1 in all_reduce "),
    "more": ([2], r"^rank 2 is in broadcast \(.*, root 2\), ranks 0,1 in all_reduce "),
    "order": ([0, 1], r"^ranks 0,1 wait for each other: rank 0 waits in all_reduce of group 1 "
              r"\(.*\) for rank 1; rank 1 waits in all_reduce of group 2 "),
}


@pytest.mark.parametrize("turn", sorted(MISMATCHES))
def test_collectives_that_do_not_match(turn, torch_python, tmp_path):
    odd, sentence = MISMATCHES[turn]
    job = Job(torch_python, tmp_path, turn).met()
    job.begin_turn()
    said = job.until_said("collective-mismatch", sentence)
    assert (said["odd"], said["confidence"]) == (odd, "certain"), said


def test_a_rank_has_ended_before_the_others_met(torch_python, tmp_path):
    """Its launcher waits for another, and has not taken notice."""
    job = Job(torch_python, tmp_path, "missing@1")
    until("two are there", lambda: set(job.pids()) == {0, 2}, IMPORT)
    job.begin_turn()
    said = job.until_said(
        "rank-ended", "^rank 1 has ended; ranks 0,2 wait for it in init_process_group$")
    assert (said["odd"], said["missing"], said["confidence"]) == ([1], [1], "certain"), said
    assert any("ended, and not waited for by %d" % job.pid in one for one in said["evidence"])


@needs_root
@pytest.mark.parametrize("alone", [False, True])
def test_a_rank_was_killed_for_its_memory(alone, torch_python, tmp_path):
    """By the limit of a cgroup with the others in it, or of its own."""
    job = Job(torch_python, tmp_path, "eats@1")
    until("all are there", lambda: set(job.pids()) == {0, 1, 2}, IMPORT)
    with cgroup("memory") as group:
        if not group.has("memory.oom_control"):
            pytest.skip("no cgroups of version 1 for memory")
        pids = job.pids()
        for pid in [pids[1]] if alone else pids.values():
            group.take(pid)
        group.write("memory.limit_in_bytes", 1 << 30)  # the others import torch
        job.begin_turn()
        until("killed", lambda: group.entry("memory.oom_control", "oom_kill"))
        until("it has ended", lambda: processes.state(pids[1], pids[1]) == "Z")
        named = kernel_log_names(pids[1])
        if alone and not named:
            pytest.skip("the kernel's log may not be read, or has other PIDs than we")
        who = r"process %d \(.+\)" % pids[1] if named else "in its cgroup"
        said = job.until_said("rank-ended", "^rank 1 has ended; ranks 0,2 wait for it in "
                              "init_process_group; the kernel has killed %s, as there was no "
                              "memory left$" % who)
        assert (said["odd"], said["confidence"]) == ([1], "certain"), said
        assert "process %d has ended: killed by SIGKILL" % pids[1] in said["evidence"], said


def kernel_log_names(pid):
    log = subprocess.run(["dmesg"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return b",pid=%d," % pid in log


def test_a_worker_of_the_odd_rank_is_followed(torch_python, tmp_path):
    """The first turns are of who works, however long: none hangs for that."""
    job = Job(torch_python, tmp_path, "trains", "saves@0", "loader", "worker").met()
    for who in (2, 0, 2):
        turn = job.begin_turn()
        said = until("the others wait in %s" % turn, lambda: next((
            one for one in [job.diagnosed(after="5")]
            if len([rank for rank in one["ranks"] if rank["call"]]) == 2), None), IMPORT)
        said = not_hung("job: " + turn, job, ask=lambda one: one.diagnosed(after="5"))
        assert said["odd"] == [who], said
        (tmp_path / "enough").touch()
        job.turn_is_over()
        (tmp_path / "enough").unlink()
    job.begin_turn()
    said = job.until_said("fork-lock", r"^rank 2 waits for a batch from its DataLoader: .*: "
                          r"process \d+ \(pt_data_worker\) waits for the Lock.*"
                          r"; ranks 0,1 wait for it in all_reduce$")
    assert said["odd"] == [2] and said["ranks"][2]["diagnosis"]["chain"][0][
        "cause"] == "data-loader", said


def test_a_server_between_two_requests_is_well(torch_python, tmp_path):
    """The other ranks of a model that is served wait for what it is asked."""
    job = Job(torch_python, tmp_path, "serves").met()
    job.begin_turn()

    def all_rest():
        first = [one["diagnosis"]["chain"][0] for one in job.diagnosed()["ranks"]]
        return ([one["cause"] for one in first] == ["collective", "collective", "serves"]
                and all((one["waiting_s"] or 0) > float(AFTER) for one in first))
    until("they wait for so long", all_rest, IMPORT)
    said = not_hung("job: a server", job, ask=Job.diagnosed)
    assert said["summary"] == (
        "rank 2 waits for a connection; ranks 0,1 wait for it in all_reduce"), said
    with socket.create_connection(("127.0.0.1", int((tmp_path / "port").read_text()))):
        job.turn_is_over()
    assert job.process.wait(IMPORT) == 0


def test_under_torchrun(torch_python, tmp_path):
    """Its agent is well; its PID means the job; a rank's alone leads to the outlier."""
    job = Job(torch_python, tmp_path, "input@0", "baton@1", ranks=2, torchrun=True).met()
    job.begin_turn()
    job.until_said("terminal-input", "^rank 0 waits for input .*; rank 1 waits for it in all_red")
    job.process.stdin.write(b"\n")
    job.process.stdin.flush()
    job.turn_is_over()
    (tmp_path / "lock-1").touch()
    job.begin_turn()
    said = job.until_said("stale-lock-file", "^rank 1 waits until the lock file ")
    assert (said["launcher"]["pid"], said["launcher"]["cause"]) == (job.pid, "launcher"), said
    out = hangdbg("diagnose", job.pid).out
    assert re.match(r"job \S+ \(torch, 2 ranks\) hangs: rank 1 waits until the lock file", out)
    pids = job.pids()
    alone = hangdbg("diagnose", pids[0], "--json").json()
    assert alone["cause"] == "stale-lock-file" and alone["stalled"], alone
    assert [link["pid"] for link in alone["chain"]] == [pids[0], pids[1]], alone
    assert "for rank 1, which has not come there" in alone["chain"][0]["summary"], alone
    # Of some ranks: all are looked at, these are shown.
    shown = job.diagnosed("--ranks", "0")
    assert [one["rank"] for one in shown["ranks"]] == [0] and shown["odd"] == [1], shown
    # Processes without their job.
    both = hangdbg("diagnose", pids[0], pids[1], "--json").json()["processes"]
    assert [one["diagnosis"]["cause"] for one in both] == ["stale-lock-file"] * 2, both
    # Who is stopped himself lets nobody wait for longer than the others do.
    os.kill(job.pid, signal.SIGSTOP)
    until("it is stopped", lambda: processes.state(job.pid, job.pid) == "T")
    assert job.diagnosed()["launcher"]["cause"] == "stopped"
    os.kill(job.pid, signal.SIGCONT)


def test_hangdbg_alone_says_the_cause(torch_python, tmp_path):
    job = Job(torch_python, tmp_path, "stop", ranks=2).met()
    job.begin_turn()

    def told():
        done = hangdbg()
        assert done.rc == 0, done
        return "rank 1 is stopped, by SIGSTOP" in done.err and done.err
    err = until("it has hung for ten seconds", told, IMPORT)
    assert "rank 0 waits for it in all_reduce\n  try: kill -CONT %d   " % job.pids()[1] in err, err
    assert re.search("  try: hangdbg diagnose %d +the evidence\n" % job.pid, err), err
    assert "by SIGSTOP" not in hangdbg("ps").err


RENDEZVOUS = {
    "elastic": (["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:%s"], "2 nodes"),
    "static": (["--node-rank=0", "--master_addr=127.0.0.1", "--master_port=%s"], "all nodes"),
}


@pytest.mark.parametrize("way", sorted(RENDEZVOUS))
def test_a_node_does_not_come(way, torch_python, tmp_path):
    """Nodes are started one after the other: not at once does that hang."""
    words, whom = RENDEZVOUS[way]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    agent = track(subprocess.Popen(
        [torch_python, "-m", "torch.distributed.run", "--nnodes=2", "--nproc_per_node=1",
         *words[:-1], words[-1] % port, str(SOURCE), str(tmp_path), "sleep"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        preexec_fn=die_with_us))

    def diagnosed(after):
        return hangdbg("diagnose", agent.pid, "--json", "--hung-after", after).json()

    def told():
        said = diagnosed("0.5")
        return said["cause"] == "rendezvous" and said["stalled"] and said
    said = until("it waits", told, IMPORT)
    assert "until the launchers of %s are there" % whom in said["summary"], said
    assert not diagnosed("60")["stalled"]


# ---- several processes, without torch

def test_several_processes():
    """Equal answers are said once; one that is gone does not cost the others."""
    waiting = [start("event_wait", "/usr/bin/python3") for _ in range(2)]
    other = start("sleep", "/usr/bin/python3")
    pids = [one.pid for one in (*waiting, other)]
    done = hangdbg("diagnose", *pids)
    assert done.rc == 0, done
    assert len(re.findall(r"^process .* (?:hangs|is idle|is blocked)(?: \(.*?\))?: ", done.out, re.M)) == 2, done
    assert "\nthe same: %d\n" % pids[1] in done.out, done
    some = hangdbg("diagnose", "--json", *pids, 999999999)
    assert some.rc == 1, some
    answers = some.json()["processes"]
    assert [one["pid"] for one in answers] == [*pids, 999999999]
    assert [one["error"] is None for one in answers] == [True, True, True, False], answers
    assert answers[0]["diagnosis"]["cause"] == answers[1]["diagnosis"]["cause"], answers
    assert answers[3]["error"]["type"] == "no-such-process", answers
    for target in (*waiting, other):
        target.finish()


@pytest.mark.parametrize("words, cause", [
    (["1", "--job", "auto"], "a PID and --job cannot be combined"),
    (["--job", "nobody's job"], "no job here is called nobody's job"),
    (["--job", "auto", "--ranks", "x"], "x"),
    (["1", "x"], "is not a PID"),
])
def test_bad_input(words, cause):
    done = hangdbg("diagnose", *words)
    assert done.rc == 2 and done.out == "" and cause in done.err.splitlines()[0], done


# ---- the network between two ranks: each in a namespace of its own, and a third one between

class Parted:
    """Job.pids() and the like, of two ranks 10.77.1.2 and 10.77.2.2."""

    ranks = 2

    def __init__(self, python, folder, *turns, connected=True):
        self.folder, self.turns, self.number = folder, turns, -1
        spaces = [self.namespace() for _ in range(3)]
        self.router = spaces[2]
        for number, space in enumerate(spaces[:2]):
            net = "10.77.%d." % (number + 1)
            self.ip("link", "add", "to%d" % number, "netns", self.router, "type", "veth", "peer",
                    "name", "eth7", "netns", space)
            self.ip("link", "set", "lo", "up", inside=space)
            self.ip("addr", "add", net + "2/24", "dev", "eth7", inside=space)
            self.ip("link", "set", "eth7", "up", inside=space)
            self.ip("addr", "add", net + "1/24", "dev", "to%d" % number, inside=self.router)
            self.ip("link", "set", "to%d" % number, "up", inside=self.router)
            self.ip("route", "add", "default", "via", net + "1", inside=space)
        self.connect(connected)
        for rank, space in enumerate(spaces[:2]):
            track(subprocess.Popen(
                ["nsenter", "-t", str(space), "-n", str(python), str(SOURCE), str(folder),
                 *turns],
                stdout=subprocess.DEVNULL, stderr=open(folder / "log", "a"),
                start_new_session=True, preexec_fn=die_with_us,
                env=dict(os.environ, OMP_NUM_THREADS="1", RANK=str(rank), LOCAL_RANK=str(rank),
                         WORLD_SIZE="2", MASTER_ADDR="10.77.1.2", MASTER_PORT="29500",
                         GLOO_SOCKET_IFNAME="eth7")))
        self.pid = "10.77.1.2:29500"

    met, begin_turn, turn_is_over = Job.met, Job.begin_turn, Job.turn_is_over
    diagnosed, until_said, pids = Job.diagnosed, Job.until_said, Job.pids

    @staticmethod
    def namespace():
        holder = track(subprocess.Popen(["unshare", "-n", "sleep", "1000"],
                                        start_new_session=True, preexec_fn=die_with_us))
        own = os.readlink("/proc/self/ns/net")
        until("a network of its own",
              lambda: os.readlink("/proc/%d/ns/net" % holder.pid) != own)
        return holder.pid

    @staticmethod
    def ip(*words, inside=None):
        enter = ["nsenter", "-t", str(inside), "-n"] if inside else []
        done = subprocess.run([*enter, "ip", *map(str, words)], stderr=subprocess.PIPE)
        if done.returncode != 0:
            pytest.skip("no network of its own here: %s" % done.stderr.decode())

    def connect(self, connected):
        """Whether the one between them lets packets through."""
        subprocess.run(["nsenter", "-t", str(self.router), "-n", "sh", "-c",
                        "echo %d > /proc/sys/net/ipv4/ip_forward" % connected], check=True)


needs_ip = pytest.mark.skipif(not shutil.which("ip"), reason="ip (iproute2) is not installed")


@needs_root
@needs_ip
def test_what_the_network_loses(torch_python, tmp_path):
    """And when it is well again, they go on."""
    job = Parted(torch_python, tmp_path, "all").met()
    job.begin_turn()
    job.connect(False)
    (tmp_path / "cut").touch()
    said = job.until_said(
        "peer-unreachable", r"^rank (0 does not reach rank 1|1 does not reach rank 0): \d+ bytes "
        r"are sent again and again, \d+ times by now.*; ranks 0,1 wait for it in all_reduce$")
    assert (said["odd"], said["confidence"]) == ([0, 1], "certain"), said
    assert any("10.77.1.2:" in one and "ESTABLISHED" in one for one in said["evidence"]), said
    job.connect(True)
    job.turn_is_over()


@needs_root
@needs_ip
def test_a_rank_that_gets_no_connection(torch_python, tmp_path):
    job = Parted(torch_python, tmp_path, "all", connected=False)
    until("both are there", lambda: "no job here" not in hangdbg(
        "ps", "--job", job.pid).err and set(job.pids()) == {0, 1}, IMPORT)
    job.begin_turn()
    said = job.until_said(
        "peer-unreachable", r"^rank 1 gets no answer from 10\.77\.1\.2:29500, to which it "
        r"connects; ranks 0,1 wait for it in init_process_group$")
    assert said["next"][0]["command"] == "ping 10.77.1.2", said
