"""No CuPy: torch's stand-in has more on that."""

import ctypes
import types

__version__ = "0.rehearsal"
float32 = "float32"
_runtime = ctypes.CDLL("libcudart.so.13")
cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=0))


class ndarray:
    def get(self):
        _runtime.cudaStreamSynchronize(None)
        return [0.0, 1.0, 2.0, 3.0]


def arange(size, dtype=None):
    return ndarray()
