"""A job of torch (gloo) in which one rank after the other keeps the rest waiting, as the test
wants it: causes_jobs.py DIRECTORY [TURN...]

A turn is WAY or WAY@RANK. Each begins when DIRECTORY/go-N is there (from 0 on), with a step of
all ranks; then that rank, the last one if none is named, goes its way, and the others wait for
it in the next step. Ranks write DIRECTORY/ready-RANK when they have met. After a turn
they write DIRECTORY/done-N-RANK. WAY:
baton       a lock file of torch's that nobody will remove
sleep       sleeps, until SIGUSR1
input       wants a line of its standard input
busy        a loop in which nothing changes, until SIGUSR1
stop        stops itself
polls       looks for a file again and again
store       wants a key of the store that nobody has set
serves      waits for who connects to the port that it writes into DIRECTORY/port
work        sleeps, until SIGUSR1, while the others are in `work.wait()`
backward    the same, while the others are in the backward() of a DistributedDataParallel
trains      computes, for long (ends when DIRECTORY/enough is there)
saves       writes a checkpoint, again and again (the same)
worker      its DataLoader's worker hangs on a lock held across fork
loader      its DataLoader's worker is slow (ends after DIRECTORY/enough)
barrier     calls barrier() where the others reduce
gather      calls all_gather() where the others reduce
sizes       reduces other sizes than the others
more        has reduced once more than the others
order       ranks 0 and 1 reduce in two groups, each in another one first
missing     has ended before the ranks have met
eats        the same: wants memory, once DIRECTORY/go-0 is there, until it is killed
all         none is late: the network keeps what they send
"""

import ctypes
import os
import selectors
import signal
import socket
import sys
import threading
import time

import torch
import torch.distributed as dist

PR_SET_PDEATHSIG = 1
DIRECTORY = sys.argv[1]


class Enough(Exception):
    pass


def enough(signum, frame):
    raise Enough


def exists(name):
    return os.path.exists(os.path.join(DIRECTORY, name))


def baton(number):
    from torch.utils.file_baton import FileBaton

    FileBaton(os.path.join(DIRECTORY, "lock-%d" % number)).wait()


def sleep(number):
    try:
        time.sleep(10000)
    except Enough:
        pass


def wants_input(number):
    os.write(1, b"? ")
    sys.stdin.readline()


def busy(number):
    flag = False
    try:
        while not flag:
            pass
    except Enough:
        pass


def stop(number):
    os.kill(os.getpid(), signal.SIGSTOP)


def polls(number):
    while not exists("file-%d" % number):
        time.sleep(0.1)


def store(number):
    key = "key-%d" % number
    dist.distributed_c10d._get_default_store().get(key)


def sets_key(number):
    """Once somebody opens that file to write."""
    with open(os.path.join(DIRECTORY, "key-%d" % number)) as fifo:
        fifo.read()
    dist.distributed_c10d._get_default_store().set("key-%d" % number, "1")


def trains(number):
    weights = torch.ones(200, 200)
    while not exists("enough"):
        for _ in range(50):
            weights = torch.tanh(weights @ weights)


def saves(number):
    weights = torch.ones(400, 400)
    while not exists("enough"):
        with open(os.path.join(DIRECTORY, "checkpoint"), "wb") as file:
            torch.save({"weights": weights}, file)
            os.fsync(file.fileno())


def serves(number):
    with socket.create_server(("127.0.0.1", 0)) as server:
        with open(os.path.join(DIRECTORY, "port"), "w") as port:
            port.write(str(server.getsockname()[1]))
        loop = selectors.DefaultSelector()
        loop.register(server, selectors.EVENT_READ)
        loop.select()


class Held(torch.utils.data.Dataset):
    lock = threading.Lock()

    def __len__(self):
        return 8

    def __getitem__(self, index):
        with self.lock:
            return index


class Slow(Held):
    def __getitem__(self, index):
        total = 0
        while not exists("enough"):
            total += sum(range(10000))
        return index


def worker_begins(number):
    die_with_parent()


def use_workers(data):
    for _ in torch.utils.data.DataLoader(data, num_workers=1, worker_init_fn=worker_begins):
        return


def worker(number):
    held = threading.Event()

    def hold():
        with Held.lock:
            held.set()
            threading.Event().wait()

    threading.Thread(target=hold, daemon=True).start()
    held.wait()
    use_workers(Held())


def loader(number):
    use_workers(Slow())


WAYS = {"baton": baton, "sleep": sleep, "input": wants_input, "busy": busy, "stop": stop,
        "polls": polls, "store": store, "trains": trains, "saves": saves, "worker": worker,
        "loader": loader, "serves": serves, "work": sleep, "backward": sleep}


def step(tensor):
    dist.all_reduce(tensor)


def work_step(tensor):
    dist.all_reduce(tensor, async_op=True).wait()


def backward_step(tensor):
    backward_step.model(tensor).sum().backward()


def mismatch(way, odd, groups):
    tensor = torch.ones(4)
    if way == "order":
        first = dist.get_rank() % 2
        dist.all_reduce(tensor, group=groups[first])
        dist.all_reduce(tensor, group=groups[1 - first])
    elif not odd:
        step(tensor)
    elif way == "barrier":
        dist.barrier()
    elif way == "gather":
        dist.all_gather([torch.ones(4) for _ in range(dist.get_world_size())], tensor)
    elif way == "sizes":
        step(torch.ones(4096))
    elif way == "more":
        dist.broadcast(tensor, dist.get_rank())
        step(tensor)
    step(tensor)


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_for(name):
    while not exists(name):
        time.sleep(0.02)


def eats():
    wait_for("go-0")
    eaten = []
    while True:
        eaten.append(bytearray(b"x") * (1 << 20))


def take_turn(number, turn, groups):
    way, _, who = turn.partition("@")
    odd = dist.get_rank() == int(who or dist.get_world_size() - 1)
    if way == "store" and dist.get_rank() == 0:
        threading.Thread(target=sets_key, args=(number,), daemon=True).start()
    tensor = torch.ones(4)
    step(tensor)
    if way == "backward":
        backward_step.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    if way in WAYS:
        if odd:
            WAYS[way](number)
        {"work": work_step, "backward": backward_step}.get(way, step)(tensor)
    elif way == "all":
        wait_for("cut")
        step(tensor)
    else:
        mismatch(way, odd, groups)


def main():
    die_with_parent()
    turns = sys.argv[2:]
    torch.set_num_threads(1)
    signal.signal(signal.SIGUSR1, enough)
    way, _, who = turns[0].partition("@")
    if way in ("missing", "eats") and os.environ["RANK"] == who:
        return eats() if way == "eats" else None
    dist.init_process_group("gloo")
    groups = [dist.new_group(), dist.new_group()]
    open(os.path.join(DIRECTORY, "ready-%d" % dist.get_rank()), "w").close()
    for number, turn in enumerate(turns):
        wait_for("go-%d" % number)
        take_turn(number, turn, groups)
        open(os.path.join(DIRECTORY, "done-%d-%d" % (number, dist.get_rank())), "w").close()


if __name__ == "__main__":
    main()
