"""Is well in the way that its first argument names, and waits all the same: none of
these hangs, whatever they wait for and for how long. It says {"ready": true}, and is
killed."""

import hashlib
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time

folder = sys.argv[2]
forever = 10000


def ready(**more):
    line = dict({"ready": True, "pid": os.getpid(), "tid": os.getpid(),
                 "function": "main", "syscalls": [], "go_on": "kill"}, **more)
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def begin(function, *args):
    threading.Thread(target=function, args=args, daemon=True).start()


def turns(step):
    """Says ready after the first one."""
    step()
    ready()
    while True:
        step()


# ---- servers


def web_server():
    from http.server import HTTPServer, SimpleHTTPRequestHandler
    server = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    ready()
    server.serve_forever()


def threading_web_server_with_slow_client():
    from http.server import SimpleHTTPRequestHandler
    from socketserver import ThreadingTCPServer
    server = ThreadingTCPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    server.daemon_threads = True
    client = socket.create_connection(server.server_address)
    client.sendall(b"GET / HTTP/1.0\r\n")  # and no more
    ready()
    server.serve_forever()


def stops_by_event():
    from http.server import HTTPServer, SimpleHTTPRequestHandler
    server = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    begin(server.serve_forever)
    ready()
    threading.Event().wait()


def kernel():
    """As Jupyter's: a thread for its sockets, another that beats, main that asks."""
    ours, theirs = socket.socketpair()
    beats, _ = socket.socketpair()
    work = queue.Queue()

    def listen():
        while True:
            select.select([theirs], [], [])
            work.put(theirs.recv(100))

    begin(listen)
    begin(select.select, [beats], [], [])
    ready()
    while True:
        work.get()


def asyncio_timers():
    import asyncio

    async def tick():
        while True:
            await asyncio.sleep(0.02)

    async def main():
        await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        ready()
        await asyncio.wait([asyncio.ensure_future(tick()) for _ in range(3)])

    asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())


def selects_with_timeout():
    receiver, _ = socket.socketpair()
    turns(lambda: select.select([receiver], [], [], 0.1))


# ---- pools and queues


def thread_pool_at_rest():
    from concurrent.futures import ThreadPoolExecutor
    pool = ThreadPoolExecutor(4)
    list(pool.map(abs, range(20)))
    ready()
    signal.pause()


def process_pool_at_work():
    from multiprocessing import Pool
    with Pool(1) as pool:
        ready()
        pool.map(_count, range(2))


def _count(_):
    while True:
        sum(range(10000))


def feeds_a_worker():
    """Main waits for room in a queue, of which a worker takes now and then."""
    work = queue.Queue(1)

    def worker():
        while True:
            sum(range(300000))
            work.get()

    begin(worker)
    turns(lambda: work.put(1))


def waits_for_a_computation():
    done = threading.Event()
    begin(_count, 0)
    ready()
    done.wait()


def feeds_a_process():
    """As feeds_a_worker, through a queue of multiprocessing."""
    import multiprocessing

    context = multiprocessing.get_context("fork")
    work = context.Queue(1)
    context.Process(target=_take, args=(work,), daemon=True).start()
    turns(lambda: work.put(1))


def _take(work):
    while True:
        sum(range(300000))
        work.get()


def takes_turns():
    lock = threading.Lock()

    def turn():
        with lock:
            time.sleep(0.02)
        time.sleep(0.001)

    def again():
        while True:
            turn()

    for _ in range(3):
        begin(again)
    turns(turn)


def file_lock_in_turns():
    import fcntl
    path = os.path.join(folder, "lock")

    def turn():
        with open(path, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            time.sleep(0.02)

    if os.fork() == 0:
        while os.getppid() != 1:
            turn()
        os._exit(0)
    turns(turn)


# ---- who sleeps, or waits for a signal


def signal_pause():
    ready()
    signal.pause()


def sigwait():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    ready()
    signal.sigwait([signal.SIGUSR1])


def timer():
    timer = threading.Timer(forever, abs, [1])
    timer.daemon = True
    timer.start()
    ready()
    timer.join()


def heartbeat():
    stop = threading.Event()
    begin(lambda: stop.wait(forever))
    ready()
    while not stop.wait(5):
        pass


# ---- work


def trains_slowly():
    """An epoch of small steps, each of which waits for its data."""
    state = {"step": 0}

    def step():
        time.sleep(0.03)
        sum(i * i for i in range(20000))
        state["step"] += 1

    turns(step)


def sorts():
    """In C, with the GIL, for long."""
    values = list(range(1000000, 0, -1))
    begin(time.sleep, forever)
    turns(lambda: sorted(values, key=lambda x: -x))


def hashes():
    """In C, without the GIL, for long."""
    block = bytes(50000000)
    turns(lambda: hashlib.sha256(block).digest())


def saves():
    def save():
        with open(os.path.join(folder, "checkpoint"), "wb") as file:
            file.write(bytes(1000000))
            file.flush()
            os.fsync(file.fileno())

    turns(save)


def downloads_slowly():
    ours, theirs = socket.socketpair()

    def peer():
        while True:
            theirs.sendall(b"x" * 100)
            time.sleep(0.02)

    begin(peer)
    turns(lambda: ours.recv(100))


def reads_a_child():
    child = "import time\nwhile 1: print('x', flush=True); time.sleep(0.02)"
    with subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE) as process:
        turns(process.stdout.readline)


def compiles():
    """Waits for a child that computes."""
    child = "import os\nwhile os.getppid() != 1: sum(range(10000))"
    process = subprocess.Popen([sys.executable, "-c", child])
    ready()
    process.wait()


def imports_slowly():
    path = os.path.join(folder, "slowly_imported.py")
    with open(path, "w") as module:
        module.write("while True: sum(range(10000))\n")
    sys.path.insert(0, folder)
    begin(__import__, "slowly_imported")
    ready()
    import slowly_imported  # noqa: F401


if __name__ == "__main__":
    globals()[sys.argv[1]]()
