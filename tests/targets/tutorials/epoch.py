"""One epoch: each rank trains on its part of the files. torchrun --nproc-per-node 3 epoch.py"""
import pathlib

import torch
import torch.distributed as dist


def batches(rank, ranks):
    files = sorted(pathlib.Path("data").glob("*.txt"))
    return files[rank::ranks]


def train(mine):
    weight = torch.zeros(4)
    for step, file in enumerate(mine):
        gradient = weight + len(file.read_text())
        dist.all_reduce(gradient)
        weight -= gradient / 100
    return weight


dist.init_process_group("gloo")
mine = batches(dist.get_rank(), dist.get_world_size())
weight = train(mine)
dist.barrier()
print("rank", dist.get_rank(), "has ended its epoch")
