"""`hangdbg serve`, and editors that connect to it.

    server = Server("tcp:127.0.0.1:0")
    editor = server.editor()
    editor.attach(target.pid)
    server.stop()
"""

import json
import os
import re
import signal
import socket
import subprocess
import time

import harness
from dap_client import DapClient
from harness import PROGRAM


class Server:
    """`hangdbg serve`; `address` is what it says, `token` as well."""

    def __init__(self, where, *flags, env=None, before=()):
        self.process = subprocess.Popen(
            [*before, str(PROGRAM), "serve", "--listen", where, *map(str, flags)],
            env=dict(os.environ, **(env or {})),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, preexec_fn=harness.die_with_us, text=True)
        harness.track(self.process)
        line = self.process.stderr.readline()
        self.address, self.token, self.fingerprint = re.fullmatch(
            r"listening at (\S+)(?: token ([0-9a-f]{64}))?"
            r"(?: fingerprint ([0-9a-f]{64}))?\n", line).groups()

    def connect(self):
        if self.address.startswith("unix:"):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(self.address[len("unix:"):])
        else:
            connection = socket.create_connection(
                ("127.0.0.1", int(self.address.rpartition(":")[2])))
        return connection

    def editor(self):
        connection = self.connect()
        client = DapClient(connection.fileno(), connection.fileno())
        if self.address.startswith("ws:"):
            client = WebSocketClient(connection.fileno(), connection.fileno())
            assert b" 101 " in client.upgrade()
        client.connection = connection
        return client

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        assert self.process.wait(5) == 0
        return self.process.stderr.read()


class WebSocketClient(DapClient):
    """Each message in a text frame (RFC 6455), ours masked with zeros."""

    def upgrade(self, host="127.0.0.1:1", **headers):
        lines = ["GET / HTTP/1.1", "Host: " + host, "Upgrade: websocket",
                 "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
        lines += ["%s: %s" % header for header in headers.items()]
        self.send_bytes("\r\n".join(lines + ["", ""]).encode())
        end = time.monotonic() + harness.PATIENCE
        while b"\r\n\r\n" not in self.unread:
            self._read(end)
        answer, _, self.unread = self.unread.partition(b"\r\n\r\n")
        return answer

    def send_text(self, text):
        self.send_frame(0x81, text.encode())

    def send_frame(self, kind, body):
        size = len(body)
        length = (bytes([0x80 | size]) if size < 126 else
                  b"\xfe" + size.to_bytes(2, "big") if size < 65536 else
                  b"\xff" + size.to_bytes(8, "big"))
        self.send_bytes(bytes([kind]) + length + bytes(4) + body)

    def _read_message(self, end):
        kind, size = self._take(2, end)
        if size >= 126:
            size = int.from_bytes(self._take(2 if size == 126 else 8, end), "big")
        body = self._take(size, end)
        if kind == 0x88:
            self.closed_with = int.from_bytes(body[:2], "big")
            raise EOFError
        assert kind == 0x81, kind
        return json.loads(body)

    def _take(self, size, end):
        while len(self.unread) < size:
            self._read(end)
        taken, self.unread = self.unread[:size], self.unread[size:]
        return taken
