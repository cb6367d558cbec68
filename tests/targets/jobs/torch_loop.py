"""torch_loop.py WAY DIRECTORY ROUNDS TIMEOUT: a training loop on some ranks, gloo, with a
timeout of so many seconds. Each rank appends the loss of each round to DIRECTORY/RANK, a
float of C. ROUNDS: 0 for ever, more slowly, until there is DIRECTORY/end. WAY: plain, or
once    rank 2 waits in the fourth for the file DIRECTORY/go on
pairs   rank 1 also sends something to rank 0
pair    ranks 0 and 1, and 2 and 3, reduce for themselves
"""

import array
import ctypes
import datetime
import itertools
import os
import pathlib
import signal
import sys
import time

import torch
import torch.distributed as dist

PR_SET_PDEATHSIG = 1
WAY, DIRECTORY, ROUNDS, TIMEOUT = sys.argv[1:5]
ROUNDS = int(ROUNDS)
NAP = 0.005 if ROUNDS else 0.02  # seconds


def train(rank, progress, group):
    weight = torch.zeros(8)
    for step in range(ROUNDS) if ROUNDS else itertools.count():
        gradient = torch.full((8,), float(rank + 1)) + weight * 0.25 + step
        if WAY == "once" and rank == 2 and step == 3:
            while not os.path.exists(os.path.join(DIRECTORY, "go on")):
                time.sleep(0.01)
        dist.all_reduce(gradient, group=group)
        weight = weight - gradient * 0.01
        loss = float(weight.sum())
        os.write(progress, array.array("f", [loss]))
        if WAY == "pairs" and rank < 2:
            pass_on(rank, gradient)
        time.sleep(NAP)
        if not ROUNDS and step % 50 == 0 and is_over(group):
            return


def is_over(group):
    """All learn of it in the same round."""
    over = torch.tensor(float(os.path.exists(os.path.join(DIRECTORY, "end"))))
    dist.all_reduce(over, group=group)
    return bool(over)


def pass_on(rank, gradient):
    if rank == 1:
        dist.send(gradient, 0)
    else:
        dist.recv(gradient, 1)


def main():
    # Else they go on when their launcher is killed.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=float(TIMEOUT)))
    rank = dist.get_rank()
    progress = os.open(os.path.join(DIRECTORY, str(rank)),
                       os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    group = None
    if WAY == "pair":
        dist.barrier()
        pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        group = pairs[rank // 2]
    train(rank, progress, group)
    # Who leaves first would break the others' last connections.
    open(os.path.join(DIRECTORY, "done.%d" % rank), "w").close()
    while len(list(pathlib.Path(DIRECTORY).glob("done.*"))) < dist.get_world_size():
        time.sleep(0.01)
    os._exit(0)


main()
