"""Waits in the way that the first argument names: programs that hang, poll, and are well, of the
standard library alone. They are judged all at once, and no rule was made for one of them."""

import asyncio
import atexit
import concurrent.futures
import gc
import multiprocessing
import os
import pty
import queue
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tty
import weakref

from common import ready

FORK = multiprocessing.get_context("fork")
MUCH = 10 ** 6


def say():
    ready("main", [], go_on="kill")


def for_ever():
    while True:
        time.sleep(1000)


class Finalized:
    def __init__(self, lock):
        self.lock = lock

    def __del__(self):
        with self.lock:
            pass


# ---- they hang


def finalizer_in_with():
    lock = threading.Lock()
    one = Finalized(lock)
    say()
    with lock:
        del one


def collected_in_queue():
    items = queue.Queue()

    class Puts:
        def __del__(self):
            items.put(1)

    say()
    with items.mutex:
        one = Puts()
        one.itself = one
        del one
        gc.collect()


def weakref_callback():
    class Plain:
        pass

    lock, one = threading.Lock(), Plain()
    weakref.finalize(one, lock.acquire)
    say()
    with lock:
        del one


def terminal_is_full():
    _, theirs = pty.openpty()
    tty.setraw(theirs)
    say()
    while True:
        os.write(theirs, b"x" * 4096)


def fifo_is_full():
    path = tempfile.mkdtemp() + "/fifo"
    os.mkfifo(path)
    both = os.open(path, os.O_RDWR)
    say()
    os.write(both, b"x" * MUCH)


def simple_queue_is_full():
    items = FORK.SimpleQueue()
    say()
    items.put(b"x" * MUCH)


def simple_queue_is_empty():
    items = queue.SimpleQueue()
    say()
    items.get()


def feeder_is_full():
    items = FORK.Queue()
    child = FORK.Process(target=lambda: items.put("x" * MUCH))
    child.start()
    say()
    child.join()


def errors_are_not_read():
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stderr.write('e' * 1000000)"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    say()
    child.stdout.read()


def grandchild_has_the_pipe():
    say()
    subprocess.run(["sh", "-c", "sleep 100000 & exit 0"], stdout=subprocess.PIPE)


def imports_in_a_thread():
    folder = tempfile.mkdtemp()
    sys.path.insert(0, folder)
    with open(folder + "/circular.py", "w") as module:
        module.write("import threading\n"
                     "one = threading.Thread(target=lambda: __import__('circular').value)\n"
                     "one.start(); one.join(); value = 1\n")
    say()
    import circular  # noqa: F401


def locks_in_a_circle():
    first, second, both = threading.RLock(), threading.Lock(), threading.Barrier(2)

    def one():
        with first:
            both.wait()
            second.acquire()

    def other():
        with second:
            both.wait()
            first.acquire()

    threads = [threading.Thread(target=each) for each in (one, other)]
    for each in threads:
        each.start()
    say()
    threads[0].join()


def pool_waits_for_itself():
    async def main():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(2))

        def outer():
            return asyncio.run_coroutine_threadsafe(again(), loop).result()

        async def again():
            return await loop.run_in_executor(None, int)

        say()
        await asyncio.gather(*[loop.run_in_executor(None, outer) for _ in range(2)])
    asyncio.run(main())


def condition_of_a_task():
    async def main():
        condition = asyncio.Condition()
        say()
        async with condition:
            await condition.wait()
    asyncio.run(main())


def tasks_are_not_done():
    async def main():
        items = asyncio.Queue()
        items.put_nowait(1)
        asyncio.ensure_future(items.get())
        say()
        await items.join()
    asyncio.run(main())


def plain_future():
    loop = asyncio.new_event_loop()
    say()
    loop.run_until_complete(loop.create_future())


def waits_at_exit():
    say()
    atexit.register(threading.Event().wait)


def queue_without_reader():
    items = queue.Queue(1)
    items.put(1)
    say()
    items.put(2)


def party_is_missing():
    barrier = threading.Barrier(3)
    threading.Thread(target=barrier.wait).start()
    say()
    barrier.wait()


def worker_has_died():
    pool = FORK.Pool(2)
    result = pool.apply_async(os._exit, (3,))
    say()
    result.get()


# ---- they poll


def asks_condition():
    condition, items = threading.Condition(), []
    say()
    with condition:
        while not items:
            condition.wait(0.7)


def asks_shared_queue():
    items = FORK.Queue()
    FORK.Process(target=for_ever).start()
    say()
    while True:
        try:
            items.get(timeout=0.5)
            break
        except queue.Empty:
            pass


def asks_connection():
    ours, _ = FORK.Pipe()
    FORK.Process(target=for_ever).start()
    say()
    while not ours.poll(1):
        pass


def asks_child():
    child = subprocess.Popen(["sleep", "100000"])
    say()
    while os.waitpid(child.pid, os.WNOHANG) == (0, 0):
        time.sleep(0.05)


def asks_quickly():
    async def main():
        done = []
        say()
        while not done:
            await asyncio.sleep(0.05)
    asyncio.run(main())


def asks_task_queue():
    async def main():
        items = asyncio.Queue()
        say()
        while True:
            try:
                await asyncio.wait_for(items.get(), 0.5)
                break
            except asyncio.TimeoutError:
                pass
    asyncio.run(main())


def asks_socket():
    ours, theirs = socket.socketpair()
    say()
    while True:
        if select.select([ours], [], [], 0.5)[0]:
            return theirs


# ---- they are well


def server_with_selector():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    chosen = selectors.DefaultSelector()
    chosen.register(server, selectors.EVENT_READ)
    say()
    while True:
        for _ in chosen.select(0.5):
            server.accept()[0].close()


def waits_for_signal():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    say()
    signal.sigwaitinfo([signal.SIGUSR1])


def timer_after_timer():
    def again():
        threading.Timer(0.3, again).start()
    again()
    say()
    signal.pause()


def tasks_take_turns():
    async def main():
        turn = asyncio.Semaphore(1)

        async def takes():
            while True:
                async with turn:
                    await asyncio.sleep(0.3)
        say()
        await asyncio.gather(*[takes() for _ in range(4)])
    asyncio.run(main())


def sends_now_and_then():
    ours, theirs = FORK.Pipe()

    def receives():
        while True:
            theirs.recv()
    FORK.Process(target=receives, daemon=True).start()
    say()
    while True:
        time.sleep(0.5)
        ours.send(1)


def worker_waits_for_work():
    items = queue.SimpleQueue()

    def works():
        while True:
            items.get()
    threading.Thread(target=works, daemon=True).start()
    say()
    while True:
        time.sleep(0.5)
        items.put(1)


def pool_sleeps_in_c():
    pool = FORK.Pool(2)
    say()
    for _ in pool.imap(time.sleep, [0.5] * 100000):
        pass


globals()[sys.argv[1]]()
