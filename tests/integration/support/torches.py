"""Which interpreters can import torch: HANGDBG_TORCH_PYTHON (several, separated
by ":"), those that tests/interpreters.py knows, Debian's, and virtual
environments under .cache/."""

import functools
import glob
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))

import interpreters


@functools.lru_cache(None)
def found():
    """A list of (torch's version, path of the interpreter), each version once."""
    paths = [path for path in os.environ.get("HANGDBG_TORCH_PYTHON", "").split(":") if path]
    paths += sorted(glob.glob(str(ROOT / ".cache" / "*torch*" / "bin" / "python3")))
    paths += ["/usr/bin/python3"] + [it.path for it in interpreters.found()]
    versions = {}
    for path in paths:
        version = _version(path)
        if version and version not in versions:
            versions[version] = path
    return sorted(versions.items())


def torchrun(python, ranks):
    """The words that run so many ranks by torchrun. That of Debian's
    torch, 1.13, is broken on Python 3.11 unless it keeps what the ranks print."""
    broken = any(path == python and version.startswith("1.") for version, path in found())
    return [python, "-m", "torch.distributed.run", *(["-r", "1", "-t", "1"] if broken else []),
            "--nproc_per_node=%d" % ranks, "--master_addr=127.0.0.1"]


def keeps_timeouts(python):
    """Whether gloo's groups of that torch have the timeout of their beginning for ever
    (2.2 and before; agent/process_groups.py)."""
    version = next(version for version, path in found() if path == python)
    return [int(part) for part in version.split(".")[:2]] < [2, 3]


def _version(path):
    # find_spec and the metadata take milliseconds, an import of torch seconds.
    code = (
        "import importlib.util as u, os, sys\n"
        "spec = u.find_spec('torch')\n"
        "spec and spec.origin or sys.exit(1)\n"
        "names = {}\n"
        "exec(open(os.path.join(os.path.dirname(spec.origin), 'version.py')).read(), names)\n"
        "print(names['__version__'])\n"
    )
    try:
        done = subprocess.run(
            [path, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=30, cwd="/",
        )
    except OSError:
        return None
    return done.stdout.decode().strip() if done.returncode == 0 else None
