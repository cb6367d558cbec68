"""A real torch job of two hosts, one rank each: what its ends say together."""

import json
import re

import pytest

from harness import in_targets, until
from sshd_hosts import Nodes
from torch_job import TORCHES

IMPORT = 120  # seconds: twice torch, on two CPUs


@pytest.fixture(params=TORCHES[-1:])
def torch_python(request):
    return request.param


@pytest.fixture
def nodes(tmp_path):
    made = Nodes(tmp_path, ("n1", "n2"))
    yield made
    made.down()


def test_a_cut_between_hosts_is_told_from_both_ends(nodes, torch_python, tmp_path):
    folder = tmp_path / "job"
    folder.mkdir()
    for rank, name in enumerate(nodes.names):
        nodes.ssh(name, "cd /; OMP_NUM_THREADS=%d RANK=%d WORLD_SIZE=2 MASTER_ADDR=%s.1 "
                  "MASTER_PORT=29500 GLOO_SOCKET_IFNAME=eth0 %s %s %s all "
                  ">%s/log-%d 2>&1 </dev/null &" % (
                      rank + 1, rank, nodes.net, torch_python, in_targets("causes_jobs.py"),
                      folder, folder, rank))
    until("both have met", lambda: all((folder / ("ready-%d" % rank)).exists()
                                       for rank in range(2)), IMPORT)
    (folder / "go-0").touch()
    # Each takes the other for a neighbour that nobody is.
    for name, other in (("n1", 2), ("n2", 1)):
        nodes.ssh(name, "ip neigh replace %s.%d lladdr 02:00:00:00:00:99 dev eth0 nud permanent"
                  % (nodes.net, other))
    (folder / "cut").touch()
    said = {}

    def told():
        done = nodes.hangdbg("diagnose", "--json", "--job", "auto", "--hung-after", "1", "--via",
                             "ssh:n[1-2]")
        said.update(json.loads(done.out))
        return said.get("cause") == "peer-unreachable"
    until("the cut is found", told, IMPORT)
    assert re.match(r"rank (0 does not reach rank 1|1 does not reach rank 0): \d+ bytes are sent "
                    r"again and again", said["summary"]), said
    assert any(re.match(r"rank [01] has the other end, to which nothing has come for ", one)
               for one in said["evidence"]), said
    assert any(one["command"] == "hangdbg net --probe --via 'ssh:n[1-2]'"
               for one in said["next"]), said
    # And what is not the same on both.
    assert "OMP_NUM_THREADS: 1 on n1, 2 on n2" in said["differences"], said
    assert len(said["differences"]) == 1, said
