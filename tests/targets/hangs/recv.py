"""The main thread waits for bytes from a peer that says nothing."""

import socket

from common import finish, on_sigusr1, ready


def receive(connection):
    answer = 41
    seen = {0, 2, 4}
    ready("receive", ["recvfrom"])
    data = connection.recv(100)
    return answer, sorted(seen), data.decode()


connection, peer = socket.socketpair()
on_sigusr1(lambda: peer.send(b"at last"))
answer, seen, data = receive(connection)
finish(answer=answer, seen=seen, data=data)
