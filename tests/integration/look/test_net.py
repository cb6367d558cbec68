"""hangdbg net: sockets in each odd state, made for real in a network of their own; who has
the other end; how it is told where the network may not be entered."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from harness import Target, as_nobody, behind, die_with_us, hangdbg, in_targets, start, track, until
from test_namespaces import PYTHON, needs_root

needs_ip = pytest.mark.skipif(not shutil.which("ip"), reason="ip (iproute2) is not installed")


def begin(python, *args, user=(), targets=None):
    words = [*user, "unshare", "-n" if not user else "-rn", python,
             "%s/evidence_net.py" % (targets or in_targets("evidence_net.py").parent), *args]
    if subprocess.run([*words[:-2 - len(args)], "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no network of its own here")
    return Target(words)


def seen(pid, *args, ask=hangdbg):
    done = ask("net", pid, "--json", *args)
    assert done.rc == 0 and done.err == "", done
    (process,) = done.json()["processes"]
    return process


def by_name(target, process):
    """Of the target's sockets, those that it has a name for."""
    by_fd = {fd: one for one in process["sockets"] for fd in one["fds"]}
    return {name: by_fd[fd] for name, fd in target.ready["fds"].items()}


@needs_root
def test_what_is_odd(some_python):
    target = begin(some_python)
    sockets = {}

    def all_told():
        sockets.update(by_name(target, seen(target.pid)))
        return (sockets["syn"]["retransmits"] > 0
                and sockets["blocked"]["timer"] == "zero-window probe")
    until("asked again", all_told)
    process = seen(target.pid)
    sockets = by_name(target, process)
    assert not process["our_namespace"] and process["skipped"] == [], process

    def odd(name):
        return " | ".join(sockets[name]["odd"])
    assert sockets["full"]["state"] == "LISTEN" and sockets["full"]["backlog"] == 1
    assert sockets["full"]["waiting"] == 2 and "backlog is full: 2 of 1" in odd("full")
    assert sockets["syn"]["state"] == "SYN_SENT"
    assert "SYN_SENT: the peer has not answered, asked again" in odd("syn")
    assert sockets["syn"]["tcp_info"]["last_sent_ms"] is None
    assert sockets["unread"]["unread"] == 10 and odd("unread") == "10 bytes unread"
    assert "the peer has no room: it does not read" in odd("blocked")
    assert sockets["blocked"]["unacknowledged"] > 0
    assert sockets["blocked"]["tcp_info"]["peer_window"] in (0, None)
    assert sockets["reads_not"]["unread"] > 10000 and "bytes unread" in odd("reads_not")
    assert sockets["udp"]["protocol"] == "UDP" and "unread datagrams" in odd("udp")
    assert sockets["lost"]["odd"] == [] and sockets["lost"]["interface"] == "lo"
    assert sockets["lost"]["tcp_info"]["rto_ms"] >= 200
    assert sockets["lost"]["tcp_info"]["congestion_window"] > 0
    # The other ends are in the same process.
    assert {"pid": target.pid, "fd": target.ready["fds"]["talks"]}.items() <= (
        sockets["unread"]["others"][0].items())
    (other,) = sockets["local"]["others"]
    assert other["pid"] == target.ready["child"], other
    assert sockets["named"]["path"] == "@red \x1b[31m" and sockets["named"]["backlog"] == 5
    assert {one["source"] for one in sockets.values()} == {"sock_diag"}

    # Unusual ones first, what gets no answer before what waits.
    badness = [bool(one["odd"]) for one in process["sockets"]]
    assert badness == sorted(badness, reverse=True), process
    assert process["sockets"][0]["state"] == "SYN_SENT", process["sockets"][0]

    done = hangdbg("net", target.pid)
    assert done.rc == 0 and "\x1b" not in done.out and "@red \\x1b[31m LISTEN" in done.out, done
    assert "· in network namespace %d" % os.stat("/proc/%d/ns/net" % target.pid).st_ino in done.out
    assert "SYN_SENT" in done.out.splitlines()[1], done
    coloured = hangdbg("net", target.pid, "--color=always").out
    assert "\x1b[31m10 bytes unread\x1b[0m" in coloured and "@red \\x1b" in coloured, coloured


@needs_root
def test_what_does_not_get_through(some_python, tmp_path):
    target = begin(some_python, tmp_path / "cut")
    (tmp_path / "cut").touch()

    def lost():
        one = by_name(target, seen(target.pid))["lost"]
        return one["retransmits"] > 0 and one
    one = until("sent again", lost)
    assert one["unacknowledged"] == 77 and one["tcp_info"]["backoff"] > 0, one
    assert one["timer"] == "retransmit" and one["timer_ms"] >= 0, one
    assert one["odd"][0] == "its interface lo is down", one
    assert any(odd.startswith("sent again ") for odd in one["odd"]), one
    assert "77 bytes not acknowledged" in one["odd"], one


@needs_root
def test_options_are_asked_of_the_socket_itself(some_python):
    target = begin(some_python)
    before = target.snapshot()
    sockets = by_name(target, seen(target.pid, "--options"))
    assert sockets["talks"]["options"] == {
        "keep_alive": True, "keep_idle_s": 90, "user_timeout_ms": None,
        "receive_timeout_ms": None, "send_timeout_ms": None, "device": ""}
    assert sockets["unread"]["options"]["keep_alive"] is False
    assert sockets["unread"]["unread"] == 10  # as it was
    target.assert_as_before(before, arenas=0)
    assert "keep-alive after 1 min 30 s" in hangdbg("net", target.pid, "--options").out


