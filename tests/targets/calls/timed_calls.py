"""The blocking system calls of Linux x86-64, each so that it ends after some time.

    call = prepare("read_pipe", seconds)
    call()          # syscall(2): -1 and errno, or the result

Those that know no time limit end by what a child process does then.
"""

import timed_files
import timed_waits

# Their result is a new file descriptor or a child: its number says nothing.
NUMBERED = {"accept", "accept4", "open", "wait4"}


def prepare(name, seconds):
    known = {**vars(timed_waits), **vars(timed_files)}
    return known[name + "_"](seconds)
