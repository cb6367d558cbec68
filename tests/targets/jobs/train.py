"""The training job of the README, each rank: train.py LOCK_FILE

Under torchrun (gloo, on the CPU). Steps until LOCK_FILE exists: then rank 2 waits for that
file to disappear, as an extension's build does, and the others wait for rank 2.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch.utils.file_baton import FileBaton


def load_kernel(path):
    FileBaton(path).wait()


def train(lock_file):
    weight = torch.zeros(4)
    step = 0
    while True:
        gradient = weight / 4 + dist.get_rank() + step
        dist.all_reduce(gradient)
        weight = weight - gradient / 100
        step += 1
        if dist.get_rank() == 2 and os.path.exists(lock_file):
            load_kernel(lock_file)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        print("ready", flush=True)
    train(sys.argv[1])
