"""The lock of a compile cache that another process has: flock of a file, as torch's
inductor and Triton's users lock their caches. No device is needed.

With a path as argument: has the lock, and waits."""

import fcntl
import os
import subprocess
import sys
import tempfile
import time

import target


def hold(path):
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        print("held", flush=True)
        sys.stdin.readline()


def compile_kernel(path):
    with open(path, "w") as file:
        target.ready("compile_kernel", path=path)
        fcntl.flock(file, fcntl.LOCK_EX)


if len(sys.argv) > 1:
    hold(sys.argv[1])
    sys.exit()
target.imported(time=time.time())
with tempfile.TemporaryDirectory() as folder:
    lock = os.path.join(folder, "kernel.lock")
    holder = subprocess.Popen([sys.executable, __file__, lock], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    holder.stdout.readline()
    target.on_release(holder.stdin.close)
    compile_kernel(lock)
    holder.wait()
target.went_on()
