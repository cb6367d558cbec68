"""No JAX: torch's stand-in has more on that."""

import threading
import types

import device

__version__ = "0.rehearsal"


def ShapeDtypeStruct(shape, dtype):
    return shape, dtype


def devices():
    return [types.SimpleNamespace(platform="gpu")]


class _Array:
    def __add__(self, value):
        return self

    def block_until_ready(self):
        device.driver.cuCtxSynchronize()


def pure_callback(function, shape, x):
    spin = device.Spin()
    spin.launch()
    threading.Thread(target=lambda: (function(x), spin.release()), daemon=True).start()
    return x


class jit:
    def __init__(self, function):
        self.function = function

    def lower(self, x):
        return self

    def compile(self):
        return self.function
