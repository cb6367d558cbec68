"""Waits for a peer on loopback, a process of its own, in the way that its first argument
names. It says that it is ready and is killed."""

import os
import socket
import sys
import time

from common import ready


def served(serve):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    child = os.fork()
    if child == 0:
        kept = listener.accept()[0]
        serve(kept)
        time.sleep(1000)
    return socket.create_connection(listener.getsockname()), child


def silent():
    connection, child = served(lambda one: one.sendall(b"x"))
    connection.recv(1)
    ready("silent", [], go_on="kill", child=child)
    connection.recv(1)


def reads_not():
    connection, child = served(lambda one: None)
    ready("reads_not", [], go_on="kill", child=child)
    connection.sendall(b"x" * 100000000)


globals()[sys.argv[1]]()
