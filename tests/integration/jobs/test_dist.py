"""hangdbg dist: process groups as torch itself says, who is behind, whose sockets stand
still; and nothing runs in the ranks unless it is asked for."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

import processes
import torch_job
import test_torch_jobs
import torches
from harness import as_nobody, behind, die_with_us, hangdbg, in_targets, start, track, until

TORCHES = [pytest.param(path, id=version, marks=pytest.mark.slow)
           for version, path in torches.found()] or [
    pytest.param(None, marks=pytest.mark.skip(reason="no Python here has torch"))]
IMPORT = 90  # seconds: four times torch, on two CPUs
SOURCE = in_targets("torch_groups.py")


@pytest.fixture(params=TORCHES, scope="module")
def torch_python(request):
    return request.param


def counts_sends(python):
    """Whether gloo's sequence number is that of sends and receives, too."""
    return not any(path == python and version.startswith("1.")
                   for version, path in torches.found())


class Groups:
    """Four ranks of torch_groups.py."""

    def __init__(self, python, way, directory, **env):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self.process = track(subprocess.Popen(
            [str(word) for word in (*torches.torchrun(python, 4), "--master_port=" + port,
                                    SOURCE, way, directory)],
            stdout=subprocess.DEVNULL, stderr=open(directory / "log", "w"),
            start_new_session=True, preexec_fn=die_with_us,
            env=dict(os.environ, OMP_NUM_THREADS="1", **env)))
        self.pid = self.process.pid
        until("all have told", lambda: all(
            (directory / str(rank)).exists() for rank in range(4)), IMPORT)
        self.told = [json.loads((directory / str(rank)).read_text()) for rank in range(4)]

    def dist(self, *words):
        done = hangdbg("dist", "--job", self.pid, "--timeout", "30", *words)
        assert done.rc == 0, done
        return done

    def until(self, what, condition):
        """The JSON, once it is so."""
        def seen():
            found = self.dist("--json").json()
            return found if condition(found) else None
        return until(what, seen, IMPORT)


def late(found, name):
    """Of that group."""
    return [(group["ranks"], group["behind"]) for group in found["groups"]
            if group["name"] == name]


def waiting(found, *ranks):
    """Whether all of these are in all_reduce, or stand still elsewhere."""
    by_rank = {one["rank"]: one["threads"][0] for one in found["ranks"]}
    return all(by_rank[rank]["waiting_s"] is not None for rank in ranks)


def test_groups_as_torch_says(torch_python, tmp_path):
    job = Groups(torch_python, "alone", tmp_path)
    found = job.until("rank 3 is in recv", lambda found: any(
        thread["call"] and thread["call"]["function"] == "recv"
        for one in found["ranks"] for thread in one["threads"]))
    assert [one["rank"] for one in found["ranks"]] == [0, 1, 2, 3]
    for one, told in zip(found["ranks"], job.told):
        names = {group["name"]: group for group in one["groups"]}
        assert set(names) == set(told), one
        for name, group in names.items():
            (backend,) = group["backends"]
            # The recv under way counts, in the group of all.
            received = one["rank"] == 3 and group["default"] and counts_sends(torch_python)
            assert (group["backend"], group["ranks"], backend["begun"]) == (
                told[name]["backend"], told[name]["ranks"],
                told[name]["sequence"] + received), one
            assert backend["type"] == "ProcessGroupGloo"
            assert backend["collectives"] == (5 if group["default"] else 2)
            assert group["default"] == (len(group["ranks"]) == 4)
    (call,) = [thread["call"] for thread in found["ranks"][3]["threads"] if thread["call"]]
    assert (call["group"], call["peer"], call["tensor"]["shape"]) == ("0", 0, [2, 3])
    assert found["findings"] == [] and late(found, "0") == [([0, 1, 2, 3], [])]


