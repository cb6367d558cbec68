"""Interpreters as fixtures, a clean environment for each test and an end to all
that it started. tests/pytest.ini gives each its deadline."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import hangs
import harness
import interpreters

FOUND = interpreters.found()  # by version


def _parameters(chosen):
    """A parameter for each interpreter; none at all is a failure, not a skip."""
    return [pytest.param(it.path, id=it.version) for it in chosen] or [
        pytest.param(None, id="no-interpreter")
    ]


def _missing():
    return [
        pytest.param(None, id=why, marks=pytest.mark.skip(why))
        for why in interpreters.missing()
    ]


@pytest.fixture(params=_parameters(FOUND) + _missing())
def python(request):
    """Every interpreter."""
    return _existing(request.param)


@pytest.fixture(params=_parameters(FOUND[:1] + FOUND[1:][-1:]))
def edge_python(request):
    """The oldest and the newest."""
    return _existing(request.param)


@pytest.fixture
def newest_python():
    return _existing(FOUND[-1].path if FOUND else None)


def _existing(path):
    assert path, "no CPython found: set HANGDBG_PYTHONS"
    return path


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The C functions of tests/targets/hang.c."""
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
