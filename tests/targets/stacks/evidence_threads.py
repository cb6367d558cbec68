"""Threads that wait in different ways, each under a name; one has a lock that another
waits for. SIGUSR2 is blocked and pending for main, which reads its standard input."""

import os
import select
import signal
import threading

from common import finish, native_id, ready

ESCAPES = "red \x1b[31m\n"

tids = {}
fds = {}
started = []


def in_thread(name, function):
    began = threading.Event()

    def run():
        tids[name] = native_id()
        began.set()
        function()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    began.wait()
    started.append(thread)


lock = threading.Lock()
go_on = threading.Event()
taken = threading.Event()


def hold():
    with lock:
        taken.set()
        go_on.wait()


def wait_for_lock():
    with lock:
        pass


fds["first"], first = os.pipe()
fds["second"], second = os.pipe()
fds["epoll"] = select.epoll()
fds["epoll"].register(fds["second"], select.EPOLLIN)


def polls():
    poll = select.poll()
    poll.register(fds["first"], select.POLLIN)
    poll.register(fds["second"], select.POLLIN)
    poll.poll()


def epolls():
    epoll = fds["epoll"]
    epoll.poll()


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
in_thread("holder", hold)
taken.wait()
in_thread("waiter", wait_for_lock)
in_thread("polls", polls)
in_thread("epolls", epolls)
in_thread(ESCAPES, go_on.wait)


def pin():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    go_on.wait()


in_thread("pinned", pin)
signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR2)


def main():
    ready("main", ["read"], go_on="stdin", tids=tids,
          fds={name: getattr(fd, "fileno", lambda fd=fd: fd)() for name, fd in fds.items()})
    os.read(0, 1)


main()
os.write(first, b"x")
os.write(second, b"x")
go_on.set()
for one in started:
    one.join()
signal.sigwait([signal.SIGUSR2])
finish()
