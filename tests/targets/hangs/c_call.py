"""A C function that released the GIL blocks: read(2) through ctypes, whose frame
on the stack is found by a register. It gets one argument too many, an address in
malloc: as what an earlier call may have left, it looks as if malloc were running.
"""

import ctypes

from common import finish, ready


def call_c():
    answer = 41
    seen = {0, 2, 4}
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(1)
    ready("call_c", ["read"], go_on="stdin")
    in_malloc = ctypes.cast(libc.malloc, ctypes.c_void_p).value + 8
    passed = [ctypes.c_void_p(0)] * 3  # in registers
    count = libc.read(0, buffer, 1, *passed, ctypes.c_void_p(in_malloc))
    return answer, sorted(seen), count, ctypes.get_errno()


answer, seen, count, error = call_c()
finish(answer=answer, seen=seen, count=count, errno=error)
