"""torch_loop.py WAY DIRECTORY ROUNDS TIMEOUT: a training loop on some ranks, gloo, with a
timeout of so many seconds. Each rank appends a byte to DIRECTORY/RANK a round; rank
0 writes DIRECTORY/loss at the end."""

import datetime
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist

WAY, DIRECTORY, ROUNDS, TIMEOUT = sys.argv[1:5]


def train(rank, progress):
    weight = torch.zeros(8)
    for step in range(int(ROUNDS)):
        gradient = torch.full((8,), float(rank + 1)) + weight * 0.25 + step
        if WAY == "late" and rank == 2:
            time.sleep(2)
        dist.all_reduce(gradient)
        weight = weight - gradient * 0.01
        loss = float(weight.sum())
        os.write(progress, b".")
        if WAY == "pairs" and rank < 2:
            pass_on(rank, gradient)
        time.sleep(0.005)
    return loss


def pass_on(rank, gradient):
    if rank == 1:
        dist.send(gradient, 0)
    else:
        dist.recv(gradient, 1)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=float(TIMEOUT)))
    rank = dist.get_rank()
    progress = os.open(os.path.join(DIRECTORY, str(rank)),
                       os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    loss = train(rank, progress)
    if rank == 0:
        with open(os.path.join(DIRECTORY, "loss"), "w") as file:
            file.write(repr(loss))
    # Who leaves first would break the others' last connections.
    open(os.path.join(DIRECTORY, "done.%d" % rank), "w").close()
    while len(list(pathlib.Path(DIRECTORY).glob("done.*"))) < dist.get_world_size():
        time.sleep(0.01)
    os._exit(0)


main()
