"""`hangdbg serve` where other machines reach it: TLS and the token, or nothing."""

import contextlib
import hashlib
import os
import select
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from dap_client import DapClient, Refused
from dap_server import Server, WebSocketClient
from harness import PROGRAM, hangdbg, start, track


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """--tls-cert and --tls-key, as the refusal says how to make them."""
    folder = tmp_path_factory.mktemp("certificate")
    try:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:3072", "-nodes", "-days", "365",
             "-subj", "/CN=hangdbg", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", "key.pem", "-out", "cert.pem"],
            cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl")
    return "--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem"


def trusting(certificate):
    return ssl.create_default_context(cafile=certificate[1])


def encrypted(kind):
    class Client(kind):
        """Over TLS; `connection` is the socket."""

        def send_bytes(self, data):
            self.connection.sendall(data)

        def _read(self, end):
            if not self.connection.pending():
                left = max(0, end - time.monotonic())
                assert select.select([self.connection], [], [], left)[0], "nothing came"
            chunk = self.connection.recv(1 << 20)
            if not chunk:
                raise EOFError
            self.unread += chunk

    return Client


def dial(server, context):
    plain = socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2])), 10)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def editor_of(server, context):
    kind = WebSocketClient if server.address.startswith("ws:") else DapClient
    client = encrypted(kind)(-1, -1)
    client.connection = dial(server, context)
    if kind is WebSocketClient:
        # The certificate stands for the name; a browser is refused all the same.
        assert b" 101 " in client.upgrade("debug.example:5678")
    return client


@pytest.mark.parametrize("where", ["tcp:0.0.0.0:0", "ws:0.0.0.0:0", "tcp:127.0.0.1:0"])
def test_a_session(newest_python, certificate, where):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    server = Server(where, *certificate)
    context = trusting(certificate)
    for token in (None, server.token[:-1], "0" * 64):
        editor = editor_of(server, context)
        editor.initialize()
        with pytest.raises(Refused, match="wants the token"):  # from the same user too
            editor.call("attach", processId=target.pid, **({"token": token} if token else {}))
        assert editor.at_end(1)
    editor = editor_of(server, context)
    assert editor.attach(target.pid, token=server.token)["threadId"] == target.tid
    frame = editor.call("stackTrace", threadId=target.tid)["stackFrames"][0]["id"]
    whole = editor.call("evaluate", expression="'x' * 3000000", frameId=frame,
                        context="clipboard")["result"]
    assert whole == repr("x" * 3000000)
    der = editor.connection.getpeercert(binary_form=True)
    assert hashlib.sha256(der).hexdigest() == server.fingerprint
    editor.call("disconnect")
    target.assert_as_before(before, arenas=4)
    assert server.token not in server.stop()
    target.finish()


def test_a_browser(certificate):
    server = Server("ws:0.0.0.0:0", *certificate)
    client = encrypted(WebSocketClient)(-1, -1)
    client.connection = dial(server, trusting(certificate))
    assert b" 403 " in client.upgrade("127.0.0.1", Origin="https://127.0.0.1")
    server.stop()


@pytest.mark.parametrize("version, works", [
    ("TLSv1", False), ("TLSv1_1", False), ("TLSv1_2", True), ("TLSv1_3", True)])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_versions(certificate, version, works):
    server = Server("tcp:127.0.0.1:0", *certificate)
    context = trusting(certificate)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    if works:
        assert dial(server, context).version() == version.replace("_", ".")
    else:
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            dial(server, context)
    server.stop()


@pytest.mark.parametrize("listener", ["tcp", "ws"])
def test_who_shakes_no_hands(newest_python, certificate, listener):
    """One says nothing, one speaks no TLS: neither is in another's way."""
    target = start("lock_main", newest_python)
    server = Server(listener + ":127.0.0.1:0", *certificate)
    port = int(server.address.rpartition(":")[2])
    silent = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(20)]
    plain = socket.create_connection(("127.0.0.1", port), 10)
    plain.sendall(b"Content-Length: 2\r\n\r\n{}")
    editor = editor_of(server, trusting(certificate))
    editor.attach(target.pid, token=server.token)
    assert plain.recv(100)[:1] in (b"", b"\x15")  # an alert
    for connection in silent:
        assert connection.recv(1) == b""
    assert editor.call("threads")["threads"]
    server.stop()
    target.finish()


def test_one_guess_in_one_connection(newest_python, certificate):
    """Also where the next one comes before the first is answered."""
    target = start("lock_main", newest_python)
    server = Server("tcp:127.0.0.1:0", *certificate)
    editor = editor_of(server, trusting(certificate))
    editor.initialize()
    pieces = []
    editor.send_bytes = pieces.append
    guesses = [editor.request("attach", processId=target.pid, token=token)
               for token in ("0" * 64, "1" * 64, server.token)]
    del editor.send_bytes
    editor.send_bytes(b"".join(pieces))
    assert editor.at_end(1)
    assert not [number for number in guesses if editor.responses.get(
        number, {"success": False})["success"]]
    server.stop()
    target.finish()


