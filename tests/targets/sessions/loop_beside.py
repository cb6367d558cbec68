"""Main hangs in a lock, four calls deep, while workers loop: one, or as many as the
first argument says. Each counts its own turns, whatever it is stopped for. As many
more as the second says only wait."""

import sys
import threading
import time

from common import finish, on_sigusr1, ready

over = []


def start_work(lock):
    name = "outermost"
    return name, load(lock)


def load(lock):
    answer = 41
    table = {"answer": answer}
    found = fetch(lock)
    return answer, table, found


def fetch(lock):
    tries = 3
    return [tries, wait_for_lock(lock)]


def wait_for_lock(lock):
    seen = [0, 2, 4]
    ready("wait_for_lock", ["futex"])
    lock.acquire()
    return seen


def loop(results):
    turns = 0
    bonus = 0
    while not over:
        turns += 1
        text = str(turns)
        check(turns, text)
        time.sleep(0.001)
    results.append([turns, bonus, text])


def check(turns, text):
    doubled = double(turns)
    assert doubled == 2 * int(text)


def double(number):
    return number + number


results = []
parted = threading.Event()
workers = [threading.Thread(target=parted.wait)
           for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 0)]
workers += [threading.Thread(target=loop, args=(results,), name="loop-%d" % number)
           for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1)]
for worker in workers:
    worker.start()
lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
name, (answer, table, found) = start_work(lock)
over.append(True)
parted.set()
for worker in workers:
    worker.join()
finish(name=name, answer=answer, table=table, found=found,
       exact=all(str(turns) == text for turns, _, text in results),
       bonuses=[bonus for _, bonus, _ in results])
