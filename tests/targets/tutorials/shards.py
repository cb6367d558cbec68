"""Each rank prepares its shard, then all train. srun -n 4 python3 shards.py"""
import fcntl
import os

import torch
import torch.distributed as dist

rank, ranks = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])


def prepare(shard):
    with open("cache/%d.lock" % shard, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open("cache/%d.tokens" % shard, "w") as tokens:
            tokens.write("the tokens of shard %d" % shard)


def train(steps):
    weight = torch.ones(4)
    for step in range(steps):
        dist.all_reduce(weight)
    return weight


meeting = "file://" + os.path.abspath("meet." + os.environ["SLURM_JOB_ID"])
dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=ranks)
prepare(rank)
train(1000)
