"""Starts other processes when it is told to: a line of standard input says how, until
an empty one. They wait until it has had that."""

import os
import subprocess
import sys
import warnings

from common import finish, ready

WAIT = [sys.executable, "-c", "import sys; answer = 41; sys.stdin.read()"]
warnings.simplefilter("ignore", DeprecationWarning)  # a debugger's threads, and fork
over, end = os.pipe()


def fork():
    child = os.fork()
    if child == 0:
        answer = 42
        os.close(end)
        os.read(over, 1)
        os._exit(answer)
    return child


def wait_for_orders():
    children = []
    for line in iter(sys.stdin.readline, ""):
        order = line.strip()
        if not order:
            break
        if order == "fork":
            children.append(fork())
        elif order == "python":
            children.append(subprocess.Popen(WAIT, stdin=over).pid)
        elif order == "shell":  # no Python in between
            quoted = " ".join("'%s'" % word for word in WAIT)
            children.append(subprocess.Popen(["sh", "-c", quoted + "; true"], stdin=over).pid)
        elif order == "cat":
            children.append(subprocess.Popen(["cat"], stdin=over).pid)
        elif order == "exec":
            os.execv(WAIT[0], WAIT)
        print(children[-1], flush=True)
    os.close(end)
    return children


ready("wait_for_orders", ["read"], go_on="stdin")
finish(ends=[os.waitpid(child, 0)[1] >> 8 for child in wait_for_orders()])
