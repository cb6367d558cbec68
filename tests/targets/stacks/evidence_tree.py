"""Has children in several states, and waits for one of them: a shell with a child of its own,
one that has ended and one that was killed, both of which nobody has waited for, and a Python
that reads."""

import os
import signal
import subprocess
import sys

from common import finish, ready

shell = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; read go_on; kill $!; exit 0"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
grandchild = int(shell.stdout.readline())
ended = os.fork()
if ended == 0:
    os._exit(3)
killed = os.fork()
if killed == 0:
    os.kill(os.getpid(), signal.SIGKILL)
for zombie in (ended, killed):
    os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)
# Its name and words have what would change a terminal.
hostile = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()",
                            "red \x1b[31m"], stdin=subprocess.PIPE)


def go_on():
    shell.stdin.write(b"\n")
    shell.stdin.flush()


signal.signal(signal.SIGUSR1, lambda number, frame: go_on())


def main():
    ready("main", ["wait4"], shell=shell.pid, grandchild=grandchild, ended=ended,
          killed=killed, hostile=hostile.pid)
    os.waitpid(shell.pid, 0)


main()
hostile.communicate()
for zombie in (ended, killed):
    os.waitpid(zombie, 0)
finish()
