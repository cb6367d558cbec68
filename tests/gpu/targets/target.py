"""What every target shares: how it starts, says that it is about to hang, and ends.

A target prints JSON lines on stdout and reads words on stdin:

    {"imported": ...}        its libraries are imported; the device is not touched yet
        <- "go"              its turn has come (imports of several targets overlap)
    {"ready": ...}           the next thing it does is to hang
        <- "release"         end the hang; a thread of the target reads this
    {"went_on": ...}         the hang is over; the program exits with NORMAL_EXIT

It never outlives LIFE seconds after "go": the kernel's alarm ends it, also while
C code holds the GIL.
"""

import json
import os
import resource
import signal
import sys
import threading
import time

NORMAL_EXIT = 7  # which no accident gives
LIFE = 75  # seconds; the spin kernel ends by itself before (device.py)

_release = []
_begun = time.monotonic()


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def imported(**facts):
    """Says that the libraries are there, and waits for its turn."""
    say(imported=True, pid=os.getpid(), seconds=round(time.monotonic() - _begun, 3), **facts)
    if sys.stdin.readline().strip() != "go":
        sys.exit(3)  # nobody wants it any more
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIFE)


def cannot(why):
    """Ends the target: what it needs is not on this machine."""
    say(cannot=str(why))
    sys.exit(3)


def on_release(action):
    """Calls `action()` on "release"; nothing of Python is needed but its thread."""
    if not _release:
        threading.Thread(target=_read_release, name="release", daemon=True).start()
    _release.append(action)


def ready(function, **facts):
    """`function` is the Python function, of this target, whose call does not return."""
    say(ready=True, pid=os.getpid(), tid=threading.get_native_id(), function=function, **facts)


def went_on(**result):
    say(went_on=True, **result)
    sys.stdout.flush()
    os._exit(NORMAL_EXIT)  # a context that is broken must not spoil the end


def _read_release():
    # os.read, not readline: the buffer of sys.stdin is locked while a thread reads it.
    word = b""
    while b"\n" not in word:
        chunk = os.read(0, 100)
        if not chunk:
            break
        word += chunk
    if word.strip() == b"release":
        for action in _release:
            action()
