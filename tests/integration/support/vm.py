"""A virtual machine with Debian's own kernel, which has what the kernel that the
tests run on may lack (Yama, cgroups, RDMA): one boot, one Python script, its output.

    lines = boot("yama_guest")                  # tests/targets/guests/yama_guest.py

The machine has no disk: its root is a RAM disk with the program, the script, the
files of an interpreter that the script needs, and busybox to begin with. It needs
no rights and no KVM, and takes some seconds.
"""

import fcntl
import glob
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import harness
from harness import ROOT, in_targets

CACHE = ROOT / ".cache" / "kernel"
QEMU = "qemu-system-x86_64"
BUSYBOX = "/bin/busybox"  # busybox-static

# On request: a network that leads nowhere, and RoCE on it. In this order.
MODULES = ["dummy", "crc32_generic", "udp_tunnel", "ip6_udp_tunnel", "ib_core", "ib_uverbs",
           "rdma_rxe"]

INIT = """#!%s sh
%s mount -t proc proc /proc
%s -I -S -B /guest.py
%s reboot -f
"""


def boot(script, python, folder, modules=False, seconds=300):
    """The lines that the target SCRIPT.py printed as the machine's root, with nothing beside it
    but /hangdbg, the package in /python and, with `modules`, /modules/0-dummy.ko and so on; SKIPPED
    where no machine can be had."""
    for program in (QEMU, BUSYBOX):
        if not shutil.which(program):
            pytest.skip("%s is not installed: scripts/setup test" % program)
    kernel = cached_kernel()
    root = fill(folder / "root", in_targets(script + ".py"), python)
    if modules:
        (root / "modules").mkdir()
        for number, name in enumerate(MODULES):
            shutil.copy(CACHE / (name + ".ko"), root / "modules" / ("%d-%s.ko" % (number, name)))
    image = folder / "image.cpio"
    image.write_bytes(pack(root))
    machine = [
        QEMU, "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot",
        "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "512",
        "-kernel", kernel, "-initrd", image,
        "-append", "console=ttyS0 loglevel=0 panic=-1",
    ]
    done = subprocess.run(
        machine, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=seconds, preexec_fn=harness.die_with_us,
    )
    return done.stdout.decode(errors="replace").splitlines()


def fill(root, script, python):
    """The machine's files."""
    for name in ("proc", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    shutil.copy(harness.PROGRAM, root / "hangdbg")
    shutil.copy(script, root / "guest.py")
    shutil.copytree(ROOT / "python", root / "python")
    for file in [BUSYBOX, *files_of(python, script)]:
        copy = root / file.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    init = root / "init"
    init.write_text(INIT % (BUSYBOX, BUSYBOX, python, BUSYBOX))
    init.chmod(0o755)
    return root


def files_of(python, script):
    """The interpreter, what the script imports and what both are linked with."""
    imports = "\n".join(re.findall("^import .*", script.read_text(), re.MULTILINE))
    ask = "\nprint(*{m.__file__ for m in sys.modules.values() if hasattr(m, '__file__')})"
    answer = subprocess.run(
        [python, "-I", "-S", "-c", "import os, sys\n" + imports + ask],
        stdout=subprocess.PIPE, check=True)
    files = [python, *answer.stdout.decode().split()]
    linked = subprocess.run(
        ["ldd", python, *(file for file in files if ".so" in file)],
        stdout=subprocess.PIPE, check=True).stdout.decode()
    return {*files, *re.findall(r"(/\S+\.so\S*) \(", linked)}


def pack(root):
    names = subprocess.run(["find", "."], cwd=root, stdout=subprocess.PIPE, check=True)
    return subprocess.run(
        [BUSYBOX, "cpio", "-o", "-H", "newc"], cwd=root, input=names.stdout,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


def cached_kernel():
    """Debian's, unpacked and not installed, with its modules beside it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:  # the other xdist worker
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = glob.glob(str(CACHE / "vmlinuz-*"))
        complete = all((CACHE / (name + ".ko")).exists() for name in MODULES)
        return found[0] if found and complete else fetch_kernel()


def fetch_kernel():
    script = """
        set -e
        rm -f linux-image-*.deb vmlinuz-* *.ko
        package=$(apt-cache depends linux-image-amd64 |
            sed -n 's/.*Depends: \\(linux-image-[0-9].*\\)/\\1/p' | head -n1)
        apt-get -q -o APT::Sandbox::User=root download "${package:?no kernel in apt}"
        dpkg-deb --fsys-tarfile linux-image-*.deb |
            tar -x --wildcards --transform='s,.*/,,' './boot/vmlinuz-*' $(printf '*/%s.ko ' "$@")
        rm linux-image-*.deb
    """
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script, "fetch", *MODULES], cwd=CACHE, timeout=200,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = glob.glob(str(CACHE / "vmlinuz-*"))
    if done.returncode or not found:
        last = done.stdout.decode(errors="replace").strip().splitlines()[-1:]
        pytest.skip("no kernel to boot: " + " ".join(last))
    return found[0]
