"""`hangdbg serve`: sessions over a socket, and who is refused one."""

import json
import os
import re
import signal
import socket
import stat
import subprocess

import pytest

import harness
import processes
from dap_client import DapClient, Refused
from dap_server import Server, WebSocketClient
from harness import PROGRAM, as_nobody, hangdbg, outcome, start, start_hangdbg, until
from test_namespaces import needs_root


@pytest.fixture(params=["unix", "tcp", "ws"])
def server(request, tmp_path):
    return Server("unix:%s/s" % tmp_path if request.param == "unix"
                  else request.param + ":127.0.0.1:0")


def look(editor, target):
    thread = editor.attach(target.pid)["threadId"]
    frame = editor.call("stackTrace", threadId=thread)["stackFrames"][0]["id"]
    answer = editor.call("evaluate", expression="answer", frameId=frame)
    assert answer["result"] == "41"


def test_a_session(edge_python, server):
    target = start("lock_main", edge_python)
    before = target.snapshot()
    editor = server.editor()
    look(editor, target)
    editor.disconnect()
    target.assert_as_before(before, arenas=4)
    assert server.stop() == ""
    target.finish()


def test_many_sessions_of_many_targets(newest_python, server):
    targets = [start("lock_main", newest_python) for _ in range(2)]
    before = [target.snapshot() for target in targets]
    editors = [(server.editor(), target) for target in targets for _ in range(4)]
    for editor, target in editors:
        look(editor, target)
    editors[0][0].disconnect()
    editors[1][0].connection.close()  # vanishes
    assert all(editor.call("threads")["threads"] for editor, _ in editors[2:])
    server.stop()
    assert all(editor.at_end(1) for editor, _ in editors[2:])
    for target, snapshot in zip(targets, before):
        target.assert_as_before(snapshot, arenas=8)
        target.finish()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_in_the_middle_of_an_expression(newest_python, server, how):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    editor = server.editor()
    frame = editor.call("stackTrace", threadId=editor.attach(target.pid)["threadId"])
    editor.request("evaluate", expression="while True: pass",
                   frameId=frame["stackFrames"][0]["id"])
    until("the loop runs", lambda: any(
        harness.processes.thread_activity(target.pid, tid).syscall == "running"
        for tid in harness.processes.threads(target.pid)))
    server.stop(how)
    target.assert_as_before(before, arenas=4)
    target.finish()


def test_64_sessions(newest_python, server):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    editors = [server.editor() for _ in range(64)]
    for editor in editors:
        editor.initialize()
    look(server.editor(), target)
    for editor in editors:
        editor.connection.close()
    server.stop()
    target.assert_as_before(before, arenas=4)
    target.finish()


# ---- who gets none


def test_the_sockets_file(tmp_path):
    path = tmp_path / "s"
    server = Server("unix:%s" % path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    hangdbg("serve", "--listen", "unix:%s" % path).assert_refused(4, path)
    server.process.kill()
    server.process.wait()
    assert path.exists()
    server = Server("unix:%s" % path)  # nobody answers there: it is in the way
    server.stop()
    assert not path.exists()
    path.write_text("mine")
    hangdbg("serve", "--listen", "unix:%s" % path).assert_refused(4, path)
    assert path.read_text() == "mine"


@needs_root
def test_another_user_at_the_sockets_file(public):
    server = Server("unix:%s/s" % public)
    os.chmod(server.address[len("unix:"):], 0o777)  # as if the mode were no help
    reads = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
        "print(len(s.recv(1)))")
    done = subprocess.run(
        as_nobody("/usr/bin/python3", "-c", reads, server.address[len("unix:"):]),
        stdout=subprocess.PIPE, text=True, timeout=10)
    assert done.stdout == "0\n", done
    server.stop()


@needs_root
def test_another_user_at_a_port_needs_the_token(newest_python):
    target = start("lock_main", newest_python)
    server = Server("tcp:127.0.0.1:0")
    port = server.address.rpartition(":")[2]
    relay = subprocess.Popen(
        as_nobody("/usr/bin/python3", "-c", RELAY, port),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        preexec_fn=harness.die_with_us, start_new_session=True)
    harness.track(relay)
    for token, words in ((None, "wants the token"), ("0" * 64, "wants the token"),
                         (server.token[:-1], "wants the token"), (server.token, None)):
        with through(relay) as line:
            editor = DapClient(line.fileno(), line.fileno())
            editor.initialize()
            arguments = {"token": token} if token else {}
            if words:
                with pytest.raises(Refused, match=words):
                    editor.call("attach", processId=target.pid, **arguments)
                assert editor.at_end(1)  # one guess a connection
            else:
                editor.call("attach", processId=target.pid, **arguments)
                editor.disconnect()
    assert server.token not in server.stop()
    target.finish()


