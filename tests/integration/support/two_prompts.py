"""pdb, and the prompt, in a terminal each, stopped at the same line of the same program."""

import os
import re
import subprocess
from pathlib import Path

from harness import PATIENCE, PROGRAM, die_with_us, track, until
from terminal import Terminal

_PROMPT = re.compile(r"^(\(Pdb\)|\(\(Pdb\)\)|\(hangdbg \d+[^)\n]*\)|\.\.\.|\(com\)|>>>) *\Z", re.M)
_KILL = "\x15"  # what pdb has indented already


class Typed(Terminal):
    """A program at whose prompt one types, and which says something to that."""

    def __init__(self, command, cwd):
        super().__init__(None, command=command[1:], cwd=cwd, size=(2000, 300), program=command[0],
                         no_color=True, term="dumb")
        self.waiting = None
        self.answer()

    def says(self, text):
        """To one input, which may have several lines."""
        said = []
        for line in text.split("\n"):
            self.screen = ""  # what was said before is not looked at again
            self.type(_KILL + line + "\r")
            said.append(self.answer("\n").partition("\n")[2])  # without the echo
        return "".join(said)

    def answer(self, echo=""):
        """What comes, up to the next prompt; that is left out."""
        while True:
            came = self.text
            found = _PROMPT.search(came)
            if found and echo in came[:found.start()] and not self.read(0.03):
                return came[:found.start()]
            if not found or echo not in came:
                assert self.read(PATIENCE), "it has ended, or says nothing:\n" + came

    def close(self):
        self.process.kill()
        if self.waiting is not None:
            self.waiting.kill()
        super().close()


def pdb(python, script):
    return Typed([python, "-m", "pdb", str(script)], script.parent)


def prompt(python, script):
    """In a process that waits for its standard input."""
    waiting = track(subprocess.Popen(
        [python, str(script), "wait"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        start_new_session=True, preexec_fn=die_with_us,
        env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1")))
    until("it waits", lambda: Path("/proc/%d/syscall" % waiting.pid).read_text().startswith("0 "))
    opened = Typed([str(PROGRAM), "attach", str(waiting.pid)], script.parent)
    opened.waiting = waiting
    return opened
