"""Roots of other systems that a program can be run in: Debian's of scripts/get-roots,
one with musl, one with nothing."""

import os
import shutil
import subprocess

import pytest

import interpreters
from harness import ROOT, copy_targets

MUSL = "/lib/ld-musl-x86_64.so.1"


def debian(suite, folder):
    """A fresh copy of the one in .cache/roots; with the targets."""
    need_root()
    done = subprocess.run([str(ROOT / "scripts" / "get-roots"), suite],
                          stdout=subprocess.PIPE, timeout=800)
    cached = ROOT / ".cache" / "roots" / suite
    if not cached.exists():
        pytest.skip(done.stdout.decode().strip())
    root = folder / "root"
    subprocess.run(["cp", "-a", str(cached), str(root)], check=True)
    copy_targets(root / "targets")
    return root


def musl(folder):
    """Its interpreter is where it is outside, and runs on this root's musl."""
    need_root()
    found = [it for it in interpreters.found() if it.variant == interpreters.MUSL]
    if not found or not os.path.exists(MUSL):
        pytest.skip("no Python on musl here (scripts/get-pythons --build)")
    root = folder / "root"
    copied = os.path.dirname(os.path.realpath(found[0].path))
    inside = root / copied[1:]
    inside.mkdir(parents=True)
    for name in ("Lib", "build", "Modules", "pybuilddir.txt", "python"):
        source = os.path.join(copied, name)
        if os.path.isdir(source):
            shutil.copytree(source, inside / name, ignore=shutil.ignore_patterns("*.o", "test"))
        else:
            shutil.copy(source, inside / name)
    (root / "lib").mkdir(exist_ok=True)
    shutil.copy(MUSL, root / MUSL[1:])
    copy_targets(root / "targets")
    (root / "proc").mkdir()
    return root, found[0].path


def empty(folder):
    need_root()
    (folder / "root" / "proc").mkdir(parents=True)
    return folder / "root"


def need_root():
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")


def in_root(root, *command):
    """The command in the root, with a /proc that goes with its mount namespace."""
    script = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    return ["unshare", "--mount", "sh", "-c", script, str(root), *map(str, command)]


def run_in(root, *command):
    return subprocess.run(in_root(root, *command), stdin=subprocess.DEVNULL, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
