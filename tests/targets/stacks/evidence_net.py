"""Sockets in every state that `hangdbg net` calls odd, in a network of its own (run it by
`unshare -n`), and says which descriptor is which. It is killed.

"full" is a listener whose backlog is full, "syn" one that gets no answer from it; "unread" has
10 bytes, "talks" is its other end; "blocked" cannot send to "reads_not"; "local" is a UNIX
socket whose other end a child has. With a second argument it waits until the file of that name
is there, and puts the loopback interface down: then "lost" sends 77 bytes, and "lost_other" does
not get them."""

import fcntl
import os
import socket
import struct
import sys
import time

from common import ready


def loopback(up):
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", up))  # SIOCSIFFLAGS


def listener(backlog):
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    made.listen(backlog)
    return made


def pair():
    server = listener(1)
    ours = socket.create_connection(server.getsockname())
    theirs = server.accept()[0]
    server.close()
    return ours, theirs


loopback(True)
sockets = {"full": listener(1)}
kept = []
while "syn" not in sockets:
    one = socket.socket()
    one.settimeout(0.3)
    try:
        one.connect(sockets["full"].getsockname())
        kept.append(one)
    except socket.timeout:
        one.setblocking(False)
        sockets["syn"] = one

sockets["unread"], sockets["talks"] = pair()
sockets["talks"].setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
sockets["talks"].setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 90)
sockets["talks"].sendall(b"x" * 10)
sockets["blocked"], sockets["reads_not"] = pair()
sockets["blocked"].setblocking(False)
try:
    while True:
        sockets["blocked"].send(b"x" * 100000)
except BlockingIOError:
    pass
sockets["lost"], sockets["lost_other"] = pair()
sockets["udp"] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sockets["udp"].bind(("127.0.0.1", 0))
sockets["udp"].sendto(b"xyz", sockets["udp"].getsockname())
sockets["named"] = socket.socket(socket.AF_UNIX)
sockets["named"].bind("\0red \x1b[31m")
sockets["named"].listen(5)
sockets["local"], theirs = socket.socketpair()
child = os.fork()
if child == 0:
    for one in [*sockets.values(), *kept]:
        one.close()
    time.sleep(1000)
theirs.close()
ready("main", [], go_on="kill", child=child,
      fds={name: one.fileno() for name, one in sockets.items()},
      ports={name: one.getsockname()[1] for name, one in sockets.items()
             if one.family == socket.AF_INET})
if len(sys.argv) > 1:
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    loopback(False)
    sockets["lost"].sendall(b"x" * 77)
time.sleep(1000)
