"""`hangdbg connect`: the prompt on a server's machine, typed at from elsewhere."""

import base64
import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import termios

import pytest

import harness
import processes
from dap_client import DapClient, Refused
from dap_server import Server
from harness import as_nobody, hangdbg, start, start_hangdbg, track, until
from terminal import Terminal
from test_dap_breakpoints import FILE, line_of, loops
from test_step import in_second_wait
from test_serve_abuse import MIB, memory
from test_tls import certificate


@pytest.fixture
def connected():
    """connected(server, pid, *flags): a terminal with `hangdbg connect` on it."""
    terminals = []

    def connect(server, pid, *flags):
        terminals.append(Terminal(pid, *flags, command=("connect", address(server))))
        return terminals[-1]

    yield connect
    for one in terminals:
        one.close()


def address(server):
    return server.address.replace("0.0.0.0", "127.0.0.1")


@pytest.mark.parametrize("way", ["unix", "tcp", "ws", "tls", "wss"])
def test_the_prompt(newest_python, connected, certificate, way, tmp_path, monkeypatch):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    flags = []
    if way == "unix":
        server = Server("unix:%s/s" % tmp_path)
    elif way in ("tcp", "ws"):
        server = Server(way + ":127.0.0.1:0")
    else:
        server = Server(("tcp" if way == "tls" else "ws") + ":0.0.0.0:0", *certificate)
        monkeypatch.setenv("HANGDBG_TOKEN", server.token)
        flags = (["--fingerprint", server.fingerprint] if way == "tls" else
                 ["--cacert", certificate[1]])
    session = connected(server, target.pid, *flags)
    session.expect_prompt()
    assert termios.tcgetattr(session.master) != session.modes
    session.ask("p answer + 1", "^42$")
    mark = tmp_path / "mark"
    session.type("open(%r, 'w').close() or [0 for _ in iter(int, 1)]\r" % str(mark))
    until("the expression running", mark.exists)
    session.type("\x03")
    session.expect_prompt(seconds=5)
    session.type("p ans\t\r")  # completion, and colours, are the other side's
    session.expect("^41$")
    session.expect_prompt()
    session.detach()
    assert termios.tcgetattr(session.master) == session.modes
    target.assert_as_before(before, arenas=4)
    until("attach has gone", lambda: not processes.children(server.process.pid))
    server.stop()
    target.finish()


def test_debug_and_several_lines(newest_python, connected):
    """What is typed is completed in code that is debugged, too, and goes over several lines."""
    target = start("stepped", newest_python)
    server = Server("tcp:127.0.0.1:0")
    session = connected(server, target.pid)
    session.expect_prompt()
    session.type("debug compu\t(3)\r")
    session.expect(r"debug compute\(3\)")
    session.expect(r"<expression>\(1\)<module>\(\)")
    session.expect_prompt()
    session.ask("s", "--Call--")
    session.ask("n", "total = 0")
    session.type("p cou\t\r")
    session.expect("^3$")
    session.expect_prompt()
    for line in ("debug for one in (5, 6):", "    print('one', one)"):
        session.type(line + "\r")
        session.expect(r"^\.\.\. ")
    session.type("\r")
    session.expect(r"<expression>\(1\)<module>\(\)")
    session.expect_prompt()
    session.ask("c", "debug has ended")
    assert re.search("^one 5\none 6$", session.text, re.M), session.text
    session.ask("c", "debug has ended: 6")
    session.ask("release", "resumed")
    session.detach()
    server.stop()
    target.go_on()
    until("the second wait", lambda: in_second_wait(target))
    target.finish()


def test_the_size(newest_python, connected):
    target = start("lock_main", newest_python)
    server = Server("tcp:127.0.0.1:0")
    session = connected(server, target.pid)
    session.expect_prompt()
    child, = processes.children(server.process.pid)
    assert size(child) == (24, 120)
    fcntl.ioctl(session.master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 70, 0, 0))
    until("the new size", lambda: size(child) == (50, 70))
    session.detach()
    server.stop()
    target.finish()


def size(pid):
    """Of its terminal."""
    fd = os.open("/proc/%d/fd/0" % pid, os.O_RDWR | os.O_NOCTTY)
    try:
        return struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))[:2]
    finally:
        os.close(fd)


