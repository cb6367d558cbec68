"""Hangs with a descriptor of each kind open, and says which is which."""

import fcntl
import os
import select
import socket
import subprocess
import sys
import tempfile

from common import finish, ready


def wait(told):
    ready("wait", ["read"], go_on="stdin", **told)
    os.read(0, 1)


folder = sys.argv[1]
reader, writer = os.pipe()
orphan, end = os.pipe()
os.close(end)
childs, ours = os.pipe()
child = subprocess.Popen(["sleep", "600"], stdin=childs)
os.close(childs)
locked = open(os.path.join(folder, "lock"), "w")
fcntl.flock(locked, fcntl.LOCK_EX)
gone = tempfile.TemporaryFile(dir=folder)
fcntl.lockf(gone, fcntl.LOCK_EX, 10, 5)
server = socket.create_server(("127.0.0.1", 0)) if sys.version_info >= (3, 8) else None
server = server or socket.socket()
if sys.version_info < (3, 8):
    server.bind(("127.0.0.1", 0))
    server.listen(1)
client = socket.create_connection(server.getsockname())
accepted, _ = server.accept()
client.send(b"x" * 10)
epoll = select.epoll()
epoll.register(reader)
wait({"fds": {
    "reader": reader, "writer": writer, "orphan": orphan, "ours": ours,
    "locked": locked.fileno(), "gone": gone.fileno(), "server": server.fileno(),
    "client": client.fileno(), "accepted": accepted.fileno(), "epoll": epoll.fileno()},
    "child": child.pid, "port": server.getsockname()[1]})
child.kill()
child.wait()
finish()
