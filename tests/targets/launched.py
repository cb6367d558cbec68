"""A rank of a job that a real launcher has started: launched.py WAITS

Rank 2 is in code of its own (it waits, or what HANGDBG_TEST_LOADS says: sleeps, works, reads
a pipe that only it can write to, "locks FILE", stops itself) and the others wait for it; with
"meets" there all of them meet again and again, with "computes" none waits. WAITS is in what:
`plain`, for what never comes; `gloo`, in a collective of torch; `tcp://HOST:PORT`, the same,
below a launcher that knows nothing of torch; else in MPI_Barrier of that library, which runs
all the while. Rank 0 has a child that is no rank. SIGUSR1 ends a rank, with status 0.
"""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
NUMBERS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
MPICH_WORLD = 0x44000000  # mpi.h
RANKS = 4

how, _, path = os.environ.get("HANGDBG_TEST_LOADS", "waits").partition(" ")


def rank():
    return int(next(os.environ[name] for name in NUMBERS if name in os.environ))


def load():
    if how == "sleeps":
        time.sleep(10000)
    elif how == "reads":
        os.read(os.pipe()[0], 1)
    elif how == "locks":
        fcntl.flock(open(path), fcntl.LOCK_EX)
    elif how == "stops":
        os.kill(os.getpid(), signal.SIGSTOP)
    while how == "works":
        sum(range(10000))
    threading.Event().wait()


def compute():
    total = 0
    while True:
        total += sum(range(1000))


def reduce(waits):
    if waits == "gloo":
        import torch

        torch.distributed.all_reduce(torch.ones(4))
    elif waits != "plain":
        waits.MPI_Barrier(world(waits))
    threading.Event().wait()


def train(waits):
    while how == "meets":
        waits.MPI_Barrier(world(waits))
    if how == "computes":
        compute()
    if rank() == 2:
        load()
    reduce(waits)


def meet(waits):
    """What reduce() waits in, once all have met."""
    if waits == "plain":
        return waits
    if waits == "gloo" or waits.startswith("tcp:"):
        import torch

        torch.distributed.init_process_group("gloo", **({} if waits == "gloo" else {
            "init_method": waits, "rank": rank(), "world_size": RANKS}))
        return "gloo"
    library = ctypes.CDLL(waits, ctypes.RTLD_GLOBAL)
    library.MPI_Init(None, None)
    return library


def world(library):
    """MPI_COMM_WORLD: Open MPI's is an object, MPICH's a number."""
    try:
        return ctypes.byref(ctypes.c_char.in_dll(library, "ompi_mpi_comm_world"))
    except ValueError:
        return MPICH_WORLD


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main():
    die_with_parent()
    signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))
    if rank() == 0:
        subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"],
                         preexec_fn=die_with_parent)
    train(meet(sys.argv[1]))


if __name__ == "__main__":
    main()
