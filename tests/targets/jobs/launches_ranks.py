"""launches_ranks.py N PORT SCRIPT [ARGUMENT...]: starts N ranks as a small script of one's own
does, and waits for one after the other, whatever has become of those behind it."""

import ctypes
import os
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1


def main():
    ranks, port = int(sys.argv[1]), sys.argv[2]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    started = []
    for rank in range(ranks):
        started.append(subprocess.Popen(
            [sys.executable, *sys.argv[3:]],
            env=dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks),
                     LOCAL_WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)))
    for process in started:
        process.wait()


main()