@needs_root
def test_a_network_that_may_not_be_entered(public):
    """The owner of the namespace's user may look into its sockets, and not go there."""
    user = as_nobody()
    yama = Path("/proc/sys/kernel/yama/ptrace_scope")
    if yama.exists() and yama.read_text().strip() != "0":
        pytest.skip("Yama lets nobody trace here")
    target = begin(PYTHON, user=user, targets=public + "/targets")
    ask = behind(*user, public + "/hangdbg")
    sockets = by_name(target, seen(target.pid, ask=ask))
    assert sockets["unread"]["source"] == "pidfd_getfd", sockets["unread"]
    assert (sockets["unread"]["state"], sockets["unread"]["unread"]) == ("ESTABLISHED", 10)
    assert sockets["unread"]["tcp_info"]["rto_ms"] >= 200
    assert sockets["full"]["backlog"] == 1 and sockets["full"]["waiting"] == 2
    process = seen(target.pid, ask=ask)
    assert any("TCP: sock_diag: cannot enter" in one for one in process["skipped"]), process
    assert any("its interfaces: cannot enter" in one for one in process["skipped"]), process


@needs_root
@needs_ip
def test_the_interface_and_who_is_in_another_network(newest_python):
    spaces = []
    for _ in range(2):
        holder = track(subprocess.Popen(["unshare", "-n", "sleep", "1000"],
                                        start_new_session=True, preexec_fn=die_with_us))
        own = os.readlink("/proc/self/ns/net")
        until("a network of its own",
              lambda pid=holder.pid: os.readlink("/proc/%d/ns/net" % pid) != own)
        spaces.append(holder.pid)

    def inside(space, *words):
        done = subprocess.run(["nsenter", "-t", str(space), "-n", *words],
                              stderr=subprocess.PIPE)
        if done.returncode:
            pytest.skip("no network of its own here: %s" % done.stderr.decode())
    inside(spaces[0], "ip", "link", "add", "eth7", "type", "veth", "peer", "name", "eth8",
           "netns", str(spaces[1]))
    for number, device in enumerate(["eth7", "eth8"]):
        inside(spaces[number], "ip", "addr", "add", "10.78.1.%d/24" % (number + 1), "dev", device)
        inside(spaces[number], "ip", "link", "set", device, "up")

    def python(space, program):
        return track(subprocess.Popen(
            ["nsenter", "-t", str(space), "-n", newest_python, "-c", program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            preexec_fn=die_with_us))
    server = python(spaces[1], "import socket, sys\n"
                               "made = socket.create_server(('10.78.1.2', 7000))\n"
                               "print(1, flush=True)\n"
                               "kept = made.accept()\n"
                               "made.close()\n"
                               "print(2, flush=True)\n"
                               "sys.stdin.read()\n")
    assert server.stdout.readline()
    client = python(spaces[0], "import socket, sys\n"
                               "one = socket.create_connection(('10.78.1.2', 7000))\n"
                               "sys.stdin.readline()\n"
                               "one.sendall(b'x' * 50)\n"
                               "print(3, flush=True)\n"
                               "sys.stdin.read()\n")
    assert server.stdout.readline()
    (one,) = seen(client.pid)["sockets"]
    assert one["interface"] == "eth7" and one["remote"] == "10.78.1.2:7000", one
    assert [other["pid"] for other in one["others"]] == [server.pid], one
    inside(spaces[1], "ip", "link", "set", "eth8", "down")
    client.stdin.write(b"\n")
    client.stdin.flush()
    assert client.stdout.readline()
    one = until("without a carrier", lambda: [
        one for one in seen(client.pid)["sockets"]
        if "its interface eth7 is without a carrier" in one["odd"]])[0]
    assert one["unacknowledged"] == 50, one


def test_of_this_process_itself():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(7)
    ours = socket.create_connection(server.getsockname())
    process = seen(os.getpid())
    by_fd = {fd: one for one in process["sockets"] for fd in one["fds"]}
    assert process["our_namespace"]
    assert by_fd[server.fileno()]["backlog"] == 7 and by_fd[server.fileno()]["waiting"] == 1
    assert by_fd[server.fileno()]["odd"] == ["1 of 7 wait to be accepted"]
    assert by_fd[ours.fileno()]["remote"] == "127.0.0.1:%d" % server.getsockname()[1]
    ours.close()
    server.close()


def test_without_any(some_python):
    target = start("evidence_threads", some_python)
    done = hangdbg("net", target.pid)
    assert done.rc == 0 and "· 0 sockets" in done.out, done
    target.finish()


def test_several():
    done = hangdbg("net", os.getpid(), 2 ** 22 - 1, "--json")
    assert done.rc == 1, done
    assert done.json()["processes"][1]["error"]["type"] == "no-such-process", done


@needs_root
def test_who_may_not_look(some_python, public):
    target = start("evidence_threads", some_python)
    done = behind(*as_nobody(public + "/hangdbg"))("net", target.pid)
    done.assert_refused(3, "sudo hangdbg net %d" % target.pid)
    target.finish()


def test_bad_input():
    hangdbg("net", 2 ** 22 - 1).assert_refused(2, "no process", "hangdbg ps")
    hangdbg("net", "one").assert_refused(2, "is not a PID", "hangdbg ps")
    hangdbg("net", "--nothing").assert_refused(2, "hangdbg net --help")
