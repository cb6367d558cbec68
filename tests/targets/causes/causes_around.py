"""Hangs, or is slow, by what is around it; the first argument says how. It is killed.

  thaws       sleeps, and goes on when a line comes
  computes    counts
  accepts     an accept loop, as many programs have it, that has no descriptor left
  serves      the same with asyncio
  writes      tries to write into a file of a file system that is full; the second
              argument is the folder
  forks       tries to begin a thread, and again if that cannot be
  grows       takes memory, 1 MiB at a time
  pools       waits for a task of a multiprocessing.Pool that takes memory without end
  rereads     reads a file again and again, which is larger than its memory; the
              second argument is the folder
"""

import asyncio
import mmap
import os
import resource
import socket
import sys
import threading
import time

from common import ready


def thaws():
    ready(sys.argv[1], [], go_on="kill")
    sys.stdin.readline()


def computes():
    ready(sys.argv[1], [], go_on="kill")
    n = 0
    while True:
        n += 1


def use_up_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try:
        while True:
            os.dup(0)
    except OSError:
        pass


def server_and_client():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    client = socket.create_connection(server.getsockname())
    return server, client


def accepts():
    server, client = server_and_client()
    use_up_descriptors()
    ready(sys.argv[1], [], go_on="kill")
    while True:
        try:
            server.accept()
        except OSError:
            time.sleep(0.02)


def serves():
    server, client = server_and_client()

    async def run():
        await asyncio.start_server(lambda reader, writer: None, sock=server)
        ready(sys.argv[1], [], go_on="kill")
        await asyncio.sleep(10000)
    import logging
    logging.disable(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    use_up_descriptors()
    loop.run_until_complete(run())


def writes(folder):
    import ctypes
    CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(CLONE_NEWNS) == 0, os.strerror(ctypes.get_errno())
    assert libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) == 0
    assert libc.mount(b"none", folder.encode(), b"tmpfs", 0, b"size=64k") == 0
    log = open(os.path.join(folder, "log"), "wb", 0)
    said = False
    while True:
        try:
            log.write(bytes(4096))
        except OSError:
            if not said:
                ready(sys.argv[1], [], go_on="kill")
            said = True
            time.sleep(0.02)


def forks():
    ready(sys.argv[1], [], go_on="kill")
    sys.stdin.readline()  # it has been given its limit
    while True:
        try:
            threading.Thread(target=time.sleep, args=(10000,), daemon=True).start()
        except RuntimeError:  # can't start new thread
            time.sleep(0.02)


def grows():
    ready(sys.argv[1], [], go_on="kill")
    sys.stdin.readline()
    take_memory()


def take_memory(*_):
    kept = []
    while True:
        kept.append(b"x" * (1 << 20))


def pools():
    import multiprocessing
    with multiprocessing.get_context("fork").Pool(1) as pool:
        ready(sys.argv[1], [], go_on="kill", worker=pool._pool[0].pid)
        sys.stdin.readline()
        pool.apply_async(take_memory).get()


def rereads(folder):
    path = os.path.join(folder, "large")
    with open(path, "wb") as file:
        file.write(b"x" * (48 << 20))
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    ready(sys.argv[1], [], go_on="kill")
    sys.stdin.readline()
    total = 0
    while True:
        for at in range(0, len(mapped), 4096):
            total += mapped[at]


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
