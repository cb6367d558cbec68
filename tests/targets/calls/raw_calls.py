"""System calls through ctypes, so that nothing between the kernel and us retries, and
what they are given."""

import ctypes
import functools
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
kept = []  # what calls point to, and what must stay open
last_number = None  # of the last call that was prepared


def syscall(number, *args):
    """The call, not made yet. Buffers go as their addresses."""
    global last_number
    last_number = number
    words = [ctypes.c_long(number)]
    for argument in args:
        if not isinstance(argument, int):
            kept.append(argument)
            argument = ctypes.addressof(argument)
        words.append(ctypes.c_long(argument))
    return functools.partial(libc.syscall, *words)


def after(seconds, event, first=lambda: None):
    """A child does `first` before this returns, and `event` that much later."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        first()
        os.write(here, b"x")
        time.sleep(seconds)
        event()
        os._exit(0)
    os.read(there, 1)
    os.close(there)
    os.close(here)
    return child


def timespec(seconds):
    return (ctypes.c_long * 2)(int(seconds), int(seconds % 1 * 1e9))


def bytes_of(count):
    return ctypes.create_string_buffer(count)


def keep(*things):
    kept.extend(things)
    return things[0]
