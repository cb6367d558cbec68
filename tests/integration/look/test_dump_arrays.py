"""What numpy's arrays and torch's tensors are, read from memory: beside what they say
of themselves."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

import torches
from harness import hangdbg

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import interpreters

HANG = """
def hang(values, expected):
    locals_ = dict(values)
    names = sorted(locals_)
    scope = {"print": print, "time": __import__("time"), "said": __import__("json").dumps(expected)}
    exec("def frame(%s):\\n    print(said, flush=True); time.sleep(1000)" % ", ".join(names), scope)
    scope["frame"](**locals_)
"""

NUMPY = HANG + """
import numpy as np
plain = {
    "f4": np.arange(6, dtype="f4").reshape(2, 3) / np.float32(10),
    "i1": np.array([-1, 127], dtype="i1"), "flags": np.array([True, False]),
    "u8": np.array([2**64 - 1], dtype="u8"), "scalar": np.array(3.5),
}
other = {
    "big": np.zeros((100, 50)), "text": np.array(["a"]), "objects": np.array([None, 1]),
    "swapped": np.arange(3, dtype=">i4"), "strided": np.arange(10)[::2],
    "empty": np.zeros((0, 3)), "half": np.zeros(2, dtype="f2"), "deep": np.zeros((1,) * 20),
    "complex": np.zeros(2, dtype="c16"),
}
def text(a, values):
    dtype = a.dtype.name if a.dtype.kind not in "US" else {"U": "str", "S": "bytes"}[a.dtype.kind]
    shown = " values=[%s]" % ", ".join(
        str(float(str(v))) if a.dtype.kind == "f" else str(v) for v in a.ravel()
    ) if values and a.size else ""
    return "<ndarray shape=%s dtype=%s%s>" % (a.shape, dtype, shown)
expected = {name: text(a, True) for name, a in plain.items()}
expected.update((name, text(a, name == "deep")) for name, a in other.items())
numbers = {"n_f8": np.float64(1.5), "n_i4": np.int32(-7), "n_bool": np.bool_(True)}
expected.update(n_f8="np.float64(1.5)", n_i4="np.int32(-7)")
expected["n_bool"] = "np.%s(True)" % type(numbers["n_bool"]).__name__
hang({**plain, **other, **numbers}, expected)
"""

TORCH = HANG + """
import torch
class Mine(torch.Tensor): pass
tensors = {
    "cube": torch.zeros(5, 7, 3, dtype=torch.float64), "scalar": torch.tensor(3.5),
    "six": torch.zeros(1, 2, 3, 4, 5, 6), "none": torch.zeros(0, 3),
    "parameter": torch.nn.Parameter(torch.zeros(2)), "meta": torch.zeros(3, device="meta"),
    "view": torch.zeros(4)[1:], "strided": torch.zeros(4, 6).t()[::2], "sparse": torch.ones(3).to_sparse(),
    "bfloat": torch.zeros(2, dtype=torch.bfloat16), "bools": torch.zeros(2, dtype=torch.bool),
    "grown": torch.nn.Parameter(torch.zeros(2)) * 2, "mine": torch.zeros(2).as_subclass(Mine),
    "eight": torch.zeros(1, 1, 1, 1, 1, 1, 1, 9, dtype=torch.int16),
}
hang(tensors, {name: "<%s shape=%s dtype=%s device=%s>" % (
    type(t).__name__, tuple(t.shape), t.dtype, t.device) for name, t in tensors.items()})
"""


@functools.lru_cache(None)
def with_numpy():
    paths = [path for _, path in torches.found()] + ["/usr/bin/python3"]
    paths += [it.path for it in interpreters.found()]
    return sorted({path for path in paths if imports_numpy(path)})


def imports_numpy(path):
    code = "import importlib.util as u, sys; sys.exit(not u.find_spec('numpy'))"
    try:
        return subprocess.run([path, "-c", code], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def check(path, script, peeks):
    child = subprocess.Popen([path, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        expected = json.loads(child.stdout.readline())
        done = hangdbg("dump", "--locals", child.pid, "--json")
        assert done.rc == 0, done
        (process,) = done.json()["processes"]
        main = process["threads"][0]
        found = {name: value["repr"] for name, value in main["frames"][0]["locals"].items()}
        assert found == expected
        for expression, text in peeks.items():
            assert hangdbg("peek", child.pid, expression).out == text + "\n", expression
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("path", with_numpy() or [
    pytest.param(None, marks=pytest.mark.skip("no interpreter here can import numpy"))])
def test_arrays(path):
    check(path, NUMPY, {
        "f4.shape": "(2, 3)", "f4.dtype": "dtype('float32')", "big.ndim": "2",
        "len(big)": "100", "f4.__class__": "<class 'numpy.ndarray'>"})


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", [
    pytest.param(path, id="torch-" + version) for version, path in torches.found()
] or [pytest.param(None, marks=pytest.mark.skip("no interpreter here can import torch"))])
def test_tensors(path):
    check(path, TORCH, {
        "cube.shape": "(5, 7, 3)", "cube.dtype": "torch.float64", "meta.device": "meta",
        "cube.ndim": "3", "len(cube)": "5", "cube.__class__": "<class 'torch.Tensor'>"})
