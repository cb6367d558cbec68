"""As more_waits.py: locks of open file descriptions, timers, keys, data connections, streams."""

import asyncio
import concurrent.futures
import ctypes
import fcntl
import ftplib
import multiprocessing
import multiprocessing.connection
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

from common import ready

FORK = multiprocessing.get_context("fork")
OFD_SETLKW = 38
KEY = b"key"


def say():
    ready("main", [], go_on="kill")


def child(work, *args):
    one = FORK.Process(target=work, args=args, daemon=True)
    one.start()
    return one


def reads_for_ever():
    os.read(os.pipe()[0], 1)  # its own pipe


def listens():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    return server


# ---- they hang


def description_locks_crosswise():
    files = [tempfile.NamedTemporaryFile() for _ in range(2)]
    barrier = FORK.Barrier(2)

    def takes(first, second):
        for one in (first, second):
            fcntl.fcntl(os.open(files[one].name, os.O_RDWR), OFD_SETLKW,
                        struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 10 * one, 10, 0))
            if one == first:
                barrier.wait()
                say()
    child(takes, 1, 0)
    takes(0, 1)


def waits_for_a_pidfd():
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    say()
    os.waitid(os.P_PIDFD, os.pidfd_open(pid), os.WEXITED)


def loop_drains_into_cat():
    async def main():
        cat = await asyncio.create_subprocess_exec(
            "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1024)
        say()
        while True:
            cat.stdin.write(b"x" * 65536)
            await cat.stdin.drain()
    asyncio.run(main())


def data_of_ftp():
    server = listens()

    def answers():
        lines = server.accept()[0].makefile("rw", newline="\r\n")
        lines.write("220 hello\n")
        lines.flush()
        for line in lines:  # it says that data come, and does not connect
            lines.write("150 here they come\n" if line.startswith("NLST") else "200 well\n")
            lines.flush()
    child(answers)
    client = ftplib.FTP()
    client.connect(*server.getsockname())
    server.close()
    client.set_pasv(False)
    say()
    client.nlst()


def timer_is_not_armed():
    timer = ctypes.CDLL(None).timerfd_create(time.CLOCK_MONOTONIC, 0)
    say()
    os.read(timer, 8)


def first_of_two_futures():
    pool = concurrent.futures.ThreadPoolExecutor(2)
    futures = [pool.submit(reads_for_ever), pool.submit(time.sleep, 0.01)]
    say()
    for one in concurrent.futures.as_completed(futures):
        one.result()


def peer_shows_no_key():
    listener = multiprocessing.connection.Listener(("127.0.0.1", 0), authkey=KEY)

    def connects():
        held = socket.create_connection(listener.address)
        reads_for_ever()
        held.close()
    child(connects)
    say()
    listener.accept()


def initializer_fails():
    def fails():
        os._exit(1)
    pool = FORK.Pool(2, fails)
    say()
    pool.map(abs, [1, 2], 1)  # else it divides by the number of workers, which may be 0


def workers_of_one_task():
    pool = FORK.Pool(2, maxtasksperchild=1)
    say()
    while True:
        pool.map(abs, [1, 2, 3, 4], 1)


def stream_of_its_own_loop():
    async def answers(reader, _writer):
        await reader.readexactly(100)

    async def main():
        server = await asyncio.start_server(answers, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"short")
        say()
        await reader.read(1)
    asyncio.run(main())


def interpreter_waits():
    pool, (reader, writer) = concurrent.futures.InterpreterPoolExecutor(2), os.pipe()
    waits = pool.submit(exec, "import os, threading; event = threading.Event()\n"
                              "os.write(%d, b'x'); event.wait()" % writer)
    os.read(reader, 1)
    say()
    waits.result()


# ---- they are well


def locks_apart():
    """Of one file, of which each has another part; one waits for its turn at the same."""
    file = tempfile.NamedTemporaryFile()

    def locks(start, times):
        opened = os.open(file.name, os.O_RDWR)
        for _ in range(times):
            for kind in (fcntl.F_WRLCK, fcntl.F_UNLCK):
                fcntl.fcntl(opened, OFD_SETLKW,
                            struct.pack("hhqqi4x", kind, os.SEEK_SET, start, 10, 0))
                time.sleep(0.02)
    child(locks, 0, 10 ** 6)
    child(locks, 20, 10 ** 6)
    say()
    locks(0, 10 ** 6)


def timer_of_a_second():
    libc = ctypes.CDLL(None)
    timer = libc.timerfd_create(time.CLOCK_MONOTONIC, 0)
    libc.timerfd_settime(timer, 0, struct.pack("4q", 1, 0, 1, 0), None)
    say()
    while True:
        os.read(timer, 8)


def waits_with_key():
    say()
    multiprocessing.connection.Listener(("127.0.0.1", 0), authkey=KEY).accept()


def worker_for_each_task():
    pool = FORK.Pool(1, maxtasksperchild=1)
    say()
    for _ in pool.imap(time.sleep, [0.2] * 10 ** 6):
        pass


def begins_pool_after_pool():
    say()
    while True:
        with FORK.Pool(2) as pool:
            pool.map(time.sleep, [0.3] * 4)


def has_many_tasks():
    pool = FORK.Pool(2)
    say()
    for _ in pool.imap_unordered(time.sleep, [0.4] * 10 ** 6):
        pass


def drains_into_a_slow_one():
    async def main():
        slow = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "import os, time\nwhile os.read(0, 65536): time.sleep(0.1)",
            stdin=subprocess.PIPE)
        say()
        while True:
            slow.stdin.write(b"x" * 65536)
            await slow.stdin.drain()
    asyncio.run(main())


def drains_into_itself():
    async def reads(reader, _writer):
        while await reader.read(65536):
            await asyncio.sleep(0.1)

    async def main():
        server = await asyncio.start_server(reads, "127.0.0.1", 0, limit=65536)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        say()
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
    asyncio.run(main())


def serves_in_a_loop():
    async def answers(reader, _writer):
        await reader.read(100)

    async def main():
        server = await asyncio.start_server(answers, "127.0.0.1", 0)
        held = await asyncio.open_connection(*server.sockets[0].getsockname())
        say()
        async with server:
            await server.serve_forever()
        held[1].close()
    asyncio.run(main())


globals()[sys.argv[1]]()