def test_without_a_terminal(newest_python):
    """What `attach` prints and how it ends, apart for stdout and stderr."""
    target = start("lock_main", newest_python)
    before = target.snapshot()
    server = Server("tcp:127.0.0.1:0")
    for commands in (["-c", "p answer", "-c", "w"], ["-c", "p 1 / 0"],
                     ["-c", "p answer", "-c", "nonsense"], ["-c", "p '\\u0416' * 100000"]):
        here = hangdbg("attach", target.pid, *commands)
        there = hangdbg("connect", server.address, target.pid, *commands)
        assert there.rc == here.rc, (here, there)
        assert there.out.splitlines()[2:] == here.out.splitlines()[2:]  # the banner has times
        assert there.err == here.err
    # The only one that hangs, or none: its words.
    there = hangdbg("connect", server.address, "999999999")
    there.assert_refused(2, "no process 999999999")
    typed = start_hangdbg("connect", server.address, target.pid)
    assert harness.outcome(typed).rc == 0  # its stdin has ended
    target.assert_as_before(before, arenas=4)
    server.stop()
    target.finish()


@pytest.mark.parametrize("whose", ["ours", "the server's"])
def test_the_end_lets_a_held_thread_go(edge_python, connected, whose):
    target = start("loop_beside", edge_python)
    before = target.snapshot()
    server = Server("tcp:127.0.0.1:0")
    session = connected(server, target.pid)
    session.expect_prompt()
    session.ask("b %s:%d" % (FILE, line_of("turns += 1")), "Breakpoint 1 at")
    worker, = [tid for tid in processes.threads(target.pid)
               if tid != target.pid and not processes.threads(target.pid)[tid].startswith("hangdbg")]
    until("it stands", lambda: not loops(target, worker))
    os.kill(session.process.pid if whose == "ours" else server.process.pid, signal.SIGKILL)
    until("the loop", lambda: loops(target, worker), seconds=1)
    if whose != "ours":
        assert session.wait() == 4
        assert "the server has gone" in session.text
        assert termios.tcgetattr(session.master) == session.modes
    target.assert_as_before(before, arenas=4)
    assert target.finish()["exact"]


def test_the_way_out_when_nobody_answers(newest_python, connected):
    target = start("lock_main", newest_python)
    server = Server("tcp:127.0.0.1:0")
    for end in ("key", signal.SIGTERM, signal.SIGHUP):
        session = connected(server, target.pid)
        session.expect_prompt()
        server.process.send_signal(signal.SIGSTOP)
        if end == "key":
            session.type("\x1d")
        else:
            session.process.send_signal(end)
        assert session.wait() == 130
        assert termios.tcgetattr(session.master) == session.modes
        server.process.send_signal(signal.SIGCONT)
    server.stop()
    target.finish()


def test_one_who_does_not_read(newest_python):
    target = start("lock_main", newest_python)
    server = Server("tcp:127.0.0.1:0")
    at_first = memory(server.process.pid)
    run = start_hangdbg("connect", server.address, target.pid, "-c",
                        "!for i in range(10**9): print('x' * 1000)")
    assert run.stdout.read(1000)
    run.send_signal(signal.SIGSTOP)
    child, = processes.children(server.process.pid)
    looks = []

    def idle():
        looks.append(processes.cpu_ticks(server.process.pid))
        return len(looks) > 20 and looks[-1] == looks[-20]

    until("it waits", idle)
    assert memory(server.process.pid) - at_first < 16 * MIB
    run.kill()
    until("attach has gone", lambda: not processes.children(server.process.pid))
    server.stop()
    target.finish()


