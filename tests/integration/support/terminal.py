"""hangdbg in a terminal: a pseudo terminal that the test types on and reads."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import harness

# CSI and OSC sequences, single-character escapes, and the bell.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b.|\x07")


class Terminal:
    """`hangdbg attach PID FLAGS`, or another command, on a terminal of `size`, rows and
    columns. `screen` is all that came so far, as it came; `text` the same without escape
    sequences and carriage returns. `program`: another than hangdbg."""

    def __init__(self, pid, *flags, no_color=False, command=("attach",), cwd=None,
                 behind=(), size=(24, 120), pager="", program=None, term="xterm-256color"):
        self.pid = pid
        self.screen = ""
        self.seen = 0  # how much of `text` the last expect() has used up
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.modes = termios.tcgetattr(self.master)  # before any program changes them
        environment = dict(os.environ, TERM=term, PAGER=pager)
        if no_color:
            environment["NO_COLOR"] = "1"

        def take_terminal():
            harness.die_with_us()
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = harness.track(
            subprocess.Popen(
                [*behind, str(program or harness.PROGRAM), *map(str, command),
                 *([] if pid is None else [str(pid)]), *map(str, flags)],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=environment,
                cwd=cwd,
                preexec_fn=take_terminal,
            )
        )
        os.close(slave)

    @property
    def text(self):
        return _ESCAPES.sub("", self.screen).replace("\r", "")

    def type(self, keys):
        try:
            os.write(self.master, keys.encode())
        except OSError:  # EIO: no reader any more; expect() will say so
            pass

    def expect(self, pattern, seconds=harness.PATIENCE):
        """Reads until the regular expression matches what came after the last
        match; returns the match."""
        end = time.monotonic() + seconds
        while True:
            match = re.compile(pattern, re.M).search(self.text, self.seen)
            if match:
                self.seen = match.end()
                return match
            if not self.read(end - time.monotonic()):
                raise AssertionError(
                    "no %r on the terminal:\n%s" % (pattern, self.text)
                )

    def expect_prompt(self, seconds=harness.PATIENCE):
        pid = r"\d+" if self.pid is None else self.pid
        self.expect(r"\(hangdbg %s[^)]*\) ?" % pid, seconds)

    def ask(self, command, answer):
        """Types a command at the prompt, expects the answer and the next prompt."""
        self.type(command + "\r")
        self.expect(answer)
        self.expect_prompt()

    def detach(self):
        """Types Ctrl-D; hangdbg ends with rc 0."""
        self.type("\x04")
        rc = self.wait()
        assert rc == 0, "rc %s\n%s" % (rc, self.text)

    def wait(self, seconds=harness.PATIENCE):
        """Reads until the program has ended; returns its exit code."""
        end = time.monotonic() + seconds
        while self.read(end - time.monotonic()):
            pass
        return self.process.wait(max(0.1, end - time.monotonic()))

    def close(self):
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def read(self, seconds):
        """What comes in that time; whether something has."""
        if seconds <= 0 or not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            chunk = os.read(self.master, 65536)
        except OSError:  # EIO: the other side is closed
            return False
        self.screen += chunk.decode(errors="replace")
        return bool(chunk)
