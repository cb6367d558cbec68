"""Threads that wait for one thing each, for as long as it runs: a Lock, a pipe, the GIL. Ends as a
line comes on stdin."""

import os
import sys
import threading

MINE = threading.Lock()


def hold():
    """The owner: it waits for a pipe with the lock held."""
    with MINE:
        os.read(PIPE[0], 1)


def want():
    with MINE:
        pass


def spin():
    while not OVER.is_set():
        sum(range(1000))


def main():
    threads = [threading.Thread(target=one, name=one.__name__) for one in (hold, want, spin, spin)]
    threads[0].start()
    while not MINE.locked():
        pass
    for one in threads[1:]:
        one.start()
    print("ready", flush=True)
    sys.stdin.readline()
    OVER.set()
    os.write(PIPE[1], b"x")
    for one in threads:
        one.join()
    print("{}", flush=True)


PIPE = os.pipe()
OVER = threading.Event()
if __name__ == "__main__":
    main()
