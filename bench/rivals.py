"""The other debuggers that the benchmarks measure. Those of `bench/attach` attach to
a target and return with the value of an expression, or raise Cannot with the reason;
those of `bench/dump` are programs (`program`).

Most come from PyPI, into .cache/bench. gdb is the machine's, which
makes the call that hangdbg's stub makes; Debian 12's aborts on CPUs with a large
XSAVE area, and there a newer suite's is unpacked into .cache/bench.
"""

import contextlib
import functools
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import harness

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "bench"
PATIENCE = 60.0  # seconds for one attach
NEWER_SUITE = "trixie"
GDB_CALLS = [
    "set $state = ((int (*)(void))PyGILState_Ensure)()",
    'print ((int (*)(const char *))PyRun_SimpleString)("1 + 1")',
    "call ((void (*)(int))PyGILState_Release)($state)",
]


class Cannot(Exception):
    pass


# ---- gdb


def gdb(target):
    _gdb_call(["gdb"], {}, target)


def newer_gdb(target):
    root = _unpacked_gdb()
    libraries = root / "usr/lib/x86_64-linux-gnu"
    command = [
        libraries / "ld-linux-x86-64.so.2", "--library-path", libraries,
        root / "usr/bin/gdb", "--data-directory=%s" % (root / "usr/share/gdb"),
    ]
    _gdb_call(command, {"PYTHONHOME": str(root / "usr")}, target)


def _gdb_call(command, environment, target):
    if not shutil.which(command[0]):
        raise Cannot("it is not installed")
    command = [*command, "-nx", "-batch", "-iex", "set debuginfod enabled off"]
    for call in GDB_CALLS:
        command += ["-ex", call]
    output = _output([*command, "-p", str(target.pid)], environment)
    if "$1 = 0" not in output or not target.alive():
        lines = [line for line in output.splitlines() if "rror" in line or "bort" in line]
        raise Cannot(
            (lines or output.splitlines() or ["it said nothing"])[-1]
            + ("" if target.alive() else " (the target died)")
        )


