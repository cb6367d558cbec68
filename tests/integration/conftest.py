"""Interpreters as fixtures, a clean environment for each test and an end to all
that it started. tests/pytest.ini gives each its deadline."""

import ctypes
import os
import shutil
import sys
import tempfile
import zlib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import hangs
import harness
import interpreters
from versions import EDGES, FOUND, PLAIN, parameters

BETWEEN = 2


def _missing(refused):
    return [
        pytest.param(None, id=name, marks=pytest.mark.skip(why))
        for name, why in interpreters.missing().items()
        if (name in interpreters.REFUSED) == refused
    ]


NEWEST = interpreters.newest_of_each_minor(FOUND)
ENTERED = parameters(NEWEST) + _missing(refused=False)
EVERY = parameters(FOUND) + _missing(refused=False)
ONLY_READ = [
    pytest.param(it.path, id=interpreters.name(it)) for it in interpreters.refused()
] + _missing(refused=True)


@pytest.fixture(params=ENTERED)
def python(request):
    """Every version that can be entered, the newest release of each: the edges in each
    test, BETWEEN of the others by turns, unless --every-python is given."""
    return _existing(request.param)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist numbers them
def pytest_collection_modifyitems(config, items):
    """Whose turn it is follows from the test's name, not from the room that it is in: those
    of a file with many have all. Who names one with its interpreter gets it."""
    if config.getoption("every_python") or any("[" in word for word in config.args):
        return
    edges = [it.path for it in EDGES]
    between = [it for it in NEWEST if it.path not in edges]
    turns = {it.path: (at, interpreters.name(it)) for at, it in enumerate(between)}

    def left_out(item):
        path = item.callspec.params.get("python") if hasattr(item, "callspec") else None
        if path not in turns:
            return False
        at, name = turns[path]
        file, _, test = item.nodeid.partition("::")
        test = "integration/%s::%s" % (os.path.basename(file), test.replace(name, ""))
        first = zlib.crc32(test.encode())
        return (at - first) % len(between) >= BETWEEN

    config.hook.pytest_deselected(items=[item for item in items if left_out(item)])
    items[:] = [item for item in items if not left_out(item)]


@pytest.fixture(params=EVERY)
def every_python(request):
    """Every interpreter that can be entered, all builds of a version: for the matrix."""
    return _existing(request.param)


@pytest.fixture(params=ONLY_READ)
def refused_python(request):
    return request.param


@pytest.fixture(params=ONLY_READ + ENTERED)
def readable_python(request):
    """Every interpreter that can be read."""
    return _existing(request.param)


EDGE = parameters(EDGES)


@pytest.fixture(params=EDGE)
def edge_python(request):
    """The oldest and the newest, and one without a GIL."""
    return _existing(request.param)


@pytest.fixture(params=ONLY_READ + EDGE)
def readable_edge_python(request):
    """And what can only be read."""
    return _existing(request.param)


@pytest.fixture(params=parameters([PLAIN[at] for at in sorted(
    {0, len(PLAIN) // 2, len(PLAIN) - 1})] if PLAIN else []))
def some_python(request):
    """The oldest, the newest and one between, all with a GIL."""
    return _existing(request.param)


@pytest.fixture
def newest_python():
    return _existing(PLAIN[-1].path if PLAIN else None)


def _existing(path):
    assert path, "no CPython found: set HANGDBG_PYTHONS"
    return path


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The C functions of tests/targets/native/hang.c."""
    return hangs.build_library(tmp_path_factory.mktemp("library"))


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    """No settings and no history of the person who runs the tests."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in list(os.environ):
        if name == "NO_COLOR" or name.startswith(("XDG_", "HANGDBG_TEST_")):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def stop_everything():
    yield
    harness.stop_everything()


@pytest.fixture
def public():
    """A folder that every user can read, with hangdbg and the targets in it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(harness.PROGRAM, folder + "/hangdbg")
        harness.copy_targets(folder + "/targets")
        yield folder


@pytest.fixture
def hung_mount(tmp_path):
    """A file system that never answers: whoever touches it is in state D."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("needs root and /dev/fuse")
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    folder = tmp_path / "hung"
    folder.mkdir()
    options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % device
    if libc.mount(b"hung", bytes(folder), b"fuse", 0, options) != 0:
        os.close(device)
        pytest.skip("no FUSE: " + os.strerror(ctypes.get_errno()))
    yield folder
    os.close(device)  # aborts what waits
    libc.umount2(bytes(folder), 2)  # MNT_DETACH


@pytest.fixture
def terminal():
    """Opens `hangdbg attach` in a terminal; closes all of them at the end."""
    from terminal import Terminal

    opened = []

    def open_terminal(pid, *flags, **options):
        opened.append(Terminal(pid, *flags, **options))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


@pytest.fixture
def on_terminal(terminal):
    """Opens hangdbg with another command there."""
    return lambda *command, **options: terminal(None, command=command, **options)
