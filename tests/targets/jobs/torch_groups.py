"""torch_groups.py WAY DIRECTORY: four ranks under torchrun, gloo, with a group of all, one
of ranks 0 and 1 and one of 2 and 3. Each writes what torch itself says of its groups to
DIRECTORY/RANK, then most wait for ever. WAY:
one      rank 1 is in code of its own; rank 0 waits for it in their group, the others in that of all
begun    rank 3 is in code of its own; the others have begun three reductions, and wait for the last
pairs    the same, after rank 0 has sent rank 1 something in the group of all
alone    rank 3 is in code of its own; nobody waits, but for rank 3 in a `recv` of rank 0's
"""

import ctypes
import json
import os
import signal
import sys
import threading

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

PR_SET_PDEATHSIG = 1
WAY, DIRECTORY = sys.argv[1:3]


def own_code():
    threading.Event().wait()


def told(groups):
    """In torch's words, what is asked by its own functions."""
    own = {}
    for group in groups:
        backend = group
        if hasattr(group, "_get_backend"):
            backend = group._get_backend(torch.device("cpu"))
        own[c10d._pg_names[group]] = {
            "backend": dist.get_backend(group),
            "ranks": sorted(c10d._pg_group_ranks[group]),
            "sequence": backend._get_sequence_number_for_group()}
    path = os.path.join(DIRECTORY, str(dist.get_rank()))
    with open(path + ".new", "w") as file:
        json.dump(own, file)
    os.rename(path + ".new", path)


def main():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # torchrun's end is ours
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    pair = pairs[rank // 2]
    tensor = torch.ones(2, 3)
    for _ in range(5):
        dist.all_reduce(tensor)
    for _ in range(2):
        dist.broadcast(tensor, 2 * (rank // 2), group=pair)
    if WAY == "pairs" and rank < 2:
        for _ in range(3):
            dist.send(tensor, 1) if rank == 0 else dist.recv(tensor, 0)
    told([c10d._get_default_group(), pair])
    if WAY == "alone":
        own_code() if rank != 3 else dist.recv(tensor, 0)
    elif WAY in ("begun", "pairs"):
        if rank == 3:
            own_code()
        [dist.all_reduce(tensor, async_op=True) for _ in range(3)][-1].wait()
    elif rank == 1:
        own_code()
    elif rank == 0:
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX, group=pair)
    else:
        dist.all_reduce(tensor)


main()
