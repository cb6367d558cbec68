"""A program that keeps the device busy and checks each result: steady.py [fork].

Each STEPS steps it prints how many it has made and what the sum was. "release" ends it.
With "fork" it forks a child now and then, which ends at once and touches no device.
"""

import os
import sys
import threading
import time

import target

try:
    import torch
except ImportError as error:
    target.cannot(error)
from device import use_primary_context

SIZE, STEPS, WINDOW = 2048, 64, 0.5
released = threading.Event()
steps = 0


def step(a, b):
    global steps
    steps += 1
    return a @ b


def work(a, b):
    expected = float(step(a, b).sum().item())
    wrong, forks, begun, before = 0, 0, time.monotonic(), 0
    target.ready("work", expected=expected)
    while not released.is_set():
        for _ in range(STEPS):
            c = step(a, b)
        wrong += float(c.sum().item()) != expected
        now = time.monotonic()
        if now - begun >= WINDOW:
            if "fork" in sys.argv:
                forks += fork()
            target.say(rate=(steps - before) / (now - begun), wrong=wrong, forks=forks,
                       allocated=torch.cuda.memory_allocated())
            begun, before = time.monotonic(), steps
    return {"steps": steps, "wrong": wrong, "forks": forks}


def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


target.imported(torch=torch.__version__)
target.on_release(released.set)
use_primary_context()
torch.manual_seed(1)
result = work(torch.rand(SIZE, SIZE, device="cuda"), torch.rand(SIZE, SIZE, device="cuda"))
torch.cuda.synchronize()
target.went_on(**result)
