"""Hangs between processes, in the way that its first argument names; the second is a
folder. Like causes.py, it says that it is ready and is killed."""

import atexit
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import threading
import time

from common import ready

forked = multiprocessing.get_context("fork")


def say(**more):
    ready("main", [], go_on="kill", **more)


def wait_for_byte(*_):
    os.read(os.pipe()[0], 1)


def idle_in_pool(_):
    time.sleep(0.01)
    return os.getpid()


# ---- pools


def future():
    from concurrent.futures import ThreadPoolExecutor

    workers = ThreadPoolExecutor(1)
    waits = workers.submit(wait_for_byte)
    say()
    waits.result()


def future_of_process():
    from concurrent.futures import ProcessPoolExecutor

    workers = ProcessPoolExecutor(1, **({} if sys.version_info < (3, 7) else
                                        {"mp_context": forked}))
    waits = workers.submit(wait_for_byte)
    say()
    waits.result()


def pool_task():
    workers = forked.Pool(2)
    say()
    workers.map(wait_for_byte, range(2))


def pool_worker_killed():
    """The worker is started anew, and its task is lost."""
    workers = forked.Pool(2)
    waits = workers.apply_async(wait_for_byte)
    busy = worker_in(workers, "pipe_read")
    os.kill(busy, signal.SIGKILL)
    while any(one.pid == busy for one in workers._pool):
        time.sleep(0.01)
    say()
    waits.get()


def worker_in(workers, wchan, but=None):
    """That has nobody else's lock on the queue of tasks; it reads another pipe."""
    queue = workers._inqueue._reader.fileno()
    while True:
        for one in workers._pool:
            with open("/proc/%d/syscall" % one.pid) as call:
                words = call.read().split()
            if words[0] == "0" and int(words[1], 16) != queue:
                return one.pid
        time.sleep(0.01)


def pool_lock_died():
    """The worker that is killed waits for a task, with the queue's lock."""
    workers = forked.Pool(2)
    workers.map(abs, range(10))
    queue = workers._inqueue._reader.fileno()
    killed = None
    while killed is None:
        for one in workers._pool:
            with open("/proc/%d/syscall" % one.pid) as call:
                words = call.read().split()
            if words[0] == "0" and int(words[1], 16) == queue:
                killed = one.pid
        time.sleep(0.01)
    os.kill(killed, signal.SIGKILL)
    while any(one.pid == killed for one in workers._pool):
        time.sleep(0.01)
    say()
    workers.map(abs, range(10))


# ---- children


def child_reads():
    """`communicate` would close its standard input; `wait` does not."""
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    say(child=child.pid)
    child.wait()


def zombie():
    child = os.fork()
    if child == 0:
        os._exit(0)
    while True:
        with open("/proc/%d/stat" % child) as stat:
            if ") Z " in stat.read():
                break
        time.sleep(0.01)
    say(child=child)
    wait_for_byte()


def puts_much(queue):
    queue.put(b"x" * 1000000)


def queue_not_read():
    """Python's documentation calls it "Joining processes that use queues"."""
    queue = forked.Queue()
    child = forked.Process(target=puts_much, args=(queue,))
    child.start()
    say(child=child.pid)
    child.join()


# ---- ends


def pool_at_exit():
    from concurrent.futures import ThreadPoolExecutor

    ThreadPoolExecutor(1).submit(wait_for_byte)
    say()


def process_at_exit():
    forked.Process(target=wait_for_byte).start()
    say()


def handler_at_exit():
    never = threading.Event()
    atexit.register(never.wait)
    threading.Thread(target=wait_for_byte, daemon=True, name="beside").start()
    say()


# ---- who loops


def traced():
    say()
    time.sleep(1000)


def polls():
    """For a port at which nobody listens."""
    import socket

    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    address = free.getsockname()
    say()
    while True:
        try:
            socket.create_connection(address, timeout=1)
            break
        except OSError:
            time.sleep(0.05)


def counts_forever():
    say()
    rounds, done, limit = 0, False, 10
    while not done:
        rounds += 1
        for each in range(100):
            done = each > limit * 100


def select_loop():
    reader, _ = os.pipe()
    say()
    while True:
        ready_now, _, _ = select.select([reader], [], [], 0.05)
        if ready_now:
            break


if __name__ == "__main__":
    globals()[sys.argv[1]]()
