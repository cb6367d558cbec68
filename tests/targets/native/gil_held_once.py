"""A C function blocks and keeps the GIL until a line comes; then the thread waits
for a lock that nobody will release."""

import ctypes
import threading

from common import finish, on_sigusr1, ready


def call_c_with_gil(lock):
    answer = 41
    libc = ctypes.PyDLL(None)
    buffer = ctypes.create_string_buffer(1)
    ready("call_c_with_gil", ["read"])
    libc.read(0, buffer, 1)
    lock.acquire()
    return answer


lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
finish(answer=call_c_with_gil(lock))
