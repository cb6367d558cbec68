import ctypes
import types

_driver = ctypes.CDLL("libcuda.so.1")


def device_array(shape):
    return types.SimpleNamespace(size=shape)


def synchronize():
    _driver.cuCtxSynchronize()
