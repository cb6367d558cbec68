"""Unusual programs that count (tests/targets/unusual/unusual.py), and checks of each."""

import mmap
import os
import re
import signal
import sys
import types

import pytest

import interpreters
from harness import NORMAL_EXIT, PATIENCE, Target, hangdbg, in_targets, place, until

STOP, MAIN, BESIDE = range(3)

EDGE = [it for it in interpreters.found() if not it.variant]
EDGE = EDGE[:1] + EDGE[1:][-1:] + [
    it for it in interpreters.found() if it.variant == interpreters.FREE_THREADED]


def spread(kinds):
    """Each with one of the edge interpreters, in turn; $HANGDBG_UNUSUAL_ALL: with all."""
    for number, kind in enumerate(kinds):
        for which, it in enumerate(EDGE):
            if number % len(EDGE) == which or "HANGDBG_UNUSUAL_ALL" in os.environ:
                yield pytest.param(kind, it.path, id="%s-%s" % (kind, interpreters.name(it)))


def kinds_of(name):
    """What there is in the target NAME.py."""
    sys.path.insert(0, str(in_targets(name + ".py").parent))
    try:
        module = __import__(name)
    finally:
        del sys.path[0]
    return [name for name, thing in vars(module).items()
            if isinstance(thing, types.FunctionType) and thing.__code__.co_flags & 0x20
            ] + list(getattr(module, "IN_THREAD", ())) + list(getattr(module, "KINDS", ()))


class Counting(Target):
    """One of them. `words` are those of its file."""

    def __init__(self, folder, kind, python, *flags, before=(), env=None, command=None):
        file_name = folder / "words"
        file_name.write_bytes(bytes(3 * 8))
        with open(file_name, "r+b") as file:
            self.words = memoryview(mmap.mmap(file.fileno(), 3 * 8)).cast("Q")
        super().__init__(command or [
            *before, python, *flags, in_targets("unusual.py"), file_name, kind], env)
        if "traced" in kind:  # its trace function may be the innermost
            self.ready.setdefault("frame", self.function)
        self.wait_hung()

    def go_on(self):
        self.words[STOP] = 1

    def end(self, code=NORMAL_EXIT):
        """It ends as it does without a debugger. What it tells, but for what is true of
        each kind."""
        self.go_on()
        told = self.read_line(PATIENCE)
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == code, self.stderr()
        assert self.stderr() == self.noise, self.stderr()
        assert (told.pop("answer"), told.pop("right")) == (41, [True, True]), told
        assert told.pop("signals_changed") == [], told
        return told


def assert_goes_on(target):
    for which in (MAIN, BESIDE):
        now = target.words[which]
        until("it goes on", lambda: target.words[which] > now)


def asked(target):
    done = hangdbg("eval", target.pid, "answer + 1", *place(target))
    assert (done.rc, done.out, done.err) == (0, "42\n", ""), done
    assert_goes_on(target)


def assert_asked(target, restless=False):
    """Three times, and by one that dies in between; it is read out of process; and it
    continues, and is as before, each time. RESTLESS: what is its own comes and goes."""
    assert_goes_on(target)
    before = target.snapshot()
    asked(target)
    # On a busy machine the agent of the one before may still be there: then it has no such point.
    until("one dies", lambda: hangdbg(
        "eval", target.pid, "answer", *place(target),
        env={"HANGDBG_TEST_DIE_AT": "told-to-go"}).rc == -signal.SIGKILL)
    assert_goes_on(target)
    restless or target.assert_as_before(before, arenas=4)
    asked(target)
    asked(target)
    done = hangdbg("dump", target.pid)
    assert done.rc == 0 and re.search(r"\bcount\b", done.out), done
    restless or target.assert_as_before(before, arenas=4)


def assert_refused(target, rc, *words):
    """Three times, for the same reason; and nothing has changed."""
    assert_goes_on(target)  # both threads are where they count
    before = target.snapshot()
    for _ in range(3):
        done = hangdbg("eval", target.pid, "answer + 1", *place(target))
        done.assert_refused(rc, *words)
        assert_goes_on(target)
        target.assert_as_before(before, arenas=4)
    done = hangdbg("dump", target.pid)
    assert done.rc == 0 and re.search(r"\bcount\b", done.out), done
