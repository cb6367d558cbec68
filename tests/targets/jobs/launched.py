"""A rank of a job that a real launcher has started: launched.py WAITS

Rank 2 is in code of its own (it waits, or what HANGDBG_TEST_LOADS says: sleeps, works, reads
a pipe that only it can write to, "locks FILE", stops itself) and the others wait for it. WAITS
is in what: `plain`, for what never comes; `gloo`, in a collective of torch; `tcp://HOST:PORT`,
the same, below a launcher that knows nothing of torch; else in MPI_Barrier of that library,
which runs all the while; in MPI_Recv, where HANGDBG_TEST_CALLS says so.

Or all do what is said there: "meets" again and again, "computes", "receives" from each other
what nobody sends, "exchanges BYTES" again and again, "phases BYTES", works for a second between two
such; of "parts" rank 2 is in another collective than the others; of "awaits" rank 2 sleeps,
rank 1 computes, and the others wait for what it is to send.

Rank 0 has a child that is no rank. SIGUSR1 ends a rank, with status 0.
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
MPICH_WORLD, MPICH_BYTE = 0x44000000, 0x4c00010d  # mpi.h
RANKS = 4

how, _, what = os.environ.get("HANGDBG_TEST_LOADS", "waits").partition(" ")


def rank():
    return int(next(os.environ[name] for name in NUMBERS if name in os.environ))


def load():
    if how == "sleeps":
        time.sleep(10000)
    elif how == "reads":
        os.read(os.pipe()[0], 1)
    elif how == "locks":
        fcntl.flock(open(what), fcntl.LOCK_EX)
    elif how == "stops":
        os.kill(os.getpid(), signal.SIGSTOP)
    while how == "works":
        sum(range(10000))
    never = threading.Condition()  # a handler of SIGUSR1 might set an Event
    with never:
        never.wait()


def compute():
    total = 0
    while True:
        total += sum(range(1000))


def reduce(waits):
    if waits == "gloo":
        import torch

        torch.distributed.all_reduce(torch.ones(4))
    elif os.environ.get("HANGDBG_TEST_CALLS") == "MPI_Recv":
        receive(waits, 2)
    elif waits != "plain":
        waits.MPI_Barrier(world(waits))
    never = threading.Condition()  # a handler of SIGUSR1 might set an Event
    with never:
        never.wait()


def train(waits):
    while how == "meets":
        waits.MPI_Barrier(world(waits))
    if how == "computes":
        compute()
    if how == "receives":
        receive(waits, (rank() - 1) % RANKS)
    if how in ("exchanges", "phases"):
        exchange(waits, int(what), 1 if how == "phases" else 0)
    if how == "awaits":
        receive(waits, 1) if rank() in (0, 3) else compute() if rank() == 1 else time.sleep(10000)
    if how == "parts" and rank() == 2:
        waits.MPI_Bcast(ctypes.create_string_buffer(1), 1, byte(waits), 0, world(waits))
    if rank() == 2 and how != "parts":
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


def receive(library, source):
    library.MPI_Recv(ctypes.create_string_buffer(1), 1, byte(library), source, 0,
                     world(library), ctypes.create_string_buffer(64))


def exchange(library, size, seconds):
    """With those before and after it, again and again; it computes so long between, every
    second one twice as long."""
    to_next = (ctypes.create_string_buffer(size), size, byte(library), (rank() + 1) % RANKS, 0)
    from_last = (ctypes.create_string_buffer(size), size, byte(library), (rank() - 1) % RANKS, 0)
    status = ctypes.create_string_buffer(64)
    while True:
        library.MPI_Sendrecv(*to_next, *from_last, world(library), status)
        end = time.monotonic() + seconds * (1 + rank() % 2)
        while time.monotonic() < end:
            sum(range(1000))


def world(library):
    return handle(library, "ompi_mpi_comm_world", MPICH_WORLD)


def byte(library):
    return handle(library, "ompi_mpi_byte", MPICH_BYTE)


def handle(library, name, number):
    """Open MPI's are objects, MPICH's are numbers."""
    try:
        return ctypes.byref(ctypes.c_char.in_dll(library, name))
    except ValueError:
        return number


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
