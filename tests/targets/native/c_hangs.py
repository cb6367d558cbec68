"""Hangs in one function of hang.c: c_hangs.py LIBRARY FUNCTION.

LIBRARY is what the tests compiled of it. FUNCTION: read_ignoring_eintr waits in a
read that no signal ends; spin computes; churn allocates and frees; barrier and
low_level_wait sleep in a plain FUTEX_WAIT. All without the GIL, so other threads of
Python could run, if there were any.
"""

import ctypes
import signal
import sys

from common import finish, ready

HOW = {
    "read_ignoring_eintr": (["read"], "stdin"),
    "spin": ([], "SIGUSR1"),
    "churn": ([], "SIGUSR1"),
    "barrier": (["futex"], "SIGUSR1"),
    "low_level_wait": (["futex"], "SIGUSR1"),
}


def call_c(function, syscalls, go_on):
    answer = 41
    seen = {0, 2, 4}
    ready("call_c", syscalls, go_on=go_on)
    result = function(0)
    return answer, sorted(seen), result


library = ctypes.CDLL(sys.argv[1])
if HOW[sys.argv[2]][1] == "SIGUSR1":
    library.stop_on(signal.SIGUSR1)
answer, seen, result = call_c(getattr(library, sys.argv[2]), *HOW[sys.argv[2]])
finish(answer=answer, seen=seen, result=result)
