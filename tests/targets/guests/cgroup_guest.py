"""A process that wants more memory than its cgroup of version 2 has below memory.high, and
what diagnose says of it: the first program of the virtual machine in
tests/integration/support/vm.py. Prints what diagnose printed, a line each time, until it says that
the process is stalled."""

import os
import subprocess
import sys
import time

MIB = 1 << 20
FOLDER = "/cgroup/job"
GREEDY = """
import os
open("%s/cgroup.procs", "w").write(str(os.getpid()))
kept = []
while True:
    kept.append(bytearray(b"x") * (1 << 20))
""" % FOLDER
PATIENCE = 240  # seconds: an emulated CPU


def main():
    os.mkdir("/cgroup")
    subprocess.run(["/bin/busybox", "mount", "-t", "cgroup2", "none", "/cgroup"], check=True)
    write("/cgroup/cgroup.subtree_control", "+memory")
    os.mkdir(FOLDER)
    write(FOLDER + "/memory.high", str(40 * MIB))
    greedy = subprocess.Popen([sys.executable, "-I", "-S", "-c", GREEDY])
    end = time.monotonic() + PATIENCE
    said = ""
    while '"stalled":true' not in said and time.monotonic() < end:
        said = subprocess.run(
            ["/hangdbg", "diagnose", str(greedy.pid), "--json", "--hung-after", "0.3"],
            stdout=subprocess.PIPE, universal_newlines=True).stdout
        print(said.replace("\n", ""), flush=True)


def write(file, text):
    with open(file, "w") as opened:
        opened.write(text)


main()
