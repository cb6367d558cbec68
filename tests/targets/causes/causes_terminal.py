"""A child on a terminal of its own: the first argument says what it does there. The parent
says that it is ready, with the child's pid, once that waits; both are killed."""

import os
import pty
import signal
import sys
import time

from common import ready


def asks():
    input("name? ")


def background():
    """A second child, which is not what runs in the terminal's foreground."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.write(1, b"%d\n" % os.getpid())
        os.read(0, 1)
    time.sleep(1000)


def pdb_prompt():
    import pdb

    pdb.set_trace()


def main(case):
    child, terminal = pty.fork()
    if child == 0:
        globals()[case]()
    said = os.read(terminal, 1000)
    if case == "background":
        child = int(said)
    ready("main", [], go_on="kill", child=child)
    signal.pause()
    os.close(terminal)


main(sys.argv[1])
