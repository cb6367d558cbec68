"""As many_waits.py, by threads and processes that work for others: pools, loops, children, C."""

import asyncio
import concurrent.futures
import ctypes
import http.server
import multiprocessing
import multiprocessing.connection
import multiprocessing.pool
import os
import queue
import select
import subprocess
import sys
import threading
import time

from common import ready

FORK = multiprocessing.get_context("fork")


def say():
    ready("main", [], go_on="kill")


# ---- they hang


def lock_of_map():
    lock = threading.Lock()
    lock.acquire()

    def takes(_):
        with lock:
            pass
    say()
    list(concurrent.futures.ThreadPoolExecutor(2).map(takes, range(4)))


def thread_pool_in_itself():
    pool = multiprocessing.pool.ThreadPool(1)
    say()
    pool.apply(lambda: pool.map(abs, [1, 2]))


def initializer_is_stuck():
    lock = FORK.Lock()
    lock.acquire()

    def takes():
        lock.acquire()
    pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=FORK, initializer=takes)
    say()
    pool.submit(int).result()


def other_party_has_ended():
    barrier = FORK.Barrier(2)
    party = FORK.Process(target=int)
    party.start()
    party.join()
    say()
    barrier.wait()


def both_wait_for_notify():
    condition = FORK.Condition()

    def waits():
        with condition:
            condition.wait()
    FORK.Process(target=waits).start()
    say()
    waits()


def epoll_of_nothing():
    say()
    select.epoll().poll()


def eventfd_of_nobody():
    counter = os.eventfd(0)
    say()
    os.eventfd_read(counter)


def semaphore_in_c():
    libc, semaphore = ctypes.CDLL(None), ctypes.create_string_buffer(32)
    libc.sem_init(semaphore, 0, 0)
    say()
    libc.sem_wait(semaphore)


def first_of_two_cats():
    first = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    second = subprocess.Popen(["cat"], stdin=first.stdout, stdout=subprocess.PIPE)
    first.stdout.close()
    say()
    second.stdout.read()


def pidfd_of_a_reader():
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    polls = select.poll()
    polls.register(os.pidfd_open(child.pid), select.POLLIN)
    say()
    polls.poll()


def queue_of_a_loops_thread():
    async def main():
        loop = asyncio.get_running_loop()
        say()
        await loop.run_in_executor(None, queue.Queue().get)
    asyncio.run(main())


def output_of_a_loops_grandchild():
    async def main():
        say()
        child = await asyncio.create_subprocess_shell("sleep 100000 & exit 0",
                                                      stdout=subprocess.PIPE)
        await child.communicate()
    asyncio.run(main())


# ---- they are well


def asks_child_with_limit():
    child = subprocess.Popen(["sleep", "100000"])
    say()
    while True:
        try:
            return child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            pass


def task_sleeps_and_computes():
    pool = FORK.Pool(1)
    say()
    for _ in pool.imap(sleeps_and_computes, range(100000)):
        pass


def sleeps_and_computes(_):
    time.sleep(0.5)
    return sum(range(1000))


def selects_nothing():
    say()
    select.select([], [], [])


def plays_ping_pong():
    condition, turns = threading.Condition(), [0]

    def plays(me):
        with condition:
            while True:
                while turns[0] % 2 != me:
                    condition.wait()
                turns[0] += 1
                condition.notify()
                time.sleep(0.02)
    threading.Thread(target=plays, args=[1], daemon=True).start()
    say()
    plays(0)


def supervises():
    workers = [FORK.Process(target=works_slowly) for _ in range(3)]
    for one in workers:
        one.start()
    say()
    multiprocessing.connection.wait([one.sentinel for one in workers])


def works_slowly():
    while True:
        time.sleep(0.2)
        sum(range(1000))


def web_server():
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    say()
    server.serve_forever()


globals()[sys.argv[1]]()
