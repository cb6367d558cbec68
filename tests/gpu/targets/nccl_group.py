"""torch.distributed with NCCL: nccl_group.py WAY RANK WORLD_SIZE.

queued     one rank; all_reduce behind a kernel that spins, and a wait for it
timeout    the same with a timeout of 5 s: the watchdog ends the process
lazy_init  two ranks; rank 1 waits for a lock that it has itself and never calls a
           collective, so that rank 0 waits for it in ncclCommInitRank
store      rank 1 never comes to init_process_group
"""

import os
import sys
import threading
from datetime import timedelta

import target

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    target.cannot(error)
from device import SPIN_SECONDS, Spin


def entries():
    """What the Flight Recorder of this process says of its collectives."""
    try:
        import pickle

        from torch._C._distributed_c10d import _dump_nccl_trace

        dumped = pickle.loads(_dump_nccl_trace(True, False, False))
        return [{key: entry.get(key) for key in ("profiling_name", "state", "collective_seq_id")}
                for entry in dumped.get("entries", [])]
    except Exception as error:  # a fact for later, not a condition
        return repr(error)


def reduce_behind_kernel(wait):
    x = torch.ones(1024, device="cuda")
    dist.all_reduce(x)
    torch.cuda.synchronize()
    # The end of a process whose kernel runs for ever may take its time.
    spin = Spin(seconds=SPIN_SECONDS if wait else 20)
    target.on_release(spin.release)
    spin.launch(torch.cuda.current_stream().cuda_stream)
    work = dist.all_reduce(x, async_op=True)
    target.ready("reduce_behind_kernel", recorder=entries())
    if wait:
        work.wait()
        torch.cuda.synchronize()
    else:  # until the watchdog has ended us
        torch.cuda.current_stream().synchronize()


def begin_communicator():
    x = torch.ones(4, device="cuda")
    target.ready("begin_communicator")
    dist.all_reduce(x)


def never_comes():
    lock = threading.Lock()
    lock.acquire()
    target.ready("never_comes")
    lock.acquire()


def join_group(rank, world_size, seconds):
    dist.init_process_group("nccl", rank=rank, world_size=world_size,
                            timeout=timedelta(seconds=seconds))


def main(way, rank, world_size):
    target.imported(torch=torch.__version__)
    if way == "store":
        target.ready("join_group")
    join_group(rank, world_size, 5 if way == "timeout" else 60)
    if way == "lazy_init":
        if rank == 1:
            never_comes()
        begin_communicator()
    reduce_behind_kernel(way == "queued")
    target.went_on()


if __name__ == "__main__":
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("LOCAL_RANK", "0")
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
