"""Python, called from C++, called from Python, waits for a line: called_back.py
LIBRARY [made], of called_back.cpp. Beside it a thread without Python sleeps.

With `made` C++ calls code that is made here and that no unwinder knows, and that
calls Python. In its frame lies its return address a second time, as older calls
leave one."""

import ctypes
import mmap
import os
import sys

from common import finish, ready

library = ctypes.CDLL(sys.argv[1])
callback_type = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)


def wait_for_line(value):
    ready("wait_for_line", ["read"], go_on="stdin")
    os.read(0, 1)
    return value + 1


def through_made_code(callback):
    code = (
        b"\x48\x83\xec\x48"  # sub $0x48,%rsp
        b"\x48\x8b\x44\x24\x48"  # mov 0x48(%rsp),%rax
        b"\x48\x89\x44\x24\x18"  # mov %rax,0x18(%rsp)
        b"\x48\xb8" + ctypes.string_at(ctypes.byref(callback), 8) +  # mov …,%rax
        b"\xff\xd0"  # call *%rax
        b"\x48\x83\xc4\x48\xc3"  # add $0x48,%rsp; ret
    )
    memory.write(code)
    return callback_type(ctypes.addressof(ctypes.c_char.from_buffer(memory)))


def call_library():
    return library.call_back(outer_callback, ctypes.c_long(40))


callback = outer_callback = callback_type(wait_for_line)
if "made" in sys.argv:
    memory = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                       mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    outer_callback = through_made_code(callback)


ctypes.CDLL(None).pthread_create(
    ctypes.byref(ctypes.c_ulong()), None, library.sleep_without_python, None
)
result = call_library()
finish(result=result)
