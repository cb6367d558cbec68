"""Walks programs (step_programs.py) by pdb and by the prompt with the same commands, and
says where each stopped."""

import collections
import os
import re
import signal
import subprocess
import threading
from pathlib import Path

from harness import PROGRAM, die_with_us, track, until
from step_programs import PROGRAMS

Stop = collections.namedtuple("Stop", "event file line function")

# What is typed again and again; in functions of other files one gets out of them.
WALKS = {"step": ["s"], "next": ["n"], "until": ["unt"], "mixed": ["n", "s", "s", "r", "n", "unt"]}
MOST = 30  # commands a walk
_PLACE = re.compile(r"^> (.*?)\((\d+)\)(.*?)\(\)", re.M)
_EVENT = re.compile(r"^(--Call--|--Return--|(?:Internal )?[\w.]*(?:Error|Group|Iteration|Exit)\b.*)$",
                    re.M)
LIMIT = 120


def names_for(minor):
    return [name for name, (oldest, _) in PROGRAMS.items() if oldest <= minor]


def write_programs(folder, minor):
    """The script that runs them all: each main() once for each walk."""
    script = ["import sys", "if 'wait' in sys.argv: sys.stdin.readline()"]
    for name in names_for(minor):
        (folder / (name + "_.py")).write_text(PROGRAMS[name][1].lstrip("\n"))
        script.append("import %s_" % name)
    for name in names_for(minor):
        for _ in WALKS:
            script.append("%s_.main()" % name)
            script += ["pass"] * 3
    path = folder / "script.py"
    path.write_text("\n".join(script + ["pass"] * 20) + "\n")
    return path


def first_line(name):
    """Of what is walked: main_(), or else main()."""
    lines = PROGRAMS[name][1].lstrip("\n").split("\n")
    found = [at for at, line in enumerate(lines, 1) if re.match(r"(async )?def main", line)]
    return found[0] + 1


def pdb(python, script):
    return Debugger([python, "-m", "pdb", script], script.parent)


def prompt(python, script):
    """In a process that waits for its standard input, which then comes."""
    waiting = start_piped([python, script, "wait"], script.parent)
    until("it waits", lambda: Path("/proc/%d/syscall" % waiting.pid).read_text().startswith("0 "))
    debugger = Debugger([PROGRAM, "attach", waiting.pid], script.parent)
    debugger.type("p 1")
    debugger.waiting = waiting
    return debugger


def start_piped(command, folder):
    return track(subprocess.Popen(
        [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True, preexec_fn=die_with_us,
        cwd=str(folder), env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", NO_COLOR="1")))


class Debugger:
    """pdb or hangdbg, at whose prompt one types through a pipe."""

    def __init__(self, command, folder):
        self.folder = str(folder)
        self.marks = 0
        self.process = start_piped(command, folder)
        self.waiting = None  # the program, where it is another process
        self.late = threading.Timer(LIMIT, os.kill, (self.process.pid, signal.SIGKILL))
        self.late.start()

    def type(self, command):
        """What it says to that."""
        self.marks += 1
        mark = "mark%dend" % self.marks
        self.process.stdin.write("%s\np 'mark' + '%dend'\n" % (command, self.marks))
        self.process.stdin.flush()
        said = []
        for line in self.process.stdout:
            if mark in line and "'mark'" not in line:
                return re.sub(r"^(\(Pdb\) )+", "", "".join(said), flags=re.M)
            said.append(line)
        raise AssertionError("%s: it has ended: %s" % (command, "".join(said)))

    def stop(self, command):
        said = self.type(command)
        places = _PLACE.findall(said)
        if not places:
            raise AssertionError("%s: no place in %r" % (command, said))
        path, line, function = places[-1]
        event = _EVENT.search(said)
        return Stop(event.group(1) if event else "", os.path.basename(path), int(line), function)

    def walk(self, name, commands):
        """From the first line of it to where it is left, at most."""
        file = name + "_.py"
        self.type("tbreak %s/%s:%d" % (self.folder, file, first_line(name)))
        if self.waiting is not None and not self.waiting.stdin.closed:
            self.waiting.stdin.write("\n")
            self.waiting.stdin.close()
        stops = [self.stop("c")]
        typed = ["c"]
        for number in range(MOST):
            last = stops[-1]
            if last.file == "script.py":
                break
            command = commands[number % len(commands)]
            if last.file not in (file, "<string>"):
                command = "s" if last.event == "--Return--" else "r"
            typed.append(command)
            stops.append(self.stop(command))
        return list(zip(typed, stops))

    def close(self):
        self.late.cancel()
        for process in filter(None, (self.process, self.waiting)):
            process.kill()
            process.wait()