@needs_root
@pytest.mark.parametrize("flags", ["-U", "-Ur"])
def test_a_stranger_to_the_servers_user_namespace(flags, public):
    """Seen from in there he has the same number as everybody whom it does not know, the
    server itself perhaps too."""
    if subprocess.run(["unshare", flags, "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no user namespaces here")
    server = Server("tcp:127.0.0.1:0", before=["unshare", flags])
    relay = subprocess.Popen(
        as_nobody("/usr/bin/python3", "-c", RELAY, server.address.rpartition(":")[2]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        preexec_fn=harness.die_with_us, start_new_session=True)
    harness.track(relay)
    with through(relay) as line:
        editor = DapClient(line.fileno(), line.fileno())
        editor.initialize()
        with pytest.raises(Refused, match="wants the token"):
            editor.call("attach", processId=os.getpid())
    server.stop()


# Passes on what comes in at a port of its own, as somebody else: as sshd does.
RELAY = """
import socket, sys, threading
def pump(a, b):
    try:
        while True:
            data = a.recv(65536)
            if not data:
                break
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try: s.shutdown(socket.SHUT_RDWR)
        except OSError: pass
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    one = listener.accept()[0]
    two = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    threading.Thread(target=pump, args=(one, two), daemon=True).start()
    threading.Thread(target=pump, args=(two, one), daemon=True).start()
"""


def through(relay):
    if not hasattr(relay, "port"):
        relay.port = int(relay.stdout.readline())
    return socket.create_connection(("127.0.0.1", relay.port))


@needs_root
def test_another_users_closed_connection(newest_python, tmp_path, public):
    """It is in the kernel's table as root's, and what it has said can be read."""
    marker, shell = tmp_path / "marker", tmp_path / "python"
    shell.write_text("#!/bin/sh\ntouch %s\n" % marker)
    shell.chmod(0o755)
    server = Server("tcp:127.0.0.1:0")
    messages = b""
    for seq, (command, arguments) in enumerate((
            ("initialize", {"adapterID": "x"}),
            ("launch", {"program": "x", "python": str(shell)})), 1):
        text = json.dumps({"seq": seq, "type": "request", "command": command,
                           "arguments": arguments}).encode()
        messages += b"Content-Length: %d\r\n\r\n" % len(text) + text
    hits_and_runs = (
        "import socket, sys; s = socket.socket(); s.connect(('127.0.0.1', int(sys.argv[1]))); "
        "s.sendall(bytes.fromhex(sys.argv[2])); s.close()")
    os.kill(server.process.pid, signal.SIGSTOP)
    subprocess.run(as_nobody("/usr/bin/python3", "-c", hits_and_runs,
                             server.address.rpartition(":")[2], messages.hex()),
                   check=True, timeout=10)
    os.kill(server.process.pid, signal.SIGCONT)
    server.editor().initialize()  # it comes after that one
    server.stop()
    assert not marker.exists()


def test_the_token_is_not_logged(newest_python):
    target = start("lock_main", newest_python)
    process = subprocess.Popen(
        [str(PROGRAM), "serve", "--listen", "tcp:127.0.0.1:0", "--log=all:trace"],
        stderr=subprocess.PIPE, preexec_fn=harness.die_with_us, start_new_session=True,
        text=True)
    harness.track(process)
    port, token = re.search(r":(\d+) token (\w+)", process.stderr.readline()).groups()
    connection = socket.create_connection(("127.0.0.1", int(port)))
    editor = DapClient(connection.fileno(), connection.fileno())
    editor.initialize()
    editor.call("attach", processId=target.pid, token=token)
    editor.disconnect()
    process.terminate()
    log = process.communicate(timeout=5)[1]
    assert "initialize" in log and token not in log
    target.finish()


def test_a_websocket_closes_in_good_manners(newest_python):
    target = start("lock_main", newest_python)
    server = Server("ws:127.0.0.1:0")
    editor = server.editor()
    editor.attach(target.pid)
    editor.disconnect()
    assert editor.closed_with == 1000
    for kind, body in ((0x82, b"{}"), (0x81, b" " * (9 << 20)), (0x81, b"\xff")):
        editor = server.editor()
        editor.initialize()
        try:
            editor.send_frame(kind, body)
        except (BrokenPipeError, ConnectionResetError):
            continue
        assert editor.at_end(2)
    server.stop()
    target.finish()


@pytest.mark.parametrize("host, headers, code", [
    ("127.0.0.1:5678", {}, 101), ("127.0.0.1", {}, 101), ("[::1]:5678", {}, 101),
    ("127.0.0.1:1", {"Origin": "http://127.0.0.1:1"}, 403),
    ("127.0.0.1:1", {"Origin": "null"}, 403), ("127.0.0.1:1", {"Origin": ""}, 403),
    ("localhost", {}, 403), ("localhost6:1", {}, 403), ("evil.example:1", {}, 403),
    ("127.1", {}, 403), ("0177.0.0.1", {}, 403), ("2130706433", {}, 403),
    ("127.0.0.1.evil.example", {}, 403), ("[::1].evil.example", {}, 403), ("[::1", {}, 403),
    ("127.0.0.1:x", {}, 403), ("192.168.1.1", {}, 403), ("", {}, 403),
    ("LOCALHOST", {}, 403), ("127.0.0.1.", {}, 403), ("0x7f.0.0.1", {}, 403),
    ("0x7f000001", {}, 403), ("017700000001", {}, 403), ("[::1%lo]", {}, 403),
    ("[::ffff:127.0.0.1]", {}, 403), ("0.0.0.0", {}, 403), ("[::]", {}, 403)])
def test_a_browser_at_a_websocket(host, headers, code):
    server = Server("ws:127.0.0.1:0")
    connection = server.connect()
    client = WebSocketClient(connection.fileno(), connection.fileno())
    assert b" %d " % code in client.upgrade(host, **headers).splitlines()[0]
    if code != 101:
        assert client.at_end(1)
    connection.close()
    server.stop()


def test_a_websocket_without_a_handshake():
    server = Server("ws:127.0.0.1:0")
    connection = server.connect()
    connection.settimeout(10)
    connection.sendall(b"GET / HTTP/1.1\r\n")
    assert connection.recv(1) == b""
    server.stop()


@pytest.mark.parametrize("request_line", [
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}",
    b"GET / HTTP/1.1\r\nHost: localhost6\r\n\r\n"], ids=["post", "get"])
def test_a_browser_at_the_port(server, request_line):
    connection = server.connect()
    connection.settimeout(2)
    connection.sendall(request_line)
    try:
        answer = connection.recv(100)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 403 "), answer
    except ConnectionResetError:
        pass
    server.stop()


@pytest.mark.parametrize("where", [
    "tcp:localhost:0", "tcp:localhost6:0",
    "tcp:127.1:0", "tcp:0177.0.0.1:0", "tcp:127.0.0.1", "tcp:127.0.0.1:65536", "tcp::0",
    "ws:localhost:0", "wss:127.0.0.1:0", "unix:", "unix:" + "x" * 108, "127.0.0.1:0", ""])
def test_places_where_it_does_not_listen(where):
    hangdbg("serve", "--listen", where).assert_refused(2, "ssh -L")


def test_nothing_listens_but_serve(newest_python):
    def listens(pid):
        return processes.listening(processes.sockets(pid))

    target = start("lock_main", newest_python)
    with DapClient.stdio() as editor:
        editor.attach(target.pid)
        assert not listens(target.pid) and not listens(editor.process.pid)
        editor.disconnect()
    run = start_hangdbg("eval", target.pid, "__import__('time').sleep(60)")
    until("it evaluates", lambda: "hangdbg-exec" in processes.threads(target.pid).values())
    assert not listens(target.pid) and not listens(run.pid)
    run.kill()
    run.wait()
    server = Server("tcp:127.0.0.1:0")
    assert len(listens(server.process.pid)) == 1
    server.stop()
    target.finish()


def test_what_starts_it_reads_where_it_listens_and_ends_it(newest_python):
    def session(address):
        host, port = address.split(":")[1:]
        connection = socket.create_connection((host, int(port)))
        return connection, DapClient(connection.fileno(), connection.fileno())

    target = start("lock_main", newest_python)
    before = target.snapshot()
    server = start_hangdbg("serve", "--listen", "tcp:127.0.0.1:0", "--json", "--until-eof",
                           stdin=subprocess.PIPE)
    said = json.loads(server.stdout.readline())
    assert said["version"] in hangdbg("--version").out and said["protocol"] >= 1
    assert len(said["token"]) == 64 and said["fingerprint"] is None
    connection, editor = session(said["address"])
    look(editor, target)
    server.stdin.write("what it does not read\n")
    server.stdin.flush()
    assert editor.call("threads")["threads"]
    server.stdin.close()
    server.stdin = None
    assert editor.at_end(5)
    done = outcome(server)
    assert (done.rc, done.out, done.err) == (0, "", "")
    target.assert_as_before(before, arenas=4)
    target.finish()
    connection.close()


def test_a_token_that_was_given_is_not_told():
    token = "a" * 64
    server = start_hangdbg("serve", "--listen", "tcp:127.0.0.1:0", "--json", "--until-eof",
                           env={"HANGDBG_TOKEN": token})
    done = outcome(server)
    assert json.loads(done.out)["token"] is None and token not in done.out + done.err


def test_why_it_does_not_listen_as_json():
    done = hangdbg("serve", "--listen", "tcp:localhost:0", "--json")
    assert done.assert_refused_as_json(2, "ssh -L")["type"] == "usage"