def test_one_is_behind(torch_python, tmp_path):
    """Although ranks 0 and 1 have counted their sends as well."""
    job = Groups(torch_python, "pairs", tmp_path)
    job.until("all wait", lambda found: late(found, "0") == [([0, 1, 2, 3], [3])]
              and found["groups"][0]["steps"][0]["begun"] == 8)
    lines = job.dist().out.splitlines()
    assert lines[1].startswith("rank 3 has begun 5 collectives of group 0, ranks 0-2 8"), lines
    assert any("rank 3: in no collective; in own_code" in line for line in lines), lines
    ranks = job.dist("--json").json()["ranks"]
    begun = [one["groups"][0]["backends"][0]["begun"] - one["groups"][0]["backends"][0]
             ["collectives"] for one in ranks]
    sent = 3 if counts_sends(torch_python) else 0
    assert begun[0] == begun[1] == begun[2] + sent == begun[3] + sent


def test_one_group_of_several(torch_python, tmp_path):
    job = Groups(torch_python, "one", tmp_path)
    found = job.until("all wait", lambda found: late(found, "1") == [([0, 1], [1])]
                      and late(found, "0") == [([0, 1, 2, 3], [0, 1])])
    (call,) = [thread["call"] for thread in found["ranks"][0]["threads"] if thread["call"]]
    assert (call["function"], call["group"]) == ("all_reduce", "1")
    assert call["tensor"]["shape"] == [2, 3] and call["tensor"]["dtype"] == "torch.float32"
    out = job.dist().out
    assert "rank 1 has begun 2 collectives of group 1, rank 0 3" in out, out
    waits = hangdbg("record", "--job", job.pid, "--wait", "-d", "2", "--json").json()["waits"]
    assert any(wait["reason"].startswith("waits in all_reduce of group 1 (") for wait in waits), waits
    over = hangdbg("record", "--job", job.pid, "--over", "1").out
    assert "rank 1 did not run: " in over and "moved" not in over, over
    # One process alone, of which the others' ends are known all the same.
    pid = found["ranks"][1]["pid"]
    alone = hangdbg("dist", pid, "--json").json()
    assert [one["rank"] for one in alone["ranks"]] == [1]
    peers = {flow["to"] for flow in alone["connections"] if flow["from"] == 1}
    assert {0, 2, 3} <= peers, alone["connections"]
    assert [one["rank"] for one in job.dist("--ranks", "2,3", "--json").json()["ranks"]] == [2, 3]


def test_wrapped_by_torch(torch_python, tmp_path):
    """With TORCH_DISTRIBUTED_DEBUG=DETAIL another backend is around each."""
    job = Groups(torch_python, "alone", tmp_path, TORCH_DISTRIBUTED_DEBUG="DETAIL")
    found = job.until("they stand still", lambda found: waiting(found, 0, 1, 2))
    for one in found["ranks"][:3]:
        for group in one["groups"]:
            assert [backend["type"] for backend in group["backends"]] == ["ProcessGroupGloo"]
            assert group["backends"][0]["collectives"] == (5 if group["default"] else 2)


def test_nothing_runs_unless_asked(torch_python, tmp_path):
    job = Groups(torch_python, "begun", tmp_path)
    found = job.until("all wait", lambda found: late(found, "0") == [([0, 1, 2, 3], [3])]
                      and found["groups"][0]["steps"][0]["begun"] == 8 and waiting(
                          found, 0, 1, 2, 3))
    pids = [one["pid"] for one in found["ranks"]]

    def activity():
        return [processes.thread_activity(pid, pid) for pid in pids], [
            processes.threads(pid) for pid in pids]

    before = activity()
    job.dist()
    assert activity() == before
    ranks = job.dist("--ask", "--json").json()["ranks"]
    for rank, one in enumerate(ranks):
        assert [(group["name"], group["sequence"] - job.told[rank][group["name"]]["sequence"])
                for group in one["asked"]["groups"]] == [
            ("0", 0 if rank == 3 else 3), ("1" if rank < 2 else "2", 0)]
    recorded = [one["asked"].get("recorded") for one in ranks]
    if not recorded[0]:
        assert "torch has no record here" in job.dist("--ask").out
        return
    assert [(one["group"], one["number"], one["name"], one["over"]) for one in recorded[0]] == [
        ("0", number, "gloo:all_reduce", False) for number in (6, 7, 8)] + [
        ("1", number, "gloo:broadcast", True) for number in (1, 2)]
    # A thread of gloo's may have run the last one and not have marked it so yet.
    found = job.until("what is over is marked so", lambda found: [
        (step["ranks"], step["pending"], step["over"]) for step in found["groups"][0]["steps"]
    ] == [([0, 1, 2], 3, False), ([3], 0, True)])
    backend = found["ranks"][0]["groups"][0]["backends"][0]
    assert (backend["enqueued"], backend["completed"]) == (
        {"number": 8, "name": "ALLREDUCE"}, {"number": 5, "name": "ALLREDUCE"})


