"""An error of the device: errors.py assert|illegal|memory. It is launched in one function,
surfaces in another, and the process waits with what is left of its context."""

import sys
import threading

import target

try:
    import torch
except ImportError as error:
    target.cannot(error)
from device import Spin

released = threading.Event()


def launch_fault(kind, spin, x):
    if kind == "assert":
        return x[torch.tensor([1000], device="cuda")]
    if kind == "illegal":
        return spin.launch_wild(torch.cuda.current_stream().cuda_stream)
    return torch.empty(1 << 46, device="cuda")  # 256 TiB


def surface(kind, spin, x):
    try:
        launch_fault(kind, spin, x)
        torch.cuda.synchronize()
    except Exception as caught:
        return caught
    return None


def wait_after(error, x):
    message = str(error)
    target.ready("wait_after", error=type(error).__name__, message=message[:2000])
    released.wait()


target.imported(torch=torch.__version__)
target.on_release(released.set)
spinner = Spin()
data = torch.arange(64, device="cuda", dtype=torch.float32)
torch.cuda.synchronize()
wait_after(surface(sys.argv[1], spinner, data), data)
target.went_on()
