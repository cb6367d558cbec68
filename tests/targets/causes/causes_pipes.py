"""Hangs at a FIFO, at a pipe whose end others have inherited, or at a lock for which it
tries again and again, in the way that its first argument names; the second is a folder.
Like causes.py, it says that it is ready and is killed."""

import fcntl
import multiprocessing
import os
import subprocess
import sys
import threading
import time

from common import ready

forked = multiprocessing.get_context("fork")
folder = sys.argv[2]
path = os.path.join(folder, "lock")


def say(**more):
    ready("main", [], go_on="kill", **more)


def start(code, *words):
    """A child that runs that, once it has said something."""
    child = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE)
    child.stdout.readline()
    return child


HOLDS = "import fcntl, sys, time\nf = open(sys.argv[1], 'w')\nfcntl.%s(f, fcntl.LOCK_EX)\n" \
        "print(1, flush=True)\ntime.sleep(10000)"


def holder(how="flock"):
    return start(HOLDS % how, path).pid


# ---- FIFOs


def fifo():
    name = os.path.join(folder, "fifo")
    os.mkfifo(name)
    return name


def opens_fifo():
    name = fifo()
    say()
    open(name).read()


def opens_fifo_in_thread():
    os.chdir(folder)
    fifo()
    worker = threading.Thread(target=open, args=("fifo", "wb"))
    say()
    worker.start()
    worker.join()


def full_fifo():
    name = fifo()
    both = os.open(name, os.O_RDWR)
    reader = subprocess.Popen(["sleep", "10000"], stdin=both)
    writer = os.open(name, os.O_WRONLY)
    os.close(both)
    say(child=reader.pid)
    os.write(writer, bytes(1000000))


def commands_by_fifo():
    both = os.open(fifo(), os.O_RDWR)
    say()
    os.read(both, 1)


# ---- ends that were inherited


def idle():
    time.sleep(10000)


def idle_sibling():
    reader, writer = forked.Pipe(duplex=False)
    writes = forked.Process(target=writer.send, args=(1,))
    writes.start()
    sibling = forked.Process(target=idle, daemon=True)
    sibling.start()
    writes.join()
    reader.recv()
    say(child=sibling.pid)
    reader.recv()


def sends_now_and_then(writer):
    while True:
        time.sleep(10000)
        writer.send(1)


def slow_sender():
    reader, writer = forked.Pipe(duplex=False)
    forked.Process(target=sends_now_and_then, args=(writer,), daemon=True).start()
    say()
    reader.recv()


def all_read():
    reader, _ = os.pipe()
    here = os.getpid()
    for _ in range(3):
        if os.getpid() == here:
            os.fork()
    if os.getpid() == here:
        say()
    os.read(reader, 1)


def grandchild():
    say()
    subprocess.Popen("sleep 10000 &", shell=True, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE).communicate()


def grandchild_of_one_pipe():
    say()
    subprocess.check_output("sleep 10000 & echo 1", shell=True)


def slow_child():
    say()
    subprocess.Popen(["sleep", "10000"], stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE).communicate()


# ---- locks for which it tries


def tries_flock():
    say(child=holder())
    file = open(path, "a")
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.05)


class Guard:
    def __init__(self, where):
        self.where = where

    def get(self):
        with open(self.where, "a") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
        return True

    def enter(self):
        while not self.get():
            time.sleep(1000)


def tries_seldom():
    say(child=holder("lockf"))
    Guard(path).enter()


def has_its_own_lock():
    file = open(path, "w")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    say()
    while True:
        time.sleep(0.05)


def parent_has_lock(child_does):
    file = open(path, "w")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    child = forked.Process(target=child_does)
    child.start()
    say(asked=child.pid)
    child.join()


def tries_in_fork():
    parent_has_lock(tries_here)


def tries_here():
    with open(path, "a") as file:
        while True:
            try:
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(1000)


def worker_of_one_with_lock():
    parent_has_lock(idle)


def standby():
    active = start(
        "import fcntl, socket, sys\nf = open(sys.argv[1], 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\n"
        "s = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen(1)\nprint(1, flush=True)\n"
        "s.accept()", path)
    say(child=active.pid)
    fcntl.flock(open(path, "w"), fcntl.LOCK_EX)


SQLITE = "import sqlite3, sys, time\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n" \
         "c.execute('pragma journal_mode = ' + sys.argv[2])\nc.execute('create table t(a)')\n" \
         "c.execute(sys.argv[3])\nprint(1, flush=True)\ntime.sleep(10000)"


def sqlite(journal, begin):
    import sqlite3

    database = os.path.join(folder, "app.db")
    child = start(SQLITE, database, journal, begin)
    say(child=child.pid)
    sqlite3.connect(database, timeout=100000).execute("insert into t values (1)")


def sqlite_exclusive():
    sqlite("delete", "begin exclusive")


def sqlite_reserved():
    sqlite("delete", "begin immediate")


def sqlite_log():
    sqlite("wal", "begin immediate")


# ---- managers


def manager_queue():
    queue = multiprocessing.Manager().Queue()
    say()
    queue.get()


def keeps(lock, has):
    lock.acquire()
    has.set()
    time.sleep(10000)


def manager_lock():
    manager = multiprocessing.Manager()
    lock, has = manager.Lock(), manager.Event()
    forked.Process(target=keeps, args=(lock, has), daemon=True).start()
    has.wait()
    say()
    lock.acquire()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
