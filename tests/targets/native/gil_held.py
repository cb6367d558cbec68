"""A C function blocks and keeps the GIL: no Python code can run in here. With
the argument free-first it blocks once before, with then-free once more
afterwards, and lets go of the GIL there."""

import ctypes
import os
import sys

from common import finish, ready


def call_c_with_gil():
    answer = 41
    seen = {0, 2, 4}
    libc = ctypes.PyDLL(None)
    buffer = ctypes.create_string_buffer(1)
    ready("call_c_with_gil", ["read"], go_on="stdin")
    if "free-first" in sys.argv:
        os.read(0, 1)
    count = libc.read(0, buffer, 1)
    if "then-free" in sys.argv:
        os.read(0, 1)
    return answer, sorted(seen), count


answer, seen, count = call_c_with_gil()
finish(answer=answer, seen=seen, count=count)
