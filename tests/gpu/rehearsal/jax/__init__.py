"""No JAX: torch's stand-in has more on that."""

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
    """In the thread that runs the computation, as on a GPU."""
    device.use_primary_context()
    return function(x)


class jit:
    def __init__(self, function):
        self.function = function

    def lower(self, x):
        return self

    def compile(self):
        return self.function
