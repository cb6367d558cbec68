"""The ways to hang, by name, and how the target of each is started."""

import subprocess

import pytest

import interpreters
from harness import ROOT, in_targets, start

# And what the source line says at which the hung function waits.
WAITS_AT = {
    "lock_main": "lock.acquire()",
    "lock_worker": "lock.acquire()",
    "timed_lock": "lock.acquire(timeout=3600)",
    "sleep": "time.sleep(3600)",
    "file_baton": "time.sleep(self.wait_seconds)",
    "recv": "connection.recv(100)",
    "recv_timeout": "connection.recv(100)",
    "select_call": "select.select([reader], [], [])",
    "os_read": "os.read(reader, 100)",
    "event_wait": "event.wait()",
    "join": "worker.join()",
    "blocked_import": "lock.acquire()",
    "asyncio_idle": "loop.run_until_complete(done)",
    "gevent_lock": "lock.acquire()",
    "c_call": "libc.read(0, buffer, 1, *passed",
    "read_ignoring_eintr": "function(0)",
    "spin": "function(0)",
    "churn": "function(0)",
}
C_FUNCTIONS = ("read_ignoring_eintr", "spin", "churn")  # of targets/hang.c


def build_library(folder):
    """The C functions that c_hangs.py calls."""
    path = folder / "hang.so"
    source = in_targets("hang.c")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", path, source], check=True)
    return path


def start_hang(name, python, library, env=None):
    if name in C_FUNCTIONS:
        target = start("c_hangs", python, library, name, env=env)
    elif name == "gevent_lock":
        path = {"PYTHONPATH": folder_with("gevent.ssl", python)}
        target = start(name, python, env=dict(path, **(env or {})))
    else:
        target = start(name, python, env=env)
    target.name = name
    return target


def folder_with(module, python, package="gevent"):
    """The folder that has that package (gevent: and greenlet with it) for this
    interpreter."""
    known = interpreters.found() + interpreters.refused()
    minor = next(it.minor for it in known if it.path == python)
    folder = ROOT / ".cache" / package / minor
    if not folder.exists():
        pytest.skip("%s for Python %s is not in .cache/%s" % (package, minor, package))
    # Compiled for PyPI's idea of a libc; some modules want the module ssl.
    tried = subprocess.run(
        [python, "-c", "import " + module],
        env={"PYTHONPATH": str(folder)}, stderr=subprocess.PIPE, text=True,
    )
    if tried.returncode:
        pytest.skip("%s: %s" % (module, tried.stderr.splitlines()[-1]))
    return str(folder)
