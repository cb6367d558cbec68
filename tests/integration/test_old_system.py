"""The program is one static file: it runs inside a Debian bullseye root (glibc
2.31, Python 3.9), where nothing of ours but that file exists."""

import fcntl
import os
import shutil
import subprocess

import pytest

import harness
from harness import ROOT, TARGETS, Target, hangdbg

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # it may be fetched

SUITE = "bullseye"
CACHE = ROOT / ".cache" / SUITE


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A fresh copy of the root that is kept in .cache/, with the program."""
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    CACHE.parent.mkdir(exist_ok=True)
    with open(CACHE.with_suffix(".lock"), "w") as lock:  # the other xdist worker
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not CACHE.exists():
            bootstrap()
    copy = tmp_path_factory.mktemp(SUITE) / "root"
    subprocess.run(["cp", "-a", str(CACHE), str(copy)], check=True)
    shutil.copy(harness.PROGRAM, copy / "hangdbg")
    shutil.copytree(TARGETS, copy / "targets")
    yield copy
    shutil.rmtree(copy)  # a quarter of a gigabyte


def bootstrap():
    """Debian's own tool and the mirror that this machine uses."""
    tool = shutil.which("debootstrap", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not tool:
        pytest.skip("debootstrap is not installed")
    mirror = debian_mirror()
    if not mirror:
        pytest.skip("no Debian mirror in /etc/apt")
    unfinished = CACHE.with_name(SUITE + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    done = subprocess.run(
        [tool, "--variant=minbase", "--include=python3", SUITE,
         str(unfinished), mirror],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=800,
    )
    if done.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        last = done.stdout.decode(errors="replace").strip().splitlines()[-1:]
        pytest.skip("debootstrap %s failed: %s" % (SUITE, " ".join(last)))
    unfinished.rename(CACHE)


def debian_mirror():
    """The address of the Debian archive in apt's own lists."""
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Label: Debian"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ).stdout.decode().split()
    return targets[0] if targets else None


def in_root(root, *command):
    """The command in the root, with a /proc that goes with its mount namespace."""
    script = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    return ["unshare", "--mount", "sh", "-c", script, str(root), *command]


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
