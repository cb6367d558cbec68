"""Hangs in a call of torch that waits for the device: torch_waits.py WAY [SCHEDULE].

Each function below is a way. It runs what it is about to hang in once before, so that
nothing is loaded late, then puts the kernel that spins before it, and hangs.
SCHEDULE is how the driver waits: auto, spin, yield or blocking.
"""

import ctypes
import sys
import threading
import time

import target

try:
    import torch
except ImportError as error:
    target.cannot(error)
import device
from device import Spin, Word, driver


def here():
    return torch.cuda.current_stream().cuda_stream


def synchronize_device(spin, x):
    spin.launch(here())
    target.ready("synchronize_device")
    torch.cuda.synchronize()


def synchronize_stream(spin, x):
    stream = torch.cuda.Stream()
    spin.launch(stream.cuda_stream)
    target.ready("synchronize_stream")
    stream.synchronize()


def synchronize_event(spin, x):
    event = torch.cuda.Event()
    spin.launch(here())
    event.record()
    target.ready("synchronize_event")
    event.synchronize()


def take_item(spin, x):
    x[3].item()
    spin.launch(here())
    target.ready("take_item")
    return x[3].item()


def copy_to_cpu(spin, x):
    x.cpu()
    spin.launch(here())
    target.ready("copy_to_cpu")
    return float(x.cpu()[3])


def print_tensor(spin, x):
    repr(x)
    spin.launch(here())
    target.ready("print_tensor")
    print(x, file=sys.stderr)


def find_nonzero(spin, x):
    x.nonzero()
    spin.launch(here())
    target.ready("find_nonzero")
    return len(x.nonzero())


def fill_launch_queue(spin, x):
    """A launch waits for room once some 1024 are queued."""
    x.add_(1)
    torch.cuda.synchronize()
    spin.launch(here())
    target.ready("fill_launch_queue")
    for _ in range(20000):
        x.add_(1)


def free_memory(spin, x):
    """empty_cache() calls cudaFree, which waits for the device."""
    y = torch.empty(1 << 26, device="cuda")
    del y
    spin.launch(here())
    target.ready("free_memory")
    torch.cuda.empty_cache()


def allocate_memory(spin, x):
    """cudaMalloc, which waits on some drivers and not on others."""
    spin.launch(here())
    target.ready("allocate_memory")
    begun = time.monotonic()
    torch.cuda.caching_allocator_alloc(1 << 28)
    target.say(returned=time.monotonic() - begun)


def wait_for_event(spin, x):
    """One stream waits for an event of another, which does not get there."""
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    event = torch.cuda.Event()
    spin.launch(first.cuda_stream)
    event.record(first)
    second.wait_event(event)
    target.ready("wait_for_event")
    second.synchronize()


def wait_for_value(spin, x):
    """A stream waits for a word that nobody writes; no kernel runs."""
    stream = torch.cuda.Stream()
    word = Word()
    target.on_release(lambda: word.set(1))
    driver.cuStreamWaitValue32_v2(ctypes.c_void_p(stream.cuda_stream), word.on_device, 1,
                                  device.WAIT_VALUE_GEQ)
    target.ready("wait_for_value")
    stream.synchronize()


def replay_graph(spin, x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        spin.launch(here())
    graph.replay()
    target.ready("replay_graph")
    torch.cuda.synchronize()


def poll_managed_memory(spin, x):
    """The word that the kernel polls is in managed memory (64 KiB)."""
    spin.launch(here())
    target.ready("poll_managed_memory")
    torch.cuda.synchronize()


def launch_and_wait(spin, x):
    """With CUDA_LAUNCH_BLOCKING=1 the launch itself waits."""
    arguments = spin.arguments(here())
    target.ready("launch_and_wait")
    driver.cuLaunchKernel(*arguments)


def callback_wants_gil(spin, x):
    """A function of Python on a stream wants the GIL, which the thread that waits for the
    stream keeps. Nothing but its end ends that."""
    called = device.HostFunction(lambda data: None)
    with_gil = device.Driver(ctypes.PyDLL)
    spin.launch()
    driver.cuLaunchHostFunc(ctypes.c_void_p(0), called, None)
    target.ready("callback_wants_gil")
    with_gil.cuStreamSynchronize(ctypes.c_void_p(0))


def pass_backward(spin, x):
    """A function of the program in the backward pass, which is in a thread of torch's."""
    if not hasattr(torch, "autograd"):
        target.cannot("this torch is a stand-in, without autograd")

    class Waits(torch.autograd.Function):
        @staticmethod
        def forward(ctx, y):
            return y * 2

        @staticmethod
        def backward(ctx, gradient):
            device.use_primary_context()  # it is another thread
            if hang:
                spin.launch(here())
            return gradient * x[3].item()

    y = x.clone().requires_grad_()
    for hang in (False, True):
        loss = Waits.apply(y).sum()
        if hang:
            target.ready("pass_backward")
        loss.backward()


def fill_queue_backward(spin, x):
    """The thread of torch's waits for room in the queue, and has no Python."""
    if not hasattr(torch, "autograd"):
        target.cannot("this torch is a stand-in, without autograd")
    for hang in (False, True):
        z = x.clone().requires_grad_()
        for _ in range(3000):
            z = z * 1.0001
        loss = z.sum()
        torch.cuda.synchronize()
        if hang:
            spin.launch(here())
            target.ready("fill_queue_backward")
        loss.backward()


def take_long_steps(spin, x):
    """A step takes the device 2.5 s, and is waited for: it is well."""
    step = Spin(seconds=2.5)
    over = threading.Event()
    target.on_release(over.set)
    target.ready("take_long_steps")
    steps = 0
    while not over.is_set():
        step.launch(here())
        x[3].item()
        steps += 1


def load_pinned(spin, x):
    """The thread of a DataLoader that pins memory: cudaHostAlloc, which may wait."""
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(TensorDataset(torch.arange(64.0)), batch_size=8, num_workers=1,
                        pin_memory=True)
    spin.launch(here())
    target.ready("load_pinned")
    begun = time.monotonic()
    for _ in loader:
        pass
    target.say(returned=time.monotonic() - begun)


def main(way, schedule="auto"):
    target.imported(torch=torch.__version__, cuda=torch.version.cuda)
    spin = Spin(managed=way == "poll_managed_memory", schedule=schedule,
                seconds=1.5 if way == "callback_wants_gil" else device.SPIN_SECONDS)
    target.on_release(spin.release)
    x = torch.arange(64, device="cuda", dtype=torch.float32)
    torch.cuda.synchronize()
    value = globals()[way](spin, x)
    torch.cuda.synchronize()  # a call that has returned may have left the kernel behind
    target.went_on(value=value)


main(*sys.argv[1:])
