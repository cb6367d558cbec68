"""hangdbg diagnose: a thread that waits for the GPU. The library is not NVIDIA's, which
wants a device: it has its name, and its functions theirs."""

import subprocess

import pytest

from diagnosed import named_first
from harness import TARGETS, Target


@pytest.fixture(scope="session")
def libcudart(tmp_path_factory):
    path = tmp_path_factory.mktemp("cuda") / "libcudart.so.12"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", path, TARGETS / "causes_cuda.c"],
                   check=True)
    return path


# It sleeps, or looks again and again, as cudaDeviceScheduleSpin has it.
@pytest.mark.parametrize("function", ["cudaDeviceSynchronize", "cudaStreamSynchronize"])
def test_waits_for_the_gpu(function, some_python, libcudart):
    target = Target([some_python, TARGETS / "causes_cuda.py", libcudart, function])
    said = named_first("%s of a library of that name" % function, target.pid,
                       "cuda-synchronize", "likely",
                       r"waits for the GPU, in %s \(libcudart\.so\.12\)" % function)
    assert said["next"][0]["command"] == "nvidia-smi", said
