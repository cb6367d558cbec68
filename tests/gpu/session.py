"""Starts targets and keeps the time. The targets of the next checks import their libraries
while this one is looked at; only one at a time touches the device."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

import evidence
import machine

HERE = os.path.dirname(os.path.abspath(__file__))
TARGETS = os.path.join(HERE, "targets")
NORMAL_EXIT = 7  # targets/target.py
IMPORT_SECONDS = 50  # JAX and torch, from a cold disk


class Cannot(Exception):
    """What a target needs is not on this machine: the check is skipped."""


class TimeOver(Exception):
    """The check has had its time."""


def until(condition, seconds, every=0.02):
    """Polls `condition()` until it is true, and returns its value; None when the time is up."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            return None
        time.sleep(every)


class Target:
    """A script of targets/, in a process group of its own."""

    def __init__(self, script, args=(), env=None):
        self.script, self.args = script, list(map(str, args))
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(TARGETS, script + ".py"), *self.args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            start_new_session=True, preexec_fn=machine.die_with_parent,
            env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **(env or {})))
        self.pid = self.process.pid
        self.lines = queue.Queue()
        self.ready = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict):
                self.lines.put(said)
        self.lines.put(None)

    def line(self, key, seconds, keep=None):
        """The next line that has `key`; those before go to `keep`. None: it has ended, or
        the time is up."""
        end = time.monotonic() + seconds
        while True:
            try:
                said = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                return None
            if said is None:
                self.lines.put(None)
                return None
            if "cannot" in said:
                raise Cannot(said["cannot"])
            if key in said:
                return said
            if keep is not None:
                keep.append(said)

    def go(self, seconds=30):
        """Its turn: returns once it is about to hang."""
        imported = self.line("imported", IMPORT_SECONDS)
        assert imported, "it has not imported its libraries: " + self.stderr()
        self.tell("go")
        ready = self.line("ready", seconds)
        assert ready, "it is not about to hang: " + self.stderr()
        self.ready = dict(ready, imported=imported)

    def place(self):
        """The flags that name the hung function's frame."""
        return "--thread", self.ready["tid"], "--frame", self.ready["function"]

    def tell(self, word):
        try:
            self.process.stdin.write(word + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def finish(self, seconds=20):
        """Releases it; returns its last line, or None if it does not come to its end."""
        self.tell("release")
        said = self.line("went_on", seconds)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return said if self.process.returncode == NORMAL_EXIT else None

    def zombie(self):
        """Whether it has ended; nobody reaps it here."""
        return machine.read("/proc/%d/stat" % self.pid).rsplit(")", 1)[-1].split()[:1] == ["Z"]

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-8000:]

    def end(self):
        evidence.kill_group(self.process)
        self.process.wait(10)
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


class Session:
    def __init__(self, work, program, end, rehearsed, absent, names):
        self.work, self.program, self.end = work, program, end
        self.rehearsed, self.absent, self.names = rehearsed, absent, names
        self.waiting = {}  # check's name: targets that were started ahead
        self.started = []
        self.check = None

    def left(self):
        return self.end - time.monotonic()

    def begin(self, check):
        """Starts the targets of a check, or takes those that were started ahead."""
        targets = self.waiting.pop(check.name, None) or self._start(check)
        self.started += targets
        return targets

    def ahead(self, check):
        if check is not None and check.name not in self.waiting and self.left() > 20:
            self.waiting[check.name] = self._start(check)

    def _start(self, check):
        return [Target(script, args, env) for script, args, env in check.targets()]

    def note_pids(self, pids):
        """For the nvidia-smi of a rehearsal: who uses the device."""
        path = os.environ.get("HANGDBG_REHEARSE_PIDS")
        if path:
            with open(path, "w") as file:
                file.write(" ".join(map(str, pids)))

    def stop(self, everything=False):
        while self.started:
            self.started.pop().end()
        while everything and self.waiting:
            for target in self.waiting.popitem()[1]:
                target.end()


def alarm(seconds):
    """Raises TimeOver in the main thread after so many seconds; 0: not any more."""
    def over(signum, frame):
        raise TimeOver("no end within its time")
    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
