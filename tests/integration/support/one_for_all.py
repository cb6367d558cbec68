#!/usr/bin/env python3
"""one_for_all.py FOLDER n[1-3] WORD...: a stand-in for a launcher that carries all nodes, as srun does. Each
is this machine; they share a cache, FOLDER. What comes on standard input goes to all of them.

One begins when the one before has ended, so that it finds what that has kept. If one ends and has not
read all that it was sent, the others are not run, and it has failed. FOLDER/runs gets a line for each
run, and at the end of its standard input one with how many bytes that had."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path


class Input:
    def __init__(self):
        self.parts, self.over, self.more = [], False, threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while not self.over:
            part = os.read(0, 1 << 16)
            with self.more:
                self.parts.append(part)
                if not part:
                    note(sum(map(len, self.parts)))
                self.over = not part
                self.more.notify_all()

    def pass_on(self, to):
        at = 0
        while True:
            with self.more:
                self.more.wait_for(lambda: len(self.parts) > at)
                part = self.parts[at]
            if not part:
                os.close(to)
                return
            os.write(to, part)
            at += 1


def note(what):
    with open(Path(sys.argv[1]) / "runs", "a") as runs:
        print(what, file=runs)


def main():
    folder, hosts, *words = sys.argv[1:]
    note("run")
    came, code = Input(), 0
    name, first, last = re.fullmatch(r"(\w+)\[(\d+)-(\d+)\]", hosts).groups()
    for number in range(int(first), int(last) + 1):
        host = name + str(number)
        its, ours = os.pipe()
        process = subprocess.Popen(words, stdin=its, stdout=subprocess.PIPE,
                                   env={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": folder,
                                        "SLURMD_NODENAME": host})
        threading.Thread(target=came.pass_on, args=(ours,), daemon=True).start()
        for line in process.stdout:
            os.write(1, b"%s: %s" % (host.encode(), line))
        code = process.wait() or code
        unread = struct.unpack("i", fcntl.ioctl(its, termios.FIONREAD, b"\0" * 4))[0]
        if unread:
            print("%s: %d bytes were not read" % (host, unread), file=sys.stderr)
            code = 1
            break
    sys.stdout.flush()
    os._exit(code)


main()