@pytest.mark.parametrize("where", ["tcp:127.0.0.1:0", "ws:127.0.0.1:0"])
def test_a_stranger_may_say_little(newest_python, certificate, where):
    target = start("lock_main", newest_python)
    server = Server(where, *certificate)
    context = trusting(certificate)
    stranger = editor_of(server, context)
    stranger.initialize()
    stranger.request("threads", filler="x" * 60000)
    with contextlib.suppress(OSError):  # it is not read to its end
        stranger.request("threads", filler="x" * 70000)
    assert stranger.at_end(2)
    editor = editor_of(server, context)
    thread = editor.attach(target.pid, token=server.token)["threadId"]
    frame = editor.call("stackTrace", threadId=thread)["stackFrames"][0]["id"]
    assert editor.call("evaluate", expression="len('%s')" % ("x" * 1000000),
                       frameId=frame)["result"] == "1000000"
    editor.disconnect()
    server.stop()
    target.finish()


def test_a_handshake_that_outlives_the_server(certificate):
    """Who has shaken hands after the stop gets no session that would go on."""
    server = Server("tcp:127.0.0.1:0", *certificate)
    plain = server.connect()
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)  # it has stopped to listen
    stays = trusting(certificate).wrap_socket(plain, server_hostname="127.0.0.1")
    assert server.process.wait(4) == 0
    stays.close()


def test_places_that_need_it(certificate, tmp_path):
    for where in ("tcp:0.0.0.0:0", "ws:0.0.0.0:0", "tcp:[::]:0", "tcp:192.0.2.1:0"):
        hangdbg("serve", "--listen", where).assert_refused(
            2, "needs TLS", "openssl req -x509", "--tls-cert")
    hangdbg("serve", "--listen", "unix:%s/s" % tmp_path, *certificate).assert_refused(
        2, "not encrypted")
    hangdbg("serve", "--listen", "tcp:127.0.0.1:0", *certificate[:2]).assert_refused(2, "--tls-key")
    cert, key = certificate[1], certificate[3]
    for one, other in ((key, key), (cert, cert), ("/no/such", key), (cert, "/no/such")):
        hangdbg("serve", "--listen", "tcp:127.0.0.1:0", "--tls-cert", one,
                "--tls-key", other).assert_refused(2, "PEM")


def test_a_key_that_others_can_read(certificate, tmp_path):
    key = tmp_path / "key.pem"
    key.write_bytes(Path(certificate[3]).read_bytes())
    for mode, is_refused in ((0o644, True), (0o640, False), (0o600, False)):
        key.chmod(mode)
        words = [*certificate[:3], key]
        if is_refused:
            hangdbg("serve", "--listen", "tcp:127.0.0.1:0", *words).assert_refused(
                2, "read by others", "chmod 600")
        else:
            Server("tcp:127.0.0.1:0", *words).stop()


def test_a_file_that_never_says_anything(certificate, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo, 0o600)
    cert, key = certificate[1], certificate[3]
    for one, other in ((fifo, key), (cert, fifo)):
        hangdbg("serve", "--listen", "tcp:127.0.0.1:0", "--tls-cert", one,
                "--tls-key", other).assert_refused(2, "no regular file")
    hangdbg("serve", "--listen", "tcp:127.0.0.1:0", "--token-file", fifo).assert_refused(
        2, "a token has")


def test_a_token_from_a_pipe():
    """As bash gives it for <(pass show token)."""
    read, write = os.pipe()
    os.write(write, b"correct horse battery staple\n")
    os.close(write)
    os.set_inheritable(read, True)
    server = subprocess.Popen(
        [str(PROGRAM), "serve", "--listen", "tcp:127.0.0.1:0", "--token-file",
         "/dev/fd/%d" % read],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, close_fds=False, text=True)
    track(server)
    os.close(read)
    assert server.stderr.readline().startswith("listening at ")
    server.send_signal(signal.SIGTERM)
    assert server.wait(20) == 0


def test_a_token_of_ones_own(newest_python, certificate, tmp_path):
    target = start("lock_main", newest_python)
    file = tmp_path / "token"
    file.write_text("correct horse battery staple\n")
    file.chmod(0o644)
    refused = hangdbg("serve", "--listen", "tcp:127.0.0.1:0", "--token-file", file)
    refused.assert_refused(2, "read by others")
    file.chmod(0o600)
    for flags, env in ((["--token-file", file], {}),
                       ([], {"HANGDBG_TOKEN": "correct horse battery staple"})):
        server = Server("tcp:127.0.0.1:0", *certificate, *flags, env=env)
        assert server.token is None
        with open("/proc/%d/cmdline" % server.process.pid) as line:
            assert "horse" not in line.read()
        editor = editor_of(server, trusting(certificate))
        editor.attach(target.pid, token="correct horse battery staple")
        editor.call("disconnect")
        assert server.stop() == ""
    hangdbg("serve", "--listen", "tcp:127.0.0.1:0", env={"HANGDBG_TOKEN": "short"}).assert_refused(
        2, "16 characters")
    target.finish()