@functools.lru_cache(None)
def _unpacked_gdb():
    """The root with a newer suite's gdb and all that it needs, by an apt that
    has lists and a cache of its own."""
    home = CACHE / "gdb"
    if (home / "complete").exists():
        return home / "root"
    for folder in ("state/lists/partial", "archives/partial", "root"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    (home / "state/status").touch()
    (home / "sources.list").write_text("deb %s %s main\n" % (_mirror(), NEWER_SUITE))
    apt = ["apt-get", "-q", "-y", "-o", "Dir::State=%s/state" % home,
           "-o", "Dir::State::status=%s/state/status" % home,
           "-o", "Dir::Cache::archives=%s/archives" % home,
           "-o", "Dir::Etc::sourcelist=%s/sources.list" % home,
           "-o", "Dir::Etc::sourceparts=/dev/null"]
    _checked([*apt, "update"])
    _checked([*apt, "install", "--download-only", "--no-install-recommends", "gdb"])
    for package in sorted((home / "archives").glob("*.deb")):
        _checked(["dpkg-deb", "-x", package, home / "root"])
    (home / "complete").touch()
    return home / "root"


def _mirror():
    """The Debian mirror that this machine uses."""
    for path in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
        if path.exists():
            for address in re.findall(r"https?://\S+/debian/?(?=\s)", path.read_text()):
                return address
    raise Cannot("no Debian mirror in /etc/apt")


# ---- debugpy


def debugpy(target):
    """Injected by debugpy itself; then a client evaluates in the innermost frame
    of the first thread."""
    port = free_port()
    _output([_packages(), "-m", "debugpy", "--listen", "127.0.0.1:%d" % port,
             "--pid", str(target.pid)])
    with contextlib.closing(Dap(port)) as dap:
        dap.ask("initialize", adapterID="bench", pathFormat="path")
        attach = dap.send("attach", justMyCode=False)
        dap.wait(lambda message: message.get("event") == "initialized")
        dap.ask("configurationDone")
        dap.wait(lambda message: message.get("request_seq") == attach)
        thread = dap.ask("threads")["threads"][0]["id"]
        # It evaluates only in a thread that has stopped, at its next line.
        dap.ask("pause", threadId=thread)
        dap.wait(lambda message: message.get("event") == "stopped")
        frames = dap.ask("stackTrace", threadId=thread)["stackFrames"]
        dap.ask("evaluate", expression="40 + 2", frameId=frames[0]["id"])


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def hangdbg_serve():
    """What they are measured beside, as a Dap of its own server."""
    server = subprocess.Popen(
        [str(harness.PROGRAM), "serve", "--listen", "tcp:127.0.0.1:0"],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=harness.die_with_us)
    harness.track(server)
    port = int(re.search(r":(\d+) ", server.stderr.readline()).group(1))
    with contextlib.closing(Dap(port)) as dap:
        yield dap


class Dap:
    def __init__(self, port):
        self.seq = 0
        self.connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.file = self.connection.makefile("rwb")

    def close(self):
        self.file.close()
        self.connection.close()

    def ask(self, command, **arguments):
        seq = self.send(command, **arguments)
        response = self.wait(lambda message: message.get("request_seq") == seq)
        if not response["success"]:
            text = response.get("message") or "%s failed" % command
            raise Cannot("%s: %s" % (command, text.strip().splitlines()[-1]))
        return response.get("body", {})

    def send(self, command, **arguments):
        self.seq += 1
        body = json.dumps({"type": "request", "seq": self.seq, "command": command,
                           "arguments": arguments}).encode()
        self.file.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.file.flush()
        return self.seq

    def wait(self, wanted):
        while True:
            try:
                length = int(self.file.readline().split(b":")[1])
                self.file.readline()
                message = json.loads(self.file.read(length))
            except (OSError, IndexError, ValueError) as error:
                raise Cannot("no answer within %.0f s" % PATIENCE) from error
            if wanted(message):
                return message


# ---- madbg


def madbg(target):
    """Through the prompt that it opens in the target: it needs a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(_packages(), [_packages(), "-m", "madbg", "attach", str(target.pid)])
    try:
        _read_until(terminal, rb"(ipdb>|\(Pdb\))")
        os.write(terminal, b"40 + 2\r")
        _read_until(terminal, rb"(?<!\d)42(?!\d)")
    finally:
        os.close(terminal)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _read_until(terminal, pattern):
    seen = b""
    end = time.monotonic() + PATIENCE
    while not re.search(pattern, seen):
        left = end - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            raise Cannot("nothing shown within %.0f s" % PATIENCE)
        try:
            seen += os.read(terminal, 65536)
        except OSError:
            lines = seen.decode(errors="replace").strip().splitlines()
            raise Cannot((lines or ["it ended"])[-1]) from None


# ---- what all need


def search_path():
    """For a target: madbg is to be found in it."""
    python = Path(_packages())
    return str(next((python.parents[1] / "lib").glob("python3*/site-packages")))


@functools.lru_cache(None)
def _packages():
    """The interpreter of a virtual environment with debugpy and madbg."""
    return str(_environment("venv", "debugpy", "madbg") / "python3")


@functools.lru_cache(None)
def program(package, name):
    """The path of a program that a package of PyPI (a requirement) brings."""
    return str(_environment(name, package) / name)


@functools.lru_cache(None)
def debugpy_for(minor):
    """A folder with debugpy for another Python than the environment's."""
    home = CACHE / ("debugpy-" + minor)
    part = home.with_name(home.name + ".part")
    if not home.exists():
        _checked([_packages(), "-m", "pip", "install", "--quiet", "--only-binary", ":all:",
                  "--python-version", minor, "--target", part, "debugpy"])
        part.rename(home)
    return str(home)


def _environment(folder, *packages):
    """The bin folder of a virtual environment with those packages."""
    home = CACHE / folder
    if not (home / "complete").exists():
        _checked(["/usr/bin/python3", "-m", "venv", home])
        _checked([home / "bin/python3", "-m", "pip", "install", "--quiet", *packages])
        (home / "complete").touch()
    return home / "bin"


def _checked(command):
    done = subprocess.run(
        [str(part) for part in command], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    if done.returncode:
        raise Cannot("%s: %s" % (command[0], done.stdout.strip()[-200:]))


def _output(command, environment={}):
    try:
        return subprocess.run(
            [str(part) for part in command], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE,
            env=dict(os.environ, **environment),
        ).stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        raise Cannot("it did not end within %.0f s" % PATIENCE) from None
