"""The CPythons that the tests run against.

found() looks in $HANGDBG_PYTHONS (colon separated), in .cache/pythons (made by
scripts/get-pythons), in pyenv, in /usr/bin and /usr/local/bin, and on PATH. What
it did not find is for the tests to report as skipped; that it found none is a
failure.
"""

import collections
import functools
import glob
import os
import subprocess

MINORS = tuple("3.%d" % minor for minor in range(6, 16))
FREE_THREADED = "t"
MUSL = "musl"
CACHE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".cache", "pythons")

# variant: "", FREE_THREADED or MUSL
Interpreter = collections.namedtuple("Interpreter", "path version minor variant")

# (minor, variant) -> what it is called, also by its folder in CACHE
WANTED = {(minor, ""): minor for minor in MINORS}
WANTED["3.13", FREE_THREADED] = "3.13t"
WANTED["3.14", FREE_THREADED] = "3.14t"
WANTED["3.15", FREE_THREADED] = "3.15t"
WANTED["3.11", MUSL] = "musl"

REFUSED = ("3.6", "3.13t")

# Builds that check themselves (scripts/get-pythons --debug): by no other means found,
# since all else would run on them four times as long.
CHECKED = ("3.11d", "3.11dr", "3.13d", "3.14d", "3.14dr", "3.15d")
CHECKED_CACHE = CACHE + "-debug"


@functools.lru_cache(maxsize=None)
def found():
    """Interpreters of MINORS that hangdbg can enter, by version, those with the
    GIL and glibc first; each executable once."""
    return [it for it in _all() if not _is_refused(it)]


@functools.lru_cache(maxsize=None)
def refused():
    """Those that it can only read (docs/decisions/0012 and 0035, docs/limits.md)."""
    return [it for it in _all() if _is_refused(it)]


def newest_of_each_minor(interpreters):
    """Of each minor version and variant the last of them, which are sorted by version."""
    last = {(it.minor, it.variant): it for it in interpreters}
    return [it for it in interpreters if it is last[it.minor, it.variant]]


def _is_refused(interpreter):
    return WANTED.get((interpreter.minor, interpreter.variant)) in REFUSED


def checked():
    """{name: interpreter, or None} of CHECKED"""
    return {name: _ask(os.path.join(CHECKED_CACHE, name, "python")) for name in CHECKED}


def variant(path):
    return next((it.variant for it in _all() if it.path == path), "")


def minor(path):
    """14 of 3.14"""
    return int(next(it.minor for it in _all() if it.path == path).split(".")[1])


def missing():
    """{what is not there: the reason to skip it}"""
    there = {(it.minor, it.variant) for it in _all()}
    return {name: "CPython %s: %s" % (name, _why(name))
            for which, name in WANTED.items() if which not in there}


def name(interpreter):
    """Short, for the tests' ids."""
    return "-".join(filter(None, (interpreter.version, interpreter.variant)))


def label(interpreter):
    return "CPython %s %s" % (name(interpreter), interpreter.path)


def _why(name):
    try:
        with open(os.path.join(CACHE, name + ".why")) as reason:
            return reason.read().strip()
    except OSError:
        return "no interpreter found"


@functools.lru_cache(maxsize=None)
def _all():
    by_path = {}
    for candidate in _candidates():
        interpreter = _ask(candidate)
        if interpreter is not None and interpreter.minor in MINORS:
            by_path.setdefault(interpreter.path, interpreter)
    return sorted(by_path.values(), key=lambda it: (
        it.variant, tuple(map(int, it.version.split("."))), it.path))


def _candidates():
    yield from filter(None, os.environ.get("HANGDBG_PYTHONS", "").split(":"))
    folders = ["/usr/bin", "/usr/local/bin"] + os.environ.get("PATH", "").split(":")
    patterns = [os.path.join(CACHE, "*", "python")]
    patterns += [os.path.expanduser("~/.pyenv/versions/*/bin/python3")]
    patterns += [folder + name for folder in folders if folder
                 for name in ("/python3", "/python3.[0-9]", "/python3.[0-9][0-9]")]
    for pattern in patterns:
        yield from sorted(glob.glob(pattern))


_QUESTION = """
import os, sys
def variant():
    if "free-threading" in sys.version:
        return "t"
    return "musl" if sys.implementation._multiarch.endswith("-musl") else ""
if sys.implementation.name == "cpython":
    print("%d.%d.%d" % sys.version_info[:3] + "-" + variant())
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
    version, _, variant = lines[0].partition("-")
    return Interpreter(lines[1], version, version.rsplit(".", 1)[0], variant)
