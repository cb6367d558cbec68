"""hangdbg on a terminal that draws: a tmux of its own, of which the screen can be read."""

import os
import shlex
import subprocess
import tempfile
import weakref

import harness


class Screen:
    """`hangdbg WORDS` in a terminal of that size. When it has ended, its exit code and what
    `stty -a` says are on the screen."""

    def __init__(self, *words, size=(24, 80), env=(), behind=()):
        self.folder = tempfile.TemporaryDirectory(prefix="screen")
        self.ends = weakref.finalize(self, _end, self.folder)
        command = shlex.join(map(str, (*behind, harness.PROGRAM, *words)))
        self.tmux("-f", "/dev/null", "new-session", "-d", "-y", size[0], "-x", size[1],
                  "%s; echo rc $?; stty -a; exec sleep 600"
                  % " ".join([*("%s=%s" % (name, shlex.quote(value)) for name, value in env), command]))

    def tmux(self, *words):
        return subprocess.run(
            ["tmux", "-S", os.path.join(self.folder.name, "socket"), *map(str, words)], check=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout

    def text(self, colours=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def type(self, *keys):
        """As tmux has them: "q", "Enter", "Escape", "PageDown"."""
        self.tmux("send-keys", *keys)

    def resize(self, lines, columns):
        self.tmux("resize-window", "-y", lines, "-x", columns)

    def until(self, what, shows, *keys):
        """Types the keys, and waits until the text does that; returns it."""
        if keys:
            self.type(*keys)
        found = ""

        def look():
            nonlocal found
            found = self.text()
            return shows(found)
        try:
            harness.until(what, look)
        except AssertionError as error:
            raise AssertionError("%s; the screen:\n%s" % (error, found)) from None
        return found

    def shell_pid(self):
        return int(self.tmux("list-panes", "-F", "#{pane_pid}"))

    def close(self):
        """At the latest with the last reference, also of a test that failed."""
        self.ends()


def _end(folder):
    subprocess.run(["tmux", "-S", os.path.join(folder.name, "socket"), "kill-server"],
                   stderr=subprocess.DEVNULL, check=False)
    folder.cleanup()
