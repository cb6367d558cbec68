"""Each rank builds an index of its part, one after the other. srun -n 4 python3 index.py"""
import fcntl
import os

rank = int(os.environ["SLURM_PROCID"])


def fetch(part):
    with open("incoming/%d" % part) as source:
        return source.read()


def build(part):
    with open("index.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        text = fetch(part)
        with open("index.%d" % part, "w") as index:
            index.write("\n".join(sorted(text.split())))


build(rank)
