"""What machine this is: whether it has a GPU, and facts about its software that are worth
keeping. Standard library only; what cannot be read is left out, and nothing raises."""

import ctypes
import functools
import glob
import importlib.metadata
import importlib.util
import os
import platform
import re
import struct
import subprocess
import sys

PACKAGES = ("torch", "triton", "jax", "jaxlib", "jax-cuda13-plugin", "cupy-cuda13x", "numba",
            "numba-cuda", "mpi4py", "numpy", "pytest", "nvidia-nccl-cu13", "nvidia-nccl-cu12",
            "nvidia-cuda-runtime", "cuda-bindings")
# Library names, and what their version strings look like; None: too large to search.
LIBRARIES = {
    "libcuda.so": rb"NVIDIA UNIX [ -~]{0,80}|5[0-9][0-9]\.[0-9]{2,3}\.[0-9]{2}",
    "libcudart.so": rb"cudart[ -~]{0,60}",
    "libnccl.so": rb"NCCL version [ -~]{0,60}",
    "libtorch_cuda.so": None,
    "libtorch_cpu.so": None,
    "libtorch_python.so": None,
    "libc10_cuda.so": None,
}


def gpu_absent():
    """Why there is no GPU to use, or None if there is one. A process of its own asks the
    driver, which may hang."""
    if not os.path.exists("/dev/nvidiactl"):
        return "no GPU: /dev/nvidiactl does not exist"
    code = ("import ctypes as c; d = c.CDLL('libcuda.so.1'); n = c.c_int(); "
            "r = d.cuInit(0) or d.cuDeviceGetCount(c.byref(n)); "
            "raise SystemExit('no GPU: cuInit says %d' % r if r else "
            "'no GPU: the driver has no device' if not n.value else 0)")
    try:
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=40)
    except subprocess.TimeoutExpired:
        return "no GPU: the driver does not answer within 40 s"
    lines = done.stderr.strip().splitlines()
    return (lines[-1] if lines else "no GPU: cuInit failed") if done.returncode else None


def has(module):
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def facts():
    return {
        "uname": " ".join(platform.uname()),
        "kernel": read("/proc/version"),
        "gvisor": "gVisor" in (read("/proc/version") + output(["dmesg"], 5)[:20000]),
        "python": sys.version,
        "cpus": os.cpu_count(),
        "memory": read("/proc/meminfo").splitlines()[:3],
        "uid": os.getuid(),
        "limits": read("/proc/self/limits"),
        "cgroup": read("/proc/self/cgroup"),
        "ptrace_scope": read("/proc/sys/kernel/yama/ptrace_scope"),
        "driver": read("/proc/driver/nvidia/version"),
        "devices": sorted(glob.glob("/dev/nvidia*") + glob.glob("/dev/dri/*")
                          + glob.glob("/dev/infiniband/*")),
        "environment": {key: value for key, value in os.environ.items() if re.match(
            "CUDA|NVIDIA|NCCL|TORCH|LD_|XLA|JAX|TRITON", key)},
        "packages": packages(),
        "programs": {name: output(["sh", "-c", "command -v " + name], 5).strip()
                     for name in ("nvidia-smi", "nvcc", "cuda-gdb", "gdb", "strace", "cc")},
        "nvcc": output(["nvcc", "--version"], 10),
    }


def packages():
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except Exception:  # not installed, or its metadata is broken
            continue
    return found


def nvidia_smi():
    """Everything that it says (XML); it may hang with the driver."""
    return output(["nvidia-smi", "-q", "-x"], 15)


def output(command, seconds):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=seconds,
                              text=True, errors="replace").stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return "(%s)" % error


def read(path, limit=65536):
    try:
        with open(path, errors="replace") as file:
            return file.read(limit)
    except OSError:
        return ""


def libraries(paths):
    """For each of these files that is of NVIDIA or torch: its build-id, sections, the
    functions that it exports for waiting, and its version strings."""
    found = {}
    for path in sorted(set(paths)):
        name = os.path.basename(path)
        known = [one for one in LIBRARIES if name.startswith(one)]
        if not known:
            continue
        try:
            found[path] = library(path, LIBRARIES[known[0]])
        except (OSError, struct.error, ValueError, IndexError) as error:
            found[path] = {"error": str(error)}
    return found


@functools.lru_cache(None)
def library(path, version):
    size = os.path.getsize(path)
    about = {"bytes": size, "sections": {}}
    with open(path, "rb") as file:
        header = file.read(64)
        if header[:4] != b"\x7fELF":
            raise ValueError("not ELF")
        offset, = struct.unpack_from("<Q", header, 40)
        entry_size, count, names_at = struct.unpack_from("<HHH", header, 58)
        file.seek(offset)
        table = file.read(entry_size * count)
        entries = [struct.unpack_from("<IIQQQQIIQQ", table, entry_size * at)
                   for at in range(count)]

        def content(entry, limit=1 << 26):
            file.seek(entry[4])
            return file.read(min(entry[5], limit))

        names = content(entries[names_at])
        sections = {}
        for entry in entries:
            name = names[entry[0]:names.index(b"\0", entry[0])].decode()
            sections[name] = entry
            about["sections"][name] = entry[5]
        if ".note.gnu.build-id" in sections:
            about["build_id"] = content(sections[".note.gnu.build-id"])[16:].hex()
        if version and ".dynstr" in sections:
            strings = content(sections[".dynstr"])
            about["waits"] = sorted({one.decode() for one in re.findall(
                rb"\0((?:cu|nccl)[A-Za-z0-9_]*(?:Synchronize|Wait|InitRank|Launch|Alloc|Free)"
                rb"[A-Za-z0-9_]*)",
                strings)})[:200]
        if version and ".rodata" in sections:
            about["versions"] = sorted({one.decode(errors="replace") for one in re.findall(
                version, content(sections[".rodata"]))})[:20]
    return about


_libc = ctypes.CDLL(None)  # not after a fork


def die_with_parent():
    """For a child before its exec: SIGKILL when the thread that started it ends."""
    _libc.prctl(1, 9)  # PR_SET_PDEATHSIG
