"""CuPy: a copy to the host behind a kernel that spins."""

import target

try:
    import cupy
except Exception as error:  # ImportError, or what its own checks raise
    target.cannot(error)
from device import Spin


def get_array():
    x = cupy.arange(64, dtype=cupy.float32)
    x.get()
    spin.launch(cupy.cuda.get_current_stream().ptr)
    target.ready("get_array")
    return float(x.get()[3])


target.imported(cupy=cupy.__version__)
spin = Spin()
target.on_release(spin.release)
target.went_on(value=get_array())
