"""Python, called from C++, called from Python, waits for a line: called_back.py
LIBRARY, of called_back.cpp. Beside it a thread without Python sleeps."""

import ctypes
import os
import sys

from common import finish, ready

library = ctypes.CDLL(sys.argv[1])
callback_type = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)


def wait_for_line(value):
    ready("wait_for_line", ["read"], go_on="stdin")
    os.read(0, 1)
    return value + 1


def call_library():
    return library.call_back(callback_type(wait_for_line), ctypes.c_long(40))


ctypes.CDLL(None).pthread_create(
    ctypes.byref(ctypes.c_ulong()), None, library.sleep_without_python, None
)
result = call_library()
finish(result=result)
