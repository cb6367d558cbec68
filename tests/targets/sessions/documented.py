"""What the pages call train.py: each command line that they show can be typed beside it.

    documented.py hang LOCK      process 79655: waits for a lock file in which nobody is
    documented.py job COUNT      process 79601: starts so many ranks, which train
    documented.py [WORDS...]     ends at once

Where the pages name a line (train.py:120), `# 120` marks the one that is meant: the test adds empty
lines before.
"""

import os
import subprocess
import sys
import threading
import time

answer, x, spare = 42, 7, 1
queue = [{"step": 11}, {"step": 12}]
sources = ["fused.cpp"]
batches = list(range(4))


class Baton:
    def __init__(self, lock_file_path):
        self.lock_file_path = lock_file_path

    def wait(self):
        while os.path.exists(self.lock_file_path):
            time.sleep(0.1)


def load(baton):
    return compile_them(baton)


def compile_them(baton):
    return baton.wait()


class Worker:
    def __init__(self):
        self.taken = threading.Lock()

    def run(self):
        with self.taken:
            self.work()

    def work(self):
        self.taken.acquire()


class Trainer:
    def __init__(self):
        self.lock_file_path = "none"
        self.step = 0

    def train(self):
        step, loss, batch, parent = 0, 1.0, batches, os.getppid()
        print("ready", flush=True)
        while os.getppid() == parent:
            time.sleep(0.05)
            step += 1; loss /= 2  # 120


def begin(rank, count):
    return subprocess.Popen([sys.executable, "train.py", "rank"], stdout=subprocess.PIPE, env=dict(
        os.environ, RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank),
        LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[3]))


if sys.argv[1:2] == ["hang"]:
    worker = threading.Thread(target=Worker().run, name="worker-3", daemon=True)
    worker.start()
    load(Baton(sys.argv[2]))
elif sys.argv[1:2] == ["job"]:
    ranks = [begin(rank, int(sys.argv[2])) for rank in range(int(sys.argv[2]))]
    for one in ranks:
        one.stdout.readline()
    print("ready", flush=True)
    ranks[0].wait()
elif sys.argv[1:] == ["rank"]:
    Trainer().train()
else:
    print("ends")
