"""Its only thread has asked the CPU to fault where its clock is read, while it is in C:
without_clock.py LIBRARY, of odd_threads.c"""

import ctypes
import sys

from common import finish, ready


def hang():
    answer = 41
    ready("hang", ["read"], go_on="stdin")
    return answer, read(0)


read = ctypes.CDLL(sys.argv[1]).read_without_clock
answer, got = hang()
finish(answer=answer, read=got)
