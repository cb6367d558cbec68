"""A program at work: known_shares.py, whose time goes where it says."""

import json
import os
import subprocess

import processes
from harness import in_targets, track


class Working:
    """known_shares.py, or another, at work until it is told to end; `inside`: a command that starts
    it as its only child."""

    def __init__(self, python, *args, target="known_shares.py", env=None, inside=()):
        self.process = track(subprocess.Popen(
            [*inside, python, in_targets(target), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=dict(os.environ, **(env or {})), start_new_session=True))
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid
        if inside:
            (self.pid,) = processes.children(self.pid)

    def finish(self):
        out, _ = self.process.communicate("over\n", timeout=60)
        assert self.process.returncode == 0
        return json.loads(out)
