"""A rank of a job that a real launcher has started: launched.py WAITS

Rank 2 is in code of its own (it waits, or what HANGDBG_TEST_LOADS says) and the others wait
for it; with "meets" there all of them meet again and again. WAITS is in what: `plain`, for
what never comes; `gloo`, in a collective of torch; else in MPI_Barrier of that library,
which runs all the while. Rank 0 has a child that is no rank. SIGUSR1 ends a rank, with
status 0.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
NUMBERS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
MPICH_WORLD = 0x44000000  # mpi.h


def rank():
    return int(next(os.environ[name] for name in NUMBERS if name in os.environ))


def load():
    how = os.environ.get("HANGDBG_TEST_LOADS", "waits")
    if how == "sleeps":
        time.sleep(10000)
    while how == "works":
        sum(range(10000))
    threading.Event().wait()


def reduce(waits):
    if waits == "gloo":
        import torch

        torch.distributed.all_reduce(torch.ones(4))
    elif waits != "plain":
        waits.MPI_Barrier(world(waits))
    threading.Event().wait()


def train(waits):
    while os.environ.get("HANGDBG_TEST_LOADS") == "meets":
        waits.MPI_Barrier(world(waits))
    if rank() == 2:
        load()
    reduce(waits)


def meet(waits):
    """What reduce() waits in, once all have met."""
    if waits == "plain":
        return waits
    if waits == "gloo":
        import torch

        torch.distributed.init_process_group("gloo")
        return waits
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
