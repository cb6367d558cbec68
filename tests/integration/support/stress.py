"""A debugger that is run again and again, and killed at random, on a target that
allocates, forks, opens libraries and starts threads all the time; and what
counts as harm.

    with Churn(python, folder, "calm") as target:
        run = run_to_end(["hangdbg", "eval", ...], kill_after=0.003)
        harm = target.harm()          # None, or a sentence
        harm = target.end()           # it runs to its end: the same

Used by test_killed.py, with a naive debugger as well, and by scripts/soak.
"""

import collections
import mmap
import os
import re
import select
import signal
import struct
import subprocess
import time
from pathlib import Path

import processes
from harness import AGENT_GONE, PROGRAM, Target, die_with_us, in_targets, kill_group, until

MODES = ("calm", "napping", "busy")
STANDS_STILL = 20.0  # seconds; each worker loops some hundred times a second
LONGEST_RUN = 60.0  # seconds; hangdbg gives up after 10
ROW = struct.Struct("QQ16s32x")  # rounds, wrong, name; targets/churn.c
ROWS = 32

# What CPython says before it ends, or where something is wrong and it does not end.
REPORT = re.compile(r"Fatal Python error|Assertion .* failed|Exception ignored|"
                    r"Debug memory block|SystemError|object  refcount", re.I)

Run = collections.namedtuple("Run", "rc output seconds")


def run_to_end(command, kill_after=None, env=None):
    """Runs a program and, after `kill_after` seconds, kills it. By posix_spawn,
    and with one pipe for both its outputs: a Popen takes as long as an eval. A
    Ctrl-C of ours is not its own."""
    read_end, write_end = os.pipe()
    start = time.monotonic()
    try:
        pid = os.posix_spawn(
            command[0], [str(word) for word in command], dict(os.environ, **(env or {})),
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                          (os.POSIX_SPAWN_DUP2, write_end, 1),
                          (os.POSIX_SPAWN_DUP2, write_end, 2)],
            setpgroup=0)
    finally:
        os.close(write_end)
    try:
        if kill_after is not None:
            time.sleep(max(0, start + kill_after - time.monotonic()))
            os.kill(pid, signal.SIGKILL)
        output = b""
        while True:
            left = start + LONGEST_RUN - time.monotonic()
            if left < 0 or not select.select([read_end], [], [], left)[0]:
                os.kill(pid, signal.SIGKILL)
                output += b"\nit did not end"
                break
            piece = os.read(read_end, 65536)
            if not piece:
                break
            output += piece
    finally:
        os.close(read_end)
        status = os.waitpid(pid, 0)[1]
    return Run(os.waitstatus_to_exitcode(status), output.decode(errors="replace"),
               time.monotonic() - start)


def compile_churn(folder):
    """The C half of the target."""
    library = Path(folder) / "churn.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-pthread", "-o", library,
                    in_targets("churn.c"), "-ldl"], check=True)
    return library


def can_load(python, library):
    """Not one that brings a C library of its own, which is older or another."""
    load = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    return subprocess.run([python, "-c", load, library],
                          stderr=subprocess.DEVNULL).returncode == 0


class Restless(Target):
    """tests/targets/harm/restless.py, or another whose threads have rows in a file. `after`:
    arguments behind that."""

    def __init__(self, python, folder, script="restless.py", before=(), after=()):
        self.path = "%s/rows.%s.%s" % (folder, os.getpid(), time.monotonic_ns())
        with open(self.path, "w+b") as file:
            file.truncate(ROWS * ROW.size)
            self.rows = mmap.mmap(file.fileno(), 0)
        super().__init__([python, in_targets(script), *before, self.path, *after])
        self.wait_hung()
        self.seen = {}  # by row: its rounds, and when they were first seen
        self.wrong = {}
        self.harm()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        kill_group(self.process)
        self.process.stdin.close()
        self.process.stdout.close()
        os.unlink(self.path)

    def harm(self):
        """What is wrong with it that was not wrong at the last look: it has
        died, a call gave what it never gives, a thread makes no progress."""
        if not self.alive():
            return "died with %d: %s" % (self.process.returncode, self.stderr()[-300:])
        now = time.monotonic()
        for index in range(ROWS):
            rounds, wrong, name = ROW.unpack_from(self.rows, index * ROW.size)
            name = name.rstrip(b"\0").decode()
            if not name:
                continue
            if wrong > self.wrong.get(index, 0):
                self.wrong[index] = wrong
                return "wrong result in %s: %s" % (name, self.stderr()[-600:])
            if self.seen.get(index, (None,))[0] != rounds:
                self.seen[index] = (rounds, now)
            elif now - self.seen[index][1] > STANDS_STILL:
                return "%s stands still" % name
        return None

    def rounds(self):
        """How often each of its threads has gone round."""
        rows = [ROW.unpack_from(self.rows, index * ROW.size) for index in range(ROWS)]
        return [rounds for rounds, _, name in rows if name.rstrip(b"\0")]

    def still_goes_round(self):
        """Waits until each thread has gone round once more, from beginning to end; the
        harm, if not."""
        start = time.monotonic()
        harm = self.harm()
        rounds = {index: seen for index, (seen, _) in self.seen.items()}
        while not harm and any(
                self.seen[index][0] < seen + 2 for index, seen in rounds.items()):
            if time.monotonic() - start > 2 * STANDS_STILL:
                return "stands still"
            time.sleep(0.01)
            harm = self.harm()
        return harm

    def end(self):
        """Lets it run to its end: what is wrong with that, or left behind."""
        harm = self.still_goes_round()
        if harm:
            return harm
        try:
            until("no thread of hangdbg's", lambda: not processes.debugger_threads(self.pid),
                  AGENT_GONE)
            result = self.finish(STANDS_STILL)
        except AssertionError as wrong:
            return "does not end: %s" % wrong
        for what, before in result["before"].items():
            if result["left"][what] != before:
                return "%s were %s, are %s" % (what, before, result["left"][what])
        return None

    def go_on(self):
        self.rows[-1] = 1  # the program's signal, or a thread of it, looks for that


class Reporting(Restless):
    """What its Python reports is harm; `quiet`: see restless.py."""

    def __init__(self, python, folder, *how):
        self.errors_path = Path("%s/errors.%s" % (folder, time.monotonic_ns()))
        self.errors_path.touch()
        super().__init__(python, folder, after=[self.errors_path, *how])

    def __exit__(self, *_):
        super().__exit__()
        self.errors_path.unlink()

    def harm(self):
        harm = super().harm()
        return "%s; its Python said: %s" % (harm, self.report()) if harm else None

    def end(self):
        return super().end() or self.report()

    def report(self):
        text = self.errors_path.read_text(errors="replace")
        found = REPORT.search(text)
        return found and text[max(0, found.start() - 300):found.start() + 3000]


class Churn(Restless):
    """tests/targets/harm/churn.py."""

    def __init__(self, python, library, mode):
        super().__init__(python, Path(library).parent, "churn.py", [library], [mode])


def ask_beside(target):
    """An eval that takes a moment; the caller waits for it."""
    return subprocess.Popen(
        [str(PROGRAM), "eval", str(target.pid), "time.sleep(0.05)"], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=die_with_us)
