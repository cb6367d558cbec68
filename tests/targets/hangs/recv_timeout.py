"""The main thread waits for bytes with a timeout of an hour: a poll, then recv."""

import socket

from common import finish, on_sigusr1, ready


def receive(connection):
    answer = 41
    seen = {0, 2, 4}
    ready("receive", ["poll"])
    data = connection.recv(100)
    return answer, sorted(seen), data.decode()


connection, peer = socket.socketpair()
connection.settimeout(3600)
on_sigusr1(lambda: peer.send(b"at last"))
answer, seen, data = receive(connection)
finish(answer=answer, seen=seen, data=data)
