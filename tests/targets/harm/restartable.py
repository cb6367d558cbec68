"""Its only thread is in a restartable sequence: restartable.py LIBRARY FILE

LIBRARY is restartable.c; it goes on when FILE's first word is set.
"""

import ctypes
import mmap
import sys

from common import finish, ready

library, path = sys.argv[1:]
with open(path, "r+b") as file:
    shared = mmap.mmap(file.fileno(), 0)
spin = ctypes.CDLL(library).spin_in_sequence
spin.restype = ctypes.c_uint64
ready("<module>", [], go_on="wait")
finish(sent_back=spin((ctypes.c_uint64 * 1).from_buffer(shared)))
