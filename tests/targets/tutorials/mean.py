"""Prints the mean rate of a few jobs, which a worker thread computes."""
import queue
import threading

jobs = queue.Queue()
rates = queue.Queue()


def work():
    while True:
        seconds = jobs.get()
        rates.put(100 / seconds)


threading.Thread(target=work, daemon=True).start()
for seconds in (4, 2, 0, 5):
    jobs.put(seconds)
total = 0
for done in range(4):
    total += rates.get()
print("mean rate:", total / 4, flush=True)
