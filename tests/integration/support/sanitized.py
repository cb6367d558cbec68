"""The agent's C side under ASan and UBSan, in a real interpreter, for real clients.

    library = build(folder)
    agent = SanitizedAgent("told", python, library, folder)
    agent.start()                  # a client that attaches to agent.target finds it there
    ...
    agent.end()                    # it has unmapped itself, and said nothing

tests/sanitized has what is built: the files of injector/bootstrap as an ordinary shared
object, and the host that takes the place of the injector's stub.
"""

import concurrent.futures
import functools
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

import interpreters
import processes
from harness import PATIENCE, ROOT, Target, evaluate, start

BOOTSTRAP = ROOT / "injector" / "bootstrap"
SOURCES = ROOT / "tests" / "sanitized"
REPORTED = 99  # what the target's exit code is then
COMPILER = ["gcc", "-std=gnu11", "-O1", "-g", "-fPIC", "-fvisibility=hidden",
            "-fno-omit-frame-pointer", "-I", ROOT]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

# bootstrap/shared.h: enum HdForbidden
SOCKETS, YIELD, READ_SELF, OPEN = 1, 2, 4, 8


def runtime():
    """The sanitizer's own library, which has to be the first of the process's."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip("gcc has no libasan")
    return os.path.realpath(found)


@functools.lru_cache(maxsize=None)
def is_loadable(python):
    """Not where Python brings a C library that is older than the sanitizer's."""
    return subprocess.run([python, "-S", "-c", ""], stderr=subprocess.DEVNULL, env=dict(
        os.environ, LD_PRELOAD=runtime(), ASAN_OPTIONS="detect_leaks=0")).returncode == 0


def build(folder, beside=None, fault=None):
    """Makes image.so and host.so there; returns the folder. `fault` is (file, text in it,
    its replacement), and `beside` a folder where all was built without."""
    runtime()
    sources = [*sorted(BOOTSTRAP.glob("*.c")), *sorted(BOOTSTRAP.glob("*.S")),
               *sorted(SOURCES.glob("[!h]*.c")), SOURCES / "region.S"]
    if fault:
        name, before, after = fault
        text = (BOOTSTRAP / name).read_text()
        assert text.count(before) == 1, "%s: not there, or more than once" % before
        (folder / name).write_text(text.replace(before, after))
        objects = [(beside or folder) / (source.name + ".o") for source in sources
                   if source.name != name]
        objects.append(compiled(folder / name, folder))
    else:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(lambda source: compiled(source, folder), sources))
    run([*COMPILER, *SANITIZERS, "-shared", "-Wl,-z,defs", "-Wl,-z,separate-code",
         "-Wl,-T", SOURCES / "image.ld", "-o", folder / "image.so", *objects])
    run([*COMPILER, "-shared", "-o", folder / "host.so", SOURCES / "host.c"])
    return folder


def compiled(source, folder):
    target = folder / (source.name + ".o")
    flags = ["-include", SOURCES / "checked_syscalls.h"]
    is_bootstrap = source.parent != SOURCES and source.suffix == ".c"
    run([*COMPILER, *SANITIZERS, *flags * is_bootstrap, "-c", source, "-o", target])
    return target


def run(command):
    subprocess.run([str(word) for word in command], check=True)


class SanitizedAgent:
    """A target of tests/targets, in which that agent is once it is started."""

    def __init__(self, name, python, library, folder, *args, env=None):
        if not is_loadable(python):
            pytest.skip("the sanitizer is for a newer C library than this Python's")
        self.folder = folder
        options = "exitcode=%d" % REPORTED
        self.target = start(name, python, *args, env={
            "LD_PRELOAD": runtime(),
            # A big bytearray() is a MemoryError, as ever. The image is loaded again.
            "ASAN_OPTIONS": options + ":detect_leaks=0:allocator_may_return_null=1"
                            ":detect_odr_violation=0",
            "UBSAN_OPTIONS": options + ":print_stacktrace=1",
            **self.objects_by_malloc(python), **(env or {})})
        self.adopt(library)
        self.target.assert_as_before = self.assert_as_before

    @staticmethod
    def objects_by_malloc(python):
        """So that what becomes of a Python object is known to the sanitizer as well;
        without a GIL Python insists on its own allocator."""
        if interpreters.variant(python) == interpreters.FREE_THREADED:
            return {}
        return {"PYTHONMALLOC": "malloc"}

    def adopt(self, library):
        path = tempfile.mktemp(dir=self.folder)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            assert evaluate(self.target, (
                "(lambda ctypes: (lambda adopt: setattr(adopt, 'restype', ctypes.c_char_p) or "
                "adopt(%r, %r))(ctypes.CDLL(%r).adopt))(__import__('ctypes'))" % (
                    bytes(library / "image.so"), path.encode(), str(library / "host.so"))
            )) == ""
            self.told, _ = listener.accept()
        self.told.settimeout(2 * PATIENCE)

    def start(self, forbidden=0):
        assert self.ask("start %d" % forbidden) == "started"

    def ask(self, what):
        self.told.sendall(what.encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            more = self.told.recv(100)
            assert more, "the target ended with %s: %s" % (
                self.target.process.wait(PATIENCE), self.reports())
            answer += more
        return answer.decode().strip()

    def assert_as_before(self, before, arenas=0):
        """But for what the sanitizer maps for itself; and a SIGPIPE that waits in a
        thread of the agent's, which is still there."""
        ours = {tid for tid, name in before.threads.items() if name.startswith("hangdbg")}

        def snapshot():
            seen = processes.snapshot(self.target.pid)
            return seen._replace(signals={
                tid: masks for tid, masks in seen.signals.items() if tid not in ours})

        self.target.snapshot = snapshot
        Target.assert_as_before(self.target, before._replace(signals={
            tid: masks for tid, masks in before.signals.items() if tid not in ours}), 100)

    def threads(self):
        """So many it has started: more than before, if a client has been with it."""
        return int(self.ask("threads"))

    def end(self):
        """All have gone, or go now: so does the image, and has given back what it took."""
        assert self.blocks_left() == 0
        assert not self.reports()

    def blocks_left(self):
        """After the end."""
        assert self.ask("release") == "released"
        return int(self.ask("await"))

    def report(self):
        """The target has ended by one."""
        assert self.target.process.wait(PATIENCE) == REPORTED, self.target.stderr()
        return self.reports()

    def reports(self):
        return self.target.stderr()[len(self.target.noise):]