def test_a_collective_that_does_not_match(torch_python):
    job = test_torch_jobs.Job(torch_python, "mismatch")
    job.until_parted(2)
    found = hangdbg("dist", "--job", job.pid, "--json").json()
    calls = {one["rank"]: one["threads"][0]["call"]["function"] for one in found["ranks"]}
    assert calls == {0: "all_reduce", 1: "all_reduce", 2: "all_gather", 3: "all_reduce"}
    backend = found["ranks"][0]["groups"][0]["backends"][0]
    if backend["enqueued"]:  # torch 1.13 does not say which it is in
        assert found["groups"][0]["mismatched"] == [2]
        assert found["findings"] == [
            "rank 2 has begun ALLGATHER as collective 3 of group 0, others something else: "
            "they do not match"]


def test_a_stopped_peer_does_not_read(torch_python, tmp_path):
    job = torch_job.Job(torch_python, "plain", tmp_path, 1_000_000, 1800).started()
    pid = job.pid_of(2)
    os.kill(pid, signal.SIGSTOP)
    try:
        def stands_still():
            done = hangdbg("dist", "--job", job.pid)
            assert done.rc == 0, done
            return done if "-> rank 2: " in done.out else None
        out = until("what it does not read is old", stands_still, IMPORT).out
        assert "\nrank 2: stopped (SIGSTOP or Ctrl-Z); resume it by kill -CONT %d" % pid in out, out
        unread = [line for line in out.splitlines() if "have come and are not read" in line]
        assert any("-> rank 2: " in line for line in unread), out
        # Who waits for it may not read the others meanwhile.
        flows = [flow for flow in hangdbg("dist", "--job", job.pid, "--json").json()[
            "connections"] if flow["flow"] == "unread" and flow["to"] == 2]
        assert flows
        for flow in flows:
            assert flow["unread"] > 0 and flow["quiet_s"] >= 1 and not flow["store"]
            assert "socket:" in os.readlink("/proc/%d/fd/%d" % (pid, flow["to_fd"]))
        # Who is stopped cannot be asked; the others can.
        asked = hangdbg("dist", "--job", job.pid, "--ask", "--json", "--timeout", 30)
        assert asked.rc == 1
        assert ["groups" in one["asked"] for one in asked.json()["ranks"]] == [
            True, True, False, True]
    finally:
        os.kill(pid, signal.SIGCONT)
    job.goes_on()


def test_the_store_is_told_apart(torch_python, tmp_path):
    job = Groups(torch_python, "alone", tmp_path)
    found = job.dist("--json").json()
    store = [flow for flow in found["connections"] if flow["store"]]
    assert {flow["from"] for flow in store} >= {0, 1, 2, 3}
    assert all(flow["from"] is None or flow["to"] is None for flow in store), store
    pairs = {(flow["from"], flow["to"]) for flow in found["connections"]
             if not flow["store"] and flow["from"] is not None and flow["to"] is not None}
    assert pairs >= {(a, b) for a in range(4) for b in range(4) if a != b}


# ---- without torch

def test_without_torch():
    target = start("lock_main", sys.executable)
    done = hangdbg("dist", target.pid)
    assert done.rc == 0 and "none: torch.distributed is not imported" in done.out, done
    found = hangdbg("dist", target.pid, "--json").json()
    assert found["groups"] == [] and found["job"] is None
    assert found["ranks"][0]["rank"] is None and found["ranks"][0]["pid"] == target.pid
    target.finish()


