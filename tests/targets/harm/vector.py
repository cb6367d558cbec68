"""Its only thread runs in C with all registers full: vector.py LIBRARY FILE LEVEL

LIBRARY is vector.c and vector_state.S; FILE holds three words: it goes on when
the first is set, the others count rounds and rounds that came out wrong.
"""

import ctypes
import mmap
import sys

from common import finish, ready


def run_full():
    answer = 41
    with open(path, "r+b") as file:
        shared = mmap.mmap(file.fileno(), 0)
    words = (ctypes.c_uint64 * 3).from_buffer(shared)
    loop = ctypes.CDLL(library).vector_loop
    ready("run_full", [], go_on="wait")
    loop(words, int(level))
    return answer, words[1], words[2]


library, path, level = sys.argv[1:]
answer, rounds, wrong = run_full()
finish(answer=answer, rounds=rounds, wrong=wrong)
