"""Waits for the other end of a socket, which a process of this machine has: in the way that
its first argument names, with the standard library. It says that it is ready and is killed;
"server" is the process that has the other end."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import socketserver
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from xmlrpc.client import ServerProxy
from xmlrpc.server import SimpleXMLRPCServer

from common import native_id, ready

PIPE = os.pipe()
LOCAL = ("127.0.0.1", 0)


def forked(serve):
    """The process that runs that."""
    child = os.fork()
    if child == 0:
        serve()
        os._exit(1)
    return child


def tell(word):
    os.write(PIPE[1], b"%d\n" % word)


def told():
    return int(os.read(PIPE[0], 20))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        answer = self.server.answers(self).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


class Threads(socketserver.ThreadingMixIn, HTTPServer):
    daemon_threads = True


def http_server(answers, kind=HTTPServer):
    server = kind(LOCAL, Handler)
    server.answers = answers
    return server, "http://127.0.0.1:%d" % server.server_address[1]


def asked(server, url, function):
    child = forked(server.serve_forever)
    server.server_close()
    ready(function, [], go_on="kill", server=child)
    urllib.request.urlopen(url).read()


def http_sleeps():
    asked(*http_server(lambda one: time.sleep(1000)), "http_sleeps")


def handler_waits():
    """A thread for each request, and it waits for what another thread has."""
    lock = threading.Lock()

    def keeps():
        with lock:
            tell(native_id())
            time.sleep(1000)

    def answers(one):
        tell(native_id())
        with lock:
            return ""

    def serve():
        threading.Thread(target=keeps).start()
        server.serve_forever()

    server, url = http_server(answers, Threads)
    child = forked(serve)
    server.server_close()
    keeper = told()

    def says():
        ready("handler_waits", [], go_on="kill", server=child, keeper=keeper, handler=told())

    threading.Thread(target=says, daemon=True).start()
    urllib.request.urlopen(url).read()


def stopped():
    listener = listening()
    child = forked(lambda: os.kill(os.getpid(), signal.SIGSTOP))
    os.waitpid(child, os.WUNTRACED)
    connection = socket.create_connection(listener.getsockname())
    listener.close()
    ready("stopped", [], go_on="kill", server=child)
    connection.recv(1)


def listening(room=5):
    listener = socket.socket()
    listener.bind(LOCAL)
    listener.listen(room)
    return listener


def no_room():
    """The accept queue of a server that sleeps is full."""
    listener = listening(0)
    child = forked(lambda: time.sleep(1000))
    address = listener.getsockname()
    listener.close()
    first = socket.create_connection(address)
    ready("no_room", [], go_on="kill", server=child)
    socket.create_connection(address)
    first.close()


def asks_itself():
    def answers(one):
        if one.path == "/report":
            ready("asks_itself", [], go_on="kill", server=os.getpid())
            return str(urllib.request.urlopen(url + "/data").read())
        return "data"

    server, url = http_server(answers)
    forked(lambda: (server.server_close(), urllib.request.urlopen(url + "/report").read()))
    server.serve_forever()


def asks_itself_in_a_loop():
    """A coroutine of asyncio that blocks its loop."""
    import asyncio

    async def handle(reader, writer):
        await reader.readline()
        ready("asks_itself_in_a_loop", [], go_on="kill", server=os.getpid())
        connection = socket.create_connection(address)
        connection.sendall(b"\n")
        connection.recv(1)

    listener = listening()
    address = listener.getsockname()
    # Idle threads of its pool are no help.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(asyncio.start_server(handle, sock=listener))
    loop.run_until_complete(loop.run_in_executor(None, time.sleep, 0))
    forked(lambda: (listener.close(), first(address)))
    loop.run_forever()


def first(address):
    connection = socket.create_connection(address)
    connection.sendall(b"\n")
    connection.recv(1)


def ask_each_other():
    """Two servers of XML-RPC; each handles one request at a time."""
    def server_of(listener, other_port):
        server = SimpleXMLRPCServer(LOCAL, logRequests=False, bind_and_activate=False)
        server.socket.close()
        server.socket = listener

        def ask(depth):
            return ServerProxy("http://127.0.0.1:%d" % other_port).ask(depth - 1)

        server.register_function(ask, "ask")
        return server

    one, two = listening(), listening()
    port, other_port = one.getsockname()[1], two.getsockname()[1]
    child = forked(lambda: (one.close(), server_of(two, port).serve_forever()))
    two.close()
    server = server_of(one, other_port)
    forked(lambda: (one.close(), ServerProxy("http://127.0.0.1:%d" % port).ask(9)))
    ready("ask_each_other", [], go_on="kill", server=child)
    server.serve_forever()


def unix_not_accepted():
    """A Listener of multiprocessing that nobody asks for connections."""
    listener = multiprocessing.connection.Listener(family="AF_UNIX")
    child = forked(lambda: time.sleep(1000))
    connection = multiprocessing.connection.Client(listener.address)
    listener._listener._socket.close()
    ready("unix_not_accepted", [], go_on="kill", server=child)
    connection.recv()


def both_read():
    """As over a line on which nobody speaks: each waits for the other, in its only thread."""
    listener = listening()

    def serve():
        accepted = listener.accept()[0]
        accepted.recv(1)

    child = forked(serve)
    connection = socket.create_connection(listener.getsockname())
    listener.close()
    ready("both_read", [], go_on="kill", server=child)
    connection.recv(1)


def chat():
    """Well: the server has a thread that reads, and another that may write."""
    listener = listening()
    kept = []

    def serve():
        def reads(accepted):
            accepted.recv(1)

        while True:
            kept.append(listener.accept()[0])
            threading.Thread(target=reads, args=kept[-1:]).start()

    child = forked(serve)
    connection = socket.create_connection(listener.getsockname())
    listener.close()
    ready("chat", [], go_on="kill", server=child)
    connection.recv(1)


def long_poll():
    """Well: a server that answers within a minute or two, if nothing comes."""
    news = threading.Event()
    asked(*http_server(lambda one: str(news.wait(1000)), Threads), "long_poll")


def subscribes():
    """Well: a server that selects, and sends when it has something."""
    import selectors

    listener = listening()

    def serve():
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is listener:
                        accepted = listener.accept()[0]
                        selector.register(accepted, selectors.EVENT_READ)

    child = forked(serve)
    connection = socket.create_connection(listener.getsockname())
    listener.close()
    ready("subscribes", [], go_on="kill", server=child)
    connection.recv(1)


def computes():
    """Well: a server at work."""
    def answers(one):
        count = 0
        while True:
            count += 1

    asked(*http_server(answers), "computes")


def manager():
    """A queue that a manager's process has, and nobody fills."""
    from multiprocessing.managers import BaseManager

    class Manager(BaseManager):
        pass

    import queue
    Manager.register("queue", queue.Queue)
    one = Manager(ctx=multiprocessing.get_context("fork"))
    one.start()
    items = one.queue()
    ready("manager", [], go_on="kill", server=one._process.pid)
    items.get()


def client_of_a_loop():
    """A client of asyncio, whose server is stopped."""
    import asyncio

    listener = listening()
    child = forked(lambda: os.kill(os.getpid(), signal.SIGSTOP))
    os.waitpid(child, os.WUNTRACED)
    address = listener.getsockname()
    listener.close()

    async def asks():
        reader, writer = await asyncio.open_connection(*address)
        ready("client_of_a_loop", [], go_on="kill", server=child)
        await reader.readline()

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(asks())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
