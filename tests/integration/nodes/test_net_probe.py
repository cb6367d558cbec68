"""`net --probe`: which hosts reach each other, and what of the network differs."""

import json
import re
import socket

import pytest

from harness import hangdbg
from sshd_hosts import Nodes, run

# Names of all hosts, as a cluster has them; {net} is the hosts' network.
HOSTS = "".join("{net}.%d n%d\\n" % (number, number) for number in range(1, 5))


def hosts_file(text):
    """What is mounted first in a host, so that /etc/hosts is this."""
    return ("printf '127.0.0.1 localhost\\n%s' >{folder}/hosts; "
            "mount --bind {folder}/hosts /etc/hosts" % text)


@pytest.fixture
def make_nodes(tmp_path):
    made = []

    def make(*names, **more):
        made.append(Nodes(tmp_path, names, **more))
        return made[-1]

    yield make
    for nodes in made:
        nodes.down()


def probe(nodes, *words):
    words = ("--timeout", "60", *words)  # it ends once all have been reached
    text = nodes.hangdbg("net", "--probe", "--via", "ssh:n[1-%d]" % len(nodes.names), *words)
    report = nodes.hangdbg("net", "--probe", "--via", "ssh:n[1-%d]" % len(nodes.names),
                           "--json", *words)
    assert text.rc == report.rc, (text, report)
    return text, json.loads(report.out)


def test_hosts_that_reach_each_other(make_nodes):
    nodes = make_nodes("n1", "n2", "n3", mounts=dict.fromkeys(
        ["n1", "n2", "n3"], hosts_file(HOSTS)))
    text, report = probe(nodes, "n1:22")
    assert text.rc == 0, text
    assert "3 nodes, 6 pairs: all connect" in text.out, text
    assert "n1:22: accepted from n[1-3]" in text.out
    assert "[n2] eth0 %s.2, up, 10 Gbit/s, MTU 1500 (NCCL, gloo)" % nodes.net in text.out
    assert report["findings"] == [] and len(report["connections"]) == 9, report
    # The ports were open for the test alone.
    for name in nodes.names:
        listening = nodes.ssh(name, "cat /proc/net/tcp /proc/net/tcp6")
        states = [line.split()[1:4] for line in listening.splitlines() if ":" in line]
        assert {local.split(":")[1] for local, _, state in states if state == "0A"} == {"0016"}


def test_each_fault_of_the_network_is_named(make_nodes):
    """n2 does not get to n1, n3 has a smaller MTU on its way, n4 another one and another idea
    of n2."""
    other = HOSTS.replace("{net}.2 n2", "{net}.77 n2")
    nodes = make_nodes("n1", "n2", "n3", "n4", mounts={
        "n1": hosts_file(HOSTS), "n2": hosts_file(HOSTS), "n3": hosts_file(HOSTS),
        "n4": hosts_file(other)})
    # Packets to a neighbour that nobody is: they are dropped.
    nodes.ssh("n2", "ip neigh replace %s.1 lladdr 02:00:00:00:00:99 dev eth0 nud permanent"
              % nodes.net)
    nodes.narrow("n3", 1000)
    nodes.ssh("n4", "ip link set eth0 mtu 1400")
    done = nodes.hangdbg("net", "--probe", "n1:29500", "--via", "ssh:n[1-4]", "--timeout", "20")
    assert done.rc == 1, done
    net = nodes.net
    for line in ("n[1-2,4] -> n3 (%s.3, eth0): large packets are lost on the way there" % net,
                 "n1 -> n2 (%s.2, eth0): no answer" % net,
                 "n2 -> n1 (%s.1, eth0): no answer" % net,
                 "n[1,3-4] -> n1:29500 (%s.1): refused" % net,
                 "n2 -> n1:29500 (%s.1): no answer" % net,
                 "n2 is %s.77 on n4, and n2 has %s.2" % (net, net),
                 "the MTU of eth0 is 1400 on n4, 1500 on n[1-3]"):
        assert "  %s\n" % line in done.out, (line, done)
    # The worst node first.
    assert re.search(r"from \\ to +n3 +n1 +n2 +n4\n", done.out), done
    assert re.search(r"\nn4 +large lost +ok +ok +\.\n", done.out), done


def test_an_interface_that_gloo_should_not_use(make_nodes, newest_python):
    """A rank whose variable names the loopback: its host is reached, and it is not."""
    nodes = make_nodes("n1", "n2", mounts=dict.fromkeys(["n1", "n2"], hosts_file(HOSTS)))
    nodes.start("n2", newest_python, "lock_main.py", RANK=1, WORLD_SIZE=2, MASTER_ADDR="n1",
                MASTER_PORT=22, GLOO_SOCKET_IFNAME="lo")
    text, report = probe(nodes)
    assert text.rc == 1, text
    assert [one["text"] for one in report["findings"]] == [
        "n2: gloo uses lo (GLOO_SOCKET_IFNAME=lo), where n1 does not reach it; "
        "GLOO_SOCKET_IFNAME=eth0 is reached"], text
    # Where its ranks meet is tried without being asked for.
    assert "n1:22: accepted from n[1-2]" in text.out, text


def test_of_this_machine_alone():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = hangdbg("net", "--probe", "127.0.0.1:%d" % port)
        assert "127.0.0.1:%d: accepted from " % port in done.out, done
    gone = hangdbg("net", "--probe", "127.0.0.1:%d" % port)
    assert gone.rc == 1 and "-> 127.0.0.1:%d: refused" % port in gone.out, gone
    wrong = hangdbg("net", "--probe", "nowhere")
    wrong.assert_refused(2, "this is no HOST:PORT", "--probe node01:29500")
    nobody = hangdbg("net", "--probe", "no-such-name.invalid:1")
    assert nobody.rc == 1 and "the name does not resolve" in nobody.out, nobody


def test_nodes_that_are_one_machine():
    """Stand-ins: each is one of the plan's, by the port that it can have."""
    done = hangdbg("net", "--probe", "--json", "--timeout", "60",
                   "--via", "cmd:n[1-3] env NODE={host}")
    report = json.loads(done.out)
    assert {(one["from"], one["to"]) for one in report["connections"]} == {
        (one, other) for one in ("n1", "n2", "n3") for other in ("n1", "n2", "n3")
        if one != other}
