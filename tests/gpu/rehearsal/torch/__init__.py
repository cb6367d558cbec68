"""No torch: as much of its names as the targets use, over the stand-in libraries, for a
rehearsal without a GPU. A call that waits for the device waits in the C function in which
the real one does. tests/integration/jobs/test_gpu.py checks the names against the real torch."""

import types

from . import cuda

__version__ = "0.rehearsal"
version = types.SimpleNamespace(cuda="0.rehearsal")
float32 = "float32"
_C = types.SimpleNamespace(_cuda_hasPrimaryContext=lambda device: device == 0)
OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {})


class device(str):
    type = "cuda"


class Tensor:
    device, dtype, requires_grad = device("cuda:0"), "float32", False

    def __init__(self, size):
        self.shape = (size,)

    def item(self):
        cuda.runtime.cudaStreamSynchronize(None)
        return 3.0

    def __repr__(self):
        return "tensor(%s)" % self.item()

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        if isinstance(index, Tensor):
            cuda.fail("device-side assert triggered")
        return self

    def __matmul__(self, other):
        cuda.runtime.cudaLaunchKernel()
        return self

    def add_(self, value):
        cuda.runtime.cudaLaunchKernel()
        return self

    def sum(self):
        cuda.runtime.cudaLaunchKernel()
        return self

    def cpu(self):
        self.item()
        return self

    def __float__(self):
        return 3.0

    def nonzero(self):
        self.item()
        return self


def arange(size, device="cpu", dtype=None):
    return Tensor(int(size))


def ones(*size, device="cpu"):
    return Tensor(*size[:1])


zeros = rand = ones


def tensor(values, device="cpu"):
    return Tensor(len(values))


def empty(size, device="cpu"):
    if size > 1 << 40:
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 256.00 TiB.")
    return Tensor(size)


def manual_seed(seed):
    pass
