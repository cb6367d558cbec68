"""A C function blocks and keeps the GIL: no Python code can run in here."""

import ctypes

from common import finish, ready


def call_c_with_gil():
    answer = 41
    libc = ctypes.PyDLL(None)
    buffer = ctypes.create_string_buffer(1)
    ready("call_c_with_gil", ["read"], go_on="stdin")
    count = libc.read(0, buffer, 1)
    return answer, count


answer, count = call_c_with_gil()
finish(answer=answer, count=count)
