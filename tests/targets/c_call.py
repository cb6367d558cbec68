"""A C function that released the GIL blocks: read(2) through ctypes."""

import ctypes

from common import finish, ready


def call_c():
    answer = 41
    seen = {0, 2, 4}
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(1)
    ready("call_c", ["read"], go_on="stdin")
    count = libc.read(0, buffer, 1)
    return answer, sorted(seen), count, ctypes.get_errno()


answer, seen, count, error = call_c()
finish(answer=answer, seen=seen, count=count, errno=error)
