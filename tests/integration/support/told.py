"""Targets that do what they are told, line by line, in their main thread, and a
prompt beside. Their lines that get breakpoints end in a comment: their name."""

import re

from harness import in_targets, until
from test_break_lines import tell
from test_hold import ask, typed


def line_of(file, name):
    lines = in_targets(file).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("  # " + name))


def break_at(process, file, name, answer="Breakpoint"):
    ask(process, "b %s:%d" % (file, line_of(file, name)), answer)


def comes_to(process, target, expression, file, name, thread=None):
    """Is told that, and main or another thread reaches a breakpoint. (A `c` might be
    typed too late, and resume it.)"""
    tell(target, expression)
    place = "%s(%d)" % (file, line_of(file, name))
    stands = []

    def stands_there():
        typed(process, "thread %d" % (thread or target.tid))
        for line in process.stdout:
            stands.append("stopped: breakpoint" in line)
            if re.search(r"\S\(\d+\)\S", line):  # where it is; may be in what the line has called
                return any(stands) and place in line
        raise AssertionError(process.stderr.read())

    until("a breakpoint", stands_there)
