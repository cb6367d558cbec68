"""A server of gevent's with its connections, and many that sleep; all idle. Says
of each what it knows of itself."""

import gevent
from gevent import socket
from gevent.event import Event
from gevent.server import StreamServer

from common import finish, ready


def told(one):
    frames = []
    frame = one.gr_frame
    while frame:
        frames.append([frame.f_code.co_name, frame.f_lineno])
        frame = frame.f_back
    return frames


def serve(connection, _address):
    here.append(gevent.getcurrent())
    connection.recv(1)


def sleeps():
    nap()


def nap():
    gevent.sleep(3600)


def say():
    ready("<module>", ["epoll_wait", "epoll_pwait"],
          greenlets={"%#x" % id(one): told(one) for one in sleepers + here},
          main="%#x" % id(main), named="%#x" % id(sleepers[0]))


def go_on():
    for connection in connections:
        connection.close()
    gevent.killall(sleepers)
    server.stop()
    done.set()


main = gevent.getcurrent()
done = Event()
here = []
server = StreamServer(("127.0.0.1", 0), serve)
server.start()
connections = [socket.create_connection(server.address) for _ in range(50)]
sleepers = [gevent.spawn(sleeps) for _ in range(450)]
sleepers[0].name = "the first"
while len(here) < len(connections):
    gevent.sleep(0.01)
gevent.signal_handler(10, go_on)  # SIGUSR1
gevent.get_hub().loop.run_callback(say)
done.wait()
finish()
