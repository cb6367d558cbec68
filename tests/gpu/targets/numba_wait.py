"""numba: cuda.synchronize() behind a kernel that spins."""

import target

try:
    import numba
    from numba import cuda
except Exception as error:
    target.cannot(error)
from device import Spin


def synchronize_numba():
    x = cuda.device_array(64)
    cuda.synchronize()
    spin.launch()
    target.ready("synchronize_numba")
    cuda.synchronize()
    return x.size


target.imported(numba=numba.__version__)
spin = Spin()
target.on_release(spin.release)
target.went_on(value=synchronize_numba())
