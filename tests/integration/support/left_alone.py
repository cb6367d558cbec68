"""Programs like those that the soak asks, which nobody asks: what befalls them as well is
no harm of the debugger's. This machine's CPUs may all be wanted by others, or it may itself
stand still for a while, as a virtual one does.

    with LeftAlone(pythons, folder) as left_alone:
        left_alone.stood()   # for how many seconds one of them has, of late
        left_alone.longest   # {"3.15.0-t, left alone": 0.8}, seconds, since the beginning
"""

import collections
import contextlib
import threading
import time

import interpreters
from stress import Reporting

LOOK = 0.1  # seconds
STANDS = 5  # seconds; each thread of such a program ends a round some five times a second
RECENT = 60


class LeftAlone(contextlib.ExitStack):
    """One of the newest interpreter with a GIL, and one of the newest without, as far as
    they are among `pythons`; and a thread that needs next to nothing."""

    def __init__(self, pythons, folder):
        super().__init__()
        self.longest = {}
        self.stops = collections.deque(maxlen=99)  # (when it was over, seconds)
        newest = {it.variant: it for it in pythons}
        self.targets = {
            "%s, left alone" % interpreters.name(it): self.enter_context(
                Reporting(it.path, folder, "paced")) for it in newest.values()}
        self.stopping = threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        self.callback(self.stop)

    def stop(self):
        self.stopping.set()
        self.watcher.join()

    def watch(self):
        seen = {}  # by program and row: its rounds, and since when
        before = time.monotonic()
        while not self.stopping.wait(LOOK):
            now = time.monotonic()
            self.note("a thread of the soak's", now - before, now)
            before = now
            for name, target in self.targets.items():
                for index, rounds in enumerate(target.rounds()):
                    known, since = seen.get((name, index), (None, now))
                    if known != rounds:
                        seen[name, index] = (rounds, now)
                    self.note(name, now - since, now)

    def note(self, name, seconds, now):
        self.longest[name] = max(self.longest.get(name, 0), seconds)
        if seconds > STANDS:
            self.stops.append((now, seconds))

    def stood(self):
        """For how many seconds, of late; 0: none has."""
        time.sleep(3 * LOOK)  # for what is just over to be seen
        return max((seconds for when, seconds in list(self.stops)
                    if time.monotonic() - when < RECENT), default=0)
