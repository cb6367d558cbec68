"""Hangs at a lock, in the way that its first argument names; the second is a folder.
Those of C code are in the library that HANGDBG_TEST_LIBRARY names (causes_mutexes.c).
Like causes.py, it says that it is ready and is killed."""

import os
import signal
import sys
import threading
import time

from common import ready

folder = sys.argv[2]


def say(**more):
    ready("main", [], go_on="kill", **more)


def library():
    """Without the GIL, and with it."""
    import ctypes

    path = os.environ["HANGDBG_TEST_LIBRARY"]
    return ctypes.CDLL(path), ctypes.PyDLL(path)


def in_thread(function, *args, **options):
    thread = threading.Thread(target=function, args=args, daemon=True, **options)
    thread.start()
    return thread


def forever():
    """Rests, and lets others have the GIL."""
    time.sleep(1000)


def child_of_fork(function):
    """Runs it in a forked child; the parent waits for that one's end."""
    child = os.fork()
    if child == 0:
        function()
        os._exit(0)
    say(child=child)
    os.waitpid(child, 0)


# ---- mutexes of C code


def hold_mutex(c):
    taken = threading.Event()

    def hold():
        c.take(0)
        taken.set()
        forever()

    in_thread(hold, name="holder")
    taken.wait()


def mutex():
    c, _ = library()
    hold_mutex(c)
    say()
    c.take(0)


def mutexes_crosswise():
    c, _ = library()
    met = threading.Barrier(2)

    def take(first, second):
        c.take(first)
        met.wait()
        c.take(second)

    forth = in_thread(take, 0, 1, name="forth")
    in_thread(take, 1, 0, name="back")
    say()
    forth.join()


def mutex_and_gil():
    """One has the mutex and wants the GIL, which the other keeps while it waits for the
    mutex."""
    c, with_gil = library()
    taken = threading.Event()

    def hold():
        c.take(0)
        taken.set()
        while True:
            time.sleep(0.001)

    in_thread(hold, name="holder")
    taken.wait()
    say()
    with_gil.take(0)


def mutex_across_fork():
    c, _ = library()
    hold_mutex(c)
    child_of_fork(lambda: c.take(0))


def openmp_fork():
    c, _ = library()
    c.sum_in_parallel(1000)
    child_of_fork(lambda: c.sum_in_parallel(1000))


# ---- locks of Python


def rlock_of_ended_thread():
    lock = threading.RLock()
    in_thread(lock.acquire).join()
    say()
    with lock:
        pass


def rlock_across_fork():
    lock = threading.RLock()
    taken = threading.Event()

    def hold():
        with lock:
            taken.set()
            forever()

    in_thread(hold)
    taken.wait()

    def take():
        with lock:
            pass

    child_of_fork(take)


def lock_in_handler():
    """The handler wants what the code has that it interrupts."""
    lock = threading.Lock()

    def handle(number, frame):
        with lock:
            pass

    signal.signal(signal.SIGUSR1, handle)
    say()
    with lock:
        os.kill(os.getpid(), signal.SIGUSR1)
        while True:
            time.sleep(0.001)


def semaphore():
    slots = threading.Semaphore(1)
    slots.acquire()
    taken = threading.Event()
    in_thread(lambda: (taken.set(), forever()), name="beside")
    taken.wait()
    say()
    slots.acquire()


def barrier():
    meet = threading.Barrier(3)
    in_thread(meet.wait, name="other")
    say()
    meet.wait()


def condition():
    changed = threading.Condition()
    in_thread(forever, name="beside")
    say()
    with changed:
        changed.wait()


def queue_join():
    import queue

    work = queue.Queue()
    work.put("never done")
    work.get()
    in_thread(forever, name="beside")
    say()
    work.join()


def import_waits():
    with open(os.path.join(folder, "slow_module.py"), "w") as module:
        module.write("import time\nstarted.set()\ntime.sleep(1000)\n")
    sys.path.insert(0, folder)
    import builtins

    builtins.started = threading.Event()
    in_thread(__import__, "slow_module", name="imports")
    builtins.started.wait()
    say()
    __import__("slow_module")


def import_waits_lazily():
    """Both read a name that a lazy import has bound (PEP 810)."""
    with open(os.path.join(folder, "slow_module.py"), "w") as module:
        module.write("import time\nstarted.set()\ntime.sleep(1000)\n")
    sys.path.insert(0, folder)
    import builtins

    builtins.started = threading.Event()
    space = {}
    exec("lazy import slow_module\ndef reads():\n    return slow_module.value\n", space)
    in_thread(space["reads"], name="imports")
    builtins.started.wait()
    say()
    space["reads"]()


# ---- locks that processes share


def shared_lock(method="fork", name="holder"):
    import multiprocessing

    context = multiprocessing.get_context(method)
    lock, taken = context.Lock(), context.Event()
    child = context.Process(target=hold_shared, args=(lock, taken), name=name)
    child.daemon = True
    child.start()
    taken.wait()
    return lock, child


def hold_shared(lock, taken):
    with lock:
        taken.set()
        forever()


def shared():
    lock, child = shared_lock()
    say(holder=child.pid)
    with lock:
        pass


def shared_spawn():
    lock, child = shared_lock("spawn")
    say(holder=child.pid)
    with lock:
        pass


def shared_of_dead():
    lock, child = shared_lock()
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    say()
    with lock:
        pass


if __name__ == "__main__":
    globals()[sys.argv[1]]()