def test_who_gets_none(newest_python, certificate, tmp_path):
    target = start("lock_main", newest_python)
    server = Server("tcp:0.0.0.0:0", *certificate)
    there, pinned = address(server), ("--fingerprint", server.fingerprint)

    def connect(*flags, token=server.token):
        return hangdbg("connect", there, target.pid, "-c", "p answer", *flags,
                       env={"HANGDBG_TOKEN": token})

    assert connect(*pinned).rc == 0
    connect(*pinned, token="0" * 64).assert_refused(3, "wants the token", "--token-file")
    connect("--fingerprint", "0" * 64).assert_refused(3, "certificate")
    connect("--cacert", "/etc/ssl/certs/ca-certificates.crt" if os.path.exists(
        "/etc/ssl/certs/ca-certificates.crt") else "/no/such").assert_refused(
            3 if os.path.exists("/etc/ssl/certs/ca-certificates.crt") else 2)
    connect("--fingerprint", "abc").assert_refused(2, "fingerprint")
    connect().assert_refused(4, "the server has gone")  # it was asked in plain text
    for where in ("tcp:192.0.2.1:1", "ws:192.0.2.1:1"):
        hangdbg("connect", where).assert_refused(2, "needs TLS", "ssh -L")
    plain = Server("tcp:127.0.0.1:0")
    for where in (address(plain), address(plain).replace("tcp", "ws")):
        hangdbg("connect", where, *pinned).assert_refused(4, "speaks no TLS")
    plain.stop()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes all, says nothing
        port = silent.getsockname()[1]
        for where in ("tcp", "ws"):
            hangdbg("connect", "%s:127.0.0.1:%d" % (where, port), "--timeout", "1").assert_refused(
                4, "no answer from")
    hangdbg("connect", "tcp:127.0.0.1:1").assert_refused(4, "refused")
    hangdbg("connect", "unix:%s/none" % tmp_path).assert_refused(4)
    hangdbg("connect", "somewhere").assert_refused(2, "tcp:")
    hangdbg("connect", "tcp:127.0.0.1:1", "--log=x").assert_refused(2)
    assert server.token not in server.stop()
    target.finish()


def test_requests_out_of_order(newest_python):
    target = start("lock_main", newest_python)
    with DapClient.stdio() as editor:
        for command, arguments in (("hangdbg/input", {"data": "eA=="}),
                                   ("hangdbg/resize", {"columns": 1, "rows": 1})):
            with pytest.raises(Refused, match="comes first"):
                editor.call(command, **arguments)
        editor.call("hangdbg/terminal", arguments=[str(target.pid)],
                    screen={"columns": -5, "rows": 2 ** 40}, term="x" * 10000)
        with pytest.raises(Refused, match="attached already"):
            editor.call("hangdbg/terminal", arguments=[])
        with pytest.raises(Refused, match="base64"):
            editor.call("hangdbg/input", data="%%%%")
        printed = b""
        while b"(hangdbg" not in printed:
            printed += base64.b64decode(editor.event("hangdbg/output")["data"])
        editor.call("hangdbg/input", data="BA==")  # Ctrl-D
        assert editor.event("hangdbg/ended") == {"exitCode": 0}
        assert editor.at_end(3)
    target.finish()


STRANGER = """
import os, socket, sys
way, folder = sys.argv[1:]
if way == "unix":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(folder, "socket"))
else:
    listener = socket.socket()
    listener.bind(("127.0.0.1" if way == "tcp" else "0.0.0.0", 0))
listener.listen()
print(listener.getsockname() if way == "unix" else "127.0.0.1:%d" % listener.getsockname()[1],
      flush=True)
peer, _ = listener.accept()
print(repr(peer.recv(4096)), flush=True)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
@pytest.mark.parametrize("way", ["unix", "tcp", "any", "ws"])
def test_the_token_goes_to_no_stranger(way, request):
    """Who listens where our server was to be does not get to know its token."""
    folder = tempfile.TemporaryDirectory()
    request.addfinalizer(folder.cleanup)
    os.chmod(folder.name, 0o777)
    stranger = track(subprocess.Popen(
        as_nobody("/usr/bin/python3", "-c", STRANGER, way.replace("ws", "tcp"), folder.name),
        stdout=subprocess.PIPE, text=True, start_new_session=True))
    where = way.replace("any", "tcp") + ":" + stranger.stdout.readline().strip()
    done = hangdbg("connect", where, "1", env={"HANGDBG_TOKEN": "0123456789abcdef" * 2})
    done.assert_refused(3, "the token is not sent there", "--fingerprint")
    assert stranger.stdout.readline().strip() == "b''"
