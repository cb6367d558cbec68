"""Makes one system call that ends by itself:
timed_call.py CALL SECONDS [beside | beside-busy]

Raw, through ctypes, so that nothing between the kernel and us retries. CALL is
one of those in timed_calls.py. It is made twice: for a moment, to see what it
gives when nobody looks, and for so long; the result and errno of both and the
second's duration are in the last line. With "beside", another thread sleeps in a
lock meanwhile, which is better to borrow; with "beside-busy" one computes, and is never
seen asleep. Python's own signal handlers play no part.
"""

import ctypes
import sys
import threading
import time

import raw_calls
import timed_calls
from common import finish, ready


def call_and_measure(name, seconds):
    answer = 41
    normal = result_of(name, 0.05)
    ready("call_and_measure", [str(raw_calls.last_number)], go_on="wait", frame=1)
    start = time.monotonic()
    result = result_of(name, seconds)
    finish(answer=answer, duration=time.monotonic() - start, normal=normal,
           result=result)


def result_of(name, seconds):
    """[result, errno]"""
    call = timed_calls.prepare(name, seconds)
    ctypes.set_errno(0)
    result = call()
    if name in timed_calls.NUMBERED:
        result = min(result, 0)
    return [result, ctypes.get_errno() if result < 0 else 0]


def compute():
    while True:
        pass


if sys.argv[3:] == ["beside"]:
    lock = threading.Lock()
    lock.acquire()
    threading.Thread(target=lock.acquire, daemon=True).start()
elif sys.argv[3:] == ["beside-busy"]:
    threading.Thread(target=compute, daemon=True).start()
call_and_measure(sys.argv[1], float(sys.argv[2]))