def test_sockets_of_any_process(tmp_path):
    """Both ends are in one process; what is not read is seen out of process."""
    code = ("import os, socket, sys\n"
            "server = socket.create_server(('127.0.0.1', 0))\n"
            "one = socket.create_connection(server.getsockname())\n"
            "other, _ = server.accept()\n"
            "one.sendall(b'x' * 77)\n"
            "print(other.fileno(), flush=True)\n"
            "sys.stdin.read()\n")
    process = track(subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, start_new_session=True,
                                     preexec_fn=die_with_us))
    fd = int(process.stdout.readline())

    def old():
        found = hangdbg("dist", process.pid, "--json").json()
        return found if found["findings"] else None
    found = until("it is a second old", old)
    (flow,) = [flow for flow in found["connections"] if flow["flow"] == "unread"]
    assert (flow["unread"], flow["to_fd"], flow["tcp"]) == (77, fd, "ESTABLISHED")
    assert "77 bytes have come and are not read" in found["findings"][0]


LOST = """
import fcntl, socket, struct, sys

def loopback(up):
    with socket.socket() as any:
        fcntl.ioctl(any, 0x8914, struct.pack("16sh14x", b"lo", up))  # SIOCSIFFLAGS

loopback(True)
server = socket.create_server(("127.0.0.1", 0))
one = socket.create_connection(server.getsockname())
other, _ = server.accept()
loopback(False)
one.sendall(b"x" * 77)
print("sent", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_what_does_not_get_through(user, public):
    """In a network of its own; who may not go there has no times."""
    if os.getuid() != 0:
        pytest.skip("only root makes a network for another user")
    words = ["unshare", *(["-n"] if user == "root" else ["-rn"]), "/usr/bin/python3", "-c", LOST]
    process = track(subprocess.Popen(
        as_nobody(*words) if user == "nobody" else words, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=die_with_us))
    if process.stdout.readline() != b"sent\n":
        pytest.skip("no network of its own here: %s" % process.stderr.read().decode()[-200:])

    def seen():
        asks = behind(*as_nobody(public + "/hangdbg")) if user == "nobody" else hangdbg
        done = asks("dist", process.pid, "--json")
        assert done.rc == 0, done
        found = done.json()
        flows = [flow for flow in found["connections"] if flow["retransmits"]]
        return flows and found["findings"] and (found, flows)
    found, (flow,) = until("it is sent again", seen)
    assert flow["undelivered"] == 77 and flow["receiver"].startswith("127.0.0.1:")
    assert flow["flow"] == "unreachable" and flow["retransmits"] > 0
    assert "77 bytes do not get through, sent again" in found["findings"][0]
    if user == "root":
        assert found["without_times"] is None and flow["quiet_s"] >= 0
    else:
        assert "cannot enter" in found["without_times"]["message"]
        assert flow["quiet_s"] is None


@pytest.mark.parametrize("words, code, cause", [
    (["0"], 2, "is not a PID"),
    (["x"], 2, "is not a PID"),
    (["1", "--job", "auto"], 2, "a PID and --job cannot be combined"),
    (["--job", "nobody's job"], 2, "no job here is called nobody's job"),
    (["--what"], 2, "--what"),
])
def test_what_it_refuses(words, code, cause):
    done = hangdbg("dist", *words)
    assert done.rc == code and done.out == "", done
    assert cause in done.err.splitlines()[0] and len(done.err.splitlines()) <= 2, done


def test_of_what_is_no_python():
    process = track(subprocess.Popen(["sleep", "100"], start_new_session=True,
                                     preexec_fn=die_with_us))
    done = hangdbg("dist", process.pid)
    assert done.rc == 2 and "Python" in done.err, done
    process.kill()
    process.wait()
    done = hangdbg("dist", process.pid)
    assert done.rc == 2 and "no process" in done.err, done
    done = hangdbg("dist", process.pid, "--json")
    assert done.rc == 2 and done.json()["ranks"][0]["error"]["type"] == "no-such-process", done
