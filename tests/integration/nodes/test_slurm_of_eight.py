"""A real Slurm of eight hosts, and a job of torchrun's below it: one srun carries the commands to all."""

import json
import re

import pytest

import torches
from harness import hangdbg, in_targets, until
from slurm_hosts import SlurmOfHosts
from sshd_hosts import Nodes
from torch_job import TORCHES

pytestmark = pytest.mark.slow

HOSTS = 8
IMPORT = 300  # seconds: sixteen times torch, on two CPUs


@pytest.fixture
def nodes(tmp_path):
    made = Nodes(tmp_path, ["n%d" % (at + 1) for at in range(HOSTS)])
    yield made
    made.down()


def ranks_of(tree):
    """Those at any of its branches: "[0,2-4] 4 ranks on ..."."""
    found = set()
    for ranks in re.findall(r"^ *\[([\d,-]+)\] ", tree, re.M):
        for part in ranks.split(","):
            first, _, last = part.partition("-")
            found.update(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.parametrize("python", TORCHES[-1:])
def test_a_torchrun_job_of_eight_hosts(nodes, python, tmp_path):
    slurm = SlurmOfHosts(nodes, tmp_path)
    folder = tmp_path / "job"
    folder.mkdir()
    torchrun = [word for word in torches.torchrun(python, 1) if not word.startswith("--master")]
    job = slurm.run(
        "sh", "-c", "cd /; export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=eth0; exec %s --nnodes=%d "
        "--node-rank=$SLURM_PROCID --master-addr=%s.1 --master-port=29500 %s plain %s 0 600 "
        ">%s/log-$SLURM_PROCID 2>&1 </dev/null" % (
            " ".join(torchrun), HOSTS, nodes.net, in_targets("torch_loop.py"), folder, folder))
    until("all run", lambda: all((folder / str(rank)).exists() and (folder / str(rank)).stat().st_size > 12
                                 for rank in range(HOSTS)), IMPORT)

    def ask(command, *words):
        return hangdbg(command, *words, "--timeout", "60", "--via", "srun:" + job, env=slurm.environment())

    merged = ask("dump", "--merge", "--job", "auto")
    assert merged.rc == 0 and ranks_of(merged.out) == set(range(HOSTS)), merged
    asked = ask("eval", "rank", "--frame", "train", "--job", "auto")
    assert sorted(asked.out.splitlines()) == ["[n%d:%d] %d" % (at + 1, at, at) for at in range(HOSTS)], asked
    dist = ask("dist", "--job", "auto")
    assert "8 ranks on n[1-8]" in dist.out, dist

    # One is stopped: the others wait for it.
    answers = json.loads(ask("ps", "--json").out)["nodes"]
    [pid] = [one["pid"] for node in answers if node["node"] == "n6"
             for one in node["answer"]["processes"] if one["rank"] == 5 and one["role"] == "rank"]
    nodes.ssh("n6", "kill -STOP %d" % pid)
    said = {}

    def told():
        said.update(ask("diagnose", "--json", "--job", "auto", "--hung-after", "1").json())
        return said.get("cause") == "stopped"
    until("it is found", told, IMPORT)
    assert "rank 5" in said["summary"] and len(said["ranks"]) == HOSTS, said
    nodes.ssh("n6", "kill -CONT %d" % pid)
    before = (folder / "0").stat().st_size
    until("it goes on", lambda: (folder / "0").stat().st_size > before)
