"""A library's constructor hangs: hung_constructor.py LIBRARY"""

import ctypes
import sys

from common import finish, ready


def load_library(path):
    answer = 41
    ready("load_library", ["read"], go_on="stdin")
    ctypes.CDLL(path)
    return answer


finish(answer=load_library(sys.argv[1]))
