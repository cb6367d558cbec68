"""Hangs in the way that its first argument names: one for each cause that
`hangdbg diagnose` knows. It says {"ready": true} and who hangs, and is killed."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time

folder = sys.argv[2]


def ready(**more):
    line = dict({"ready": True, "pid": os.getpid(), "tid": os.getpid(),
                 "function": "main", "syscalls": [], "go_on": "kill"}, **more)
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Two:
    def __init__(self, make):
        self.a, self.b = make(), make()
        self.met = threading.Barrier(2)

    def forth(self):
        with self.a:
            self.met.wait()
            with self.b:
                pass

    def back(self):
        with self.b:
            self.met.wait()
            with self.a:
                pass


class OnePatient(Two):
    def back(self):
        with self.b:
            self.met.wait()
            self.a.acquire(timeout=10000)


def two_locks(make, kind=Two):
    two = kind(make)
    threads = [threading.Thread(target=two.forth, name="forth", daemon=True),
               threading.Thread(target=two.back, name="back", daemon=True)]
    for thread in threads:
        thread.start()
    ready()
    threads[0].join()


def locks():
    two_locks(threading.Lock)


def rlocks():
    two_locks(threading.RLock)


def locks_with_a_limit():
    two_locks(threading.Lock, OnePatient)


def twice():
    lock = threading.Lock()
    with lock:
        ready()
        with lock:
            pass


def fork_lock():
    lock = threading.Lock()
    taken = threading.Event()

    def hold():
        with lock:
            taken.set()
            time.sleep(1000)

    threading.Thread(target=hold, daemon=True).start()
    taken.wait()
    child = os.fork()
    if child == 0:
        with lock:
            os._exit(0)
    ready(child=child)
    os.waitpid(child, 0)


def logging_lock():
    taken = threading.Event()

    class Slow(logging.Handler):
        def emit(self, record):
            taken.set()
            time.sleep(1000)

    logging.getLogger().addHandler(Slow())
    threading.Thread(target=logging.warning, args=("x",), name="logs", daemon=True).start()
    taken.wait()
    ready()
    logging.warning("y")


def flock():
    import fcntl

    path = os.path.join(folder, "lock")
    holder = subprocess.Popen(
        [sys.executable, "-c",
         "import fcntl,time; f=open(%r,'w'); fcntl.flock(f,2); print(1,flush=True);"
         "time.sleep(1000)" % path], stdout=subprocess.PIPE)
    holder.stdout.readline()
    ready(holder=holder.pid)
    fcntl.flock(open(path, "w"), fcntl.LOCK_EX)


def child_pipe():
    child = subprocess.Popen([sys.executable, "-c", "print('x' * 1000000)"],
                             stdout=subprocess.PIPE)
    ready(child=child.pid)
    child.wait()


def dead_writer():
    import multiprocessing

    made = multiprocessing.get_context("fork").Queue()
    ready()
    made.get()


def join_at_exit():
    reader, _ = os.pipe()
    threading.Thread(target=os.read, args=(reader, 1), name="stays").start()
    ready()


def event_alone():
    event = threading.Event()
    ready()
    event.wait()


def syn_sent():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    waiting = []
    for _ in range(3):  # more than fit: the next gets no answer
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(listener.getsockname())
        waiting.append(one)
    ready()
    socket.create_connection(listener.getsockname())


def await_cycle():
    import asyncio

    async def first():
        await tasks[1]

    async def second():
        await tasks[0]

    tasks = []

    async def main():
        loop = asyncio.get_event_loop()
        tasks.extend([loop.create_task(first()), loop.create_task(second())])
        loop.call_later(0.1, ready)
        await asyncio.sleep(0.2)
        await asyncio.Event().wait()

    asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())


def unset_future():
    import asyncio

    async def main():
        ready()
        await asyncio.get_event_loop().create_future()

    asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())


def loop_blocked():
    import asyncio

    async def main():
        ready()
        os.read(os.pipe()[0], 1)

    asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())


def stopped():
    ready()
    os.kill(os.getpid(), signal.SIGSTOP)


def busy():
    ready()
    flag = False
    while not flag:
        pass


# ---- those that are well


def idle_server():
    import socketserver

    server = socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler)
    ready()
    server.serve_forever(poll_interval=None)


def asyncio_server():
    import asyncio

    async def main():
        await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        ready()
        await asyncio.get_event_loop().create_future()

    asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())


def accepts():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    ready()
    listener.accept()


def pool():
    from concurrent.futures import ThreadPoolExecutor

    workers = ThreadPoolExecutor(2)
    list(workers.map(abs, range(10)))
    ready()
    sys.stdin.read()


def sleeps():
    ready()
    time.sleep(1000)


def computes():
    ready()
    total = 0
    while True:
        total += sum(range(1000))


def slow_reader():
    """The child's pipe is full for a moment, again and again; main waits for its end."""
    child = subprocess.Popen([sys.executable, "-c", "while True: print('x' * 9999)"],
                             stdout=subprocess.PIPE)

    def read():
        while True:
            os.read(child.stdout.fileno(), 4096)
            time.sleep(0.05)

    threading.Thread(target=read, daemon=True).start()
    ready(child=child.pid)
    child.wait()


def one_dead_client():
    """A server, one of whose clients does not read what it was sent."""
    import selectors

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    client = socket.create_connection(listener.getsockname())
    served, _ = listener.accept()
    served.setblocking(False)
    try:
        while True:
            served.send(b"x" * 65536)
    except BlockingIOError:
        pass
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(served, selectors.EVENT_READ)
    ready(client=client.fileno())
    selector.select()


globals()[sys.argv[1]]()
