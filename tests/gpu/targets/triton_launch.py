"""Triton: a kernel that is compiled and loaded while another one spins, and the wait for it."""

import time

import target

try:
    import torch
    import triton
    import triton.language as tl
except Exception as error:
    target.cannot(error)
from device import Spin


@triton.jit
def add_one(x_ptr, n: tl.constexpr):
    offsets = tl.arange(0, n)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + 1)


def launch_triton():
    x = torch.zeros(64, device="cuda")
    spin.launch(torch.cuda.current_stream().cuda_stream)
    target.ready("launch_triton")
    begun = time.monotonic()
    add_one[(1,)](x, 64)
    launched = time.monotonic() - begun
    torch.cuda.synchronize()
    return launched


target.imported(triton=triton.__version__)
spin = Spin()
target.on_release(spin.release)
target.went_on(value=launch_triton())
