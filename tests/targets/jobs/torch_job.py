"""A rank of a job of torch (gloo, on the CPU) that hangs as jobs do: torch_job.py WAY

Under torchrun, but for those that torch.multiprocessing starts. WAY:
user        rank 3 is in code of its own, the others wait for it
mismatch    rank 2 gathers where the others reduce
exited      rank 1 has ended with 0 before the others met
baton       all wait for a lock file that nobody holds
workers     each waits for a DataLoader's worker that hangs on a lock held across fork
outlived    the same, and the workers do not die with their rank
spawn       as `user`, started by torch.multiprocessing.spawn
argument    as `spawn`, and the ranks are told their number as an argument alone
early       as `spawn`, and rank 3 never comes to set its variables
forked      as `argument`, by fork
importing   as `spawn`, and rank 3 never comes out of its imports
"""

import ctypes
import os
import signal
import sys
import threading

import torch
import torch.distributed as dist

PR_SET_PDEATHSIG = 1


def load():
    threading.Event().wait()


def train(way):
    tensor = torch.ones(4)
    for step in range(3):
        if step == 2:
            told("ready")
            if way == "user" and dist.get_rank() == 3:
                load()
            if way == "mismatch" and dist.get_rank() == 2:
                dist.all_gather([torch.ones(4) for _ in range(4)], tensor)
        dist.all_reduce(tensor)


def wait_for_lock_file():
    from torch.utils.file_baton import FileBaton

    told("ready")
    FileBaton(__file__).wait()


class Data(torch.utils.data.Dataset):
    lock = threading.Lock()

    def __len__(self):
        return 8

    def __getitem__(self, index):
        with self.lock:
            return index


def use_workers(begins):
    """The thread that holds the lock is not there in a worker."""
    held = threading.Event()

    def hold():
        with Data.lock:
            held.set()
            threading.Event().wait()

    threading.Thread(target=hold, daemon=True).start()
    held.wait()
    told("ready")
    for _ in torch.utils.data.DataLoader(Data(), num_workers=1,
                                         worker_init_fn=begins):
        pass


def spawned(rank, way, port):
    die_with_parent()
    if way == "early" and rank == 3:
        told("ready")
        load()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    if way in ("argument", "forked"):
        dist.init_process_group("gloo", rank=rank, world_size=4)
    else:
        os.environ.update(RANK=str(rank), WORLD_SIZE="4")
        if way in ("early", "importing"):
            told("ready")
        dist.init_process_group("gloo")
    train("user")


def worker_begins(number):
    die_with_parent()


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def told(text):
    os.write(1, (text + "\n").encode())


def main():
    way = sys.argv[1]
    if way in ("spawn", "argument", "early", "forked", "importing"):
        torch.multiprocessing.start_processes(
            spawned, (way, sys.argv[2]), nprocs=4,
            start_method="fork" if way == "forked" else "spawn")
        return
    die_with_parent()
    if way == "exited":
        told("ready")
        if os.environ["RANK"] == "1":
            return
    if way == "baton":
        wait_for_lock_file()
    dist.init_process_group("gloo")
    if way in ("workers", "outlived"):
        use_workers(worker_begins if way == "workers" else None)
    train(way)


if __name__ == "__main__":
    main()
elif sys.argv[1] == "importing" and torch.multiprocessing.current_process().name.endswith("-4"):
    die_with_parent()
    told("ready")
    load()
