"""The program is one static file: it runs inside a Debian bullseye root (glibc
2.31, Python 3.9), where nothing of ours but that file exists."""

import shutil
import subprocess

import pytest

import harness
from harness import Target, hangdbg
from roots import debian, in_root

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # it may be fetched


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    copy = debian("bullseye", tmp_path_factory.mktemp("bullseye"))
    shutil.copy(harness.PROGRAM, copy / "hangdbg")
    yield copy
    shutil.rmtree(copy)  # a quarter of a gigabyte


def test_version(root):
    done = subprocess.run(
        in_root(root, "/hangdbg", "--version"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20,
    )
    assert done.returncode == 0, done
    assert done.stdout.startswith(b"hangdbg ")


def test_target_hangs_and_goes_on_when_nobody_looks(root):
    target = Target(in_root(root, "/usr/bin/python3", "/targets/lock_main.py"))
    target.wait_hung()
    assert target.finish()["answer"] == 41


@pytest.mark.parametrize("hang", ["lock_main", "event_wait"])
@pytest.mark.parametrize("where", ["inside", "outside"])
def test_eval(root, hang, where):
    """hangdbg inside the root, and from outside on a target inside."""
    target = Target(in_root(root, "/usr/bin/python3", "/targets/%s.py" % hang))
    target.wait_hung()
    before = target.snapshot()
    arguments = ["eval", str(target.pid), "answer + 1", *map(str, harness.place(target))]
    if where == "inside":
        done = subprocess.run(
            in_root(root, "/hangdbg", *arguments),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20,
        )
        assert (done.returncode, done.stdout) == (0, b"42\n"), done
    else:
        assert hangdbg(*arguments).out == "42\n"
    target.assert_as_before(before)
    assert target.finish()["answer"] == 41
