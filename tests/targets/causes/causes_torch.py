"""Hangs in torch, in the way that its first argument names; the second is a folder. Like
causes.py, it says that it is ready and is killed."""

import os
import signal
import sys

import torch
from torch.utils.data import DataLoader, Dataset

from common import ready

SHM = "/dev/shm"


def say(**more):
    ready("main", [], go_on="kill", **more)


def wait_for_byte():
    os.read(os.pipe()[0], 1)


class Stuck(Dataset):
    """Its second worker waits for what never comes."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index % 2 == 1:
            wait_for_byte()
        return torch.zeros(4)


class Large(Dataset):
    """Fills what is left of /dev/shm, before its batch has to go through there."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        room = os.statvfs(SHM)
        assert room.f_blocks * room.f_frsize < 1 << 26, "not in a small one of its own"
        with open(SHM + "/ballast", "wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(b"x" * 4096)
            except OSError:
                pass
        return torch.zeros(1 << 20)


class Unpicklable(Dataset):
    """Its batch cannot be handed over: the worker prints why, and waits for work."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return lambda: index


def loader(dataset, workers=2, **more):
    # What is not collated in the worker is put into shared memory by its queue's thread.
    return iter(DataLoader(dataset, batch_size=None, num_workers=workers,
                           multiprocessing_context="fork", **more))


def stuck_worker():
    batches = loader(Stuck())
    say(workers=[worker.pid for worker in batches._workers])
    for _ in batches:
        pass


def stopped_worker():
    batches = loader(Stuck())
    for worker in batches._workers:
        os.kill(worker.pid, signal.SIGSTOP)
    say()
    for _ in batches:
        pass


def dead_worker():
    """SIGCHLD is ignored, so that the kernel forgets them at once: the DataLoader never
    hears of their end."""
    batches = loader(Stuck())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for worker in batches._workers:
        os.kill(worker.pid, signal.SIGKILL)
    say()
    next(batches)


class Pinned:
    """A batch that is pinned in its own way (torch calls it): waits, or works for long."""

    def __init__(self, pins):
        self.pins = pins

    def pin_memory(self):
        if self.pins == "waits":
            wait_for_byte()
        while True:
            sum(range(10000))


class Pinnables(Dataset):
    def __init__(self, pins):
        self.pins = pins

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if self.pins == "worker":
            wait_for_byte()
        return Pinned(self.pins)


def pinned(pins):
    """torch's thread that pins memory runs only beside an accelerator, so it is told of one."""
    torch.accelerator.is_available = lambda: True
    torch.accelerator.current_accelerator = lambda: torch.device("cpu")
    torch.accelerator.current_device_index = lambda: 0
    torch.accelerator.set_device_index = lambda device: None
    batches = loader(Pinnables(pins), pin_memory=True)
    say(workers=[worker.pid for worker in batches._workers])
    next(batches)


def pin_waits():
    pinned("waits")


def pin_works():
    pinned("works")


def pin_worker():
    pinned("worker")


def shm_full():
    batches = loader(Large(), 1)
    say()
    next(batches)


def lost_batch():
    batches = loader(Unpicklable(), 1)
    say()
    next(batches)


def fork_openmp():
    torch.set_num_threads(4)
    torch.ones(1 << 22).sum()
    child = os.fork()
    if child == 0:
        torch.ones(1 << 22).sum()
        os._exit(0)
    say(child=child)
    os.waitpid(child, 0)


def locked_file():
    """By the library filelock."""
    import subprocess

    import filelock

    path = os.path.join(sys.argv[2], "lock")
    holder = subprocess.Popen(
        [sys.executable, "-c",
         "import filelock, sys, time\n"
         "with filelock.FileLock(sys.argv[1]):\n"
         "    print(1, flush=True)\n"
         "    time.sleep(1000)\n", path], stdout=subprocess.PIPE)
    holder.stdout.readline()
    say(holder=holder.pid)
    filelock.FileLock(path).acquire()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
