"""Its only thread sleeps where nothing can be borrowed: odd_threads.py LIBRARY
FUNCTION SECONDS, both of odd_threads.c.
"""

import ctypes
import sys
import time

from common import finish, ready

library, function, seconds = sys.argv[1:]
sleep = getattr(ctypes.CDLL(library), function)
ready("<module>", ["nanosleep", "clock_nanosleep"], go_on="wait")
start = time.monotonic()
result = sleep(int(seconds))
finish(result=result, duration=time.monotonic() - start)
