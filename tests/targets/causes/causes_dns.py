"""Looks a name up, which its DNS server does not answer, in the way that its first argument
names. It has mount and network namespaces of its own, in which that server is itself: a
socket that nobody reads. It says that it is ready and is killed."""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile

from common import ready

NAME = "db.prod.internal."
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def make_surroundings():
    with tempfile.NamedTemporaryFile("w") as conf:
        conf.write("nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
        conf.flush()
        subprocess.check_call(["mount", "--bind", conf.name, "/etc/resolv.conf"])
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    request = struct.pack("16sh14x", b"lo", 0)
    flags, = struct.unpack("16xh14x", fcntl.ioctl(server, SIOCGIFFLAGS, request))
    fcntl.ioctl(server, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
    server.bind(("127.0.0.1", 53))
    return server


def getaddrinfo():
    socket.getaddrinfo(NAME, 5432)


def gethostbyname():
    socket.gethostbyname(NAME)


def in_a_loop():
    import asyncio

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(asyncio.open_connection(NAME, 5432))


def by_tcp():
    """As a resolver does of what is too long for UDP."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 53))
    listener.listen(1)
    connection = socket.create_connection(("127.0.0.1", 53))
    connection.sendall(b"\0\1?")
    connection.recv(2)


server = make_surroundings()
ready(sys.argv[1], [], go_on="kill", pid=os.getpid())
globals()[sys.argv[1]]()
