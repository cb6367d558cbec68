"""The CPythons that the tests run against.

found() looks in $HANGDBG_PYTHONS (colon separated), in pyenv, in /usr/bin and
/usr/local/bin, and on PATH. Which of MINORS it did not find is for the tests to
report as skipped; that it found none is a failure.
"""

import collections
import functools
import glob
import os
import subprocess

MINORS = tuple("3.%d" % minor for minor in range(7, 15))

Interpreter = collections.namedtuple("Interpreter", "path version minor")


@functools.lru_cache(maxsize=None)
def found():
    """Interpreters of MINORS with a GIL, by version; each executable once."""
    by_path = {}
    for candidate in _candidates():
        interpreter = _ask(candidate)
        if interpreter is not None and interpreter.minor in MINORS:
            by_path.setdefault(interpreter.path, interpreter)
    return sorted(by_path.values(), key=lambda interpreter: (
        tuple(map(int, interpreter.version.split("."))), interpreter.path))


def missing():
    """{minor: the reason to skip it} of those of MINORS that are not there."""
    there = {interpreter.minor for interpreter in found()}
    return {minor: "CPython %s: no interpreter found" % minor
            for minor in MINORS if minor not in there}


def label(interpreter):
    return "CPython %s %s" % (interpreter.version, interpreter.path)


def _candidates():
    yield from filter(None, os.environ.get("HANGDBG_PYTHONS", "").split(":"))
    folders = ["/usr/bin", "/usr/local/bin"] + os.environ.get("PATH", "").split(":")
    patterns = [os.path.expanduser("~/.pyenv/versions/*/bin/python3")]
    patterns += [folder + name for folder in folders if folder
                 for name in ("/python3", "/python3.[0-9]", "/python3.[0-9][0-9]")]
    for pattern in patterns:
        yield from sorted(glob.glob(pattern))


_QUESTION = """
import os, sys
gil = getattr(sys, "_is_gil_enabled", lambda: True)()
if sys.implementation.name == "cpython" and gil:
    print("%d.%d.%d" % sys.version_info[:3])
    print(os.path.realpath(sys.executable))
"""


@functools.lru_cache(maxsize=None)
def _ask(candidate):
    # By asking: a shim of pyenv is a shell script that may start anything.
    try:
        answer = subprocess.run([candidate, "-I", "-S", "-c", _QUESTION], timeout=60,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = os.fsdecode(answer.stdout).splitlines()
    if answer.returncode != 0 or len(lines) != 2:
        return None
    return Interpreter(lines[1], lines[0], lines[0].rsplit(".", 1)[0])
