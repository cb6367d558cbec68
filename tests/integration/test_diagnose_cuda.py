"""hangdbg diagnose: a thread that waits for the GPU. The library is not NVIDIA's, which
wants a device: it has its name, and its functions theirs."""

import json
import subprocess
import sys

import pytest

from diagnosed import AFTER, diagnosed, named_first, not_hung
from harness import PROGRAM, TARGETS, Target, behind, until
from test_seccomp import ALLOW, EPERM


@pytest.fixture(scope="session")
def libcudart(tmp_path_factory):
    path = tmp_path_factory.mktemp("cuda") / "libcudart.so.12"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", path, TARGETS / "causes_cuda.c"],
                   check=True)
    return path


# It sleeps, or looks again and again, as cudaDeviceScheduleSpin has it.
@pytest.mark.parametrize("function", [
    "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaLaunchKernel", "cudaHostAlloc"])
def test_waits_for_the_gpu(function, some_python, libcudart):
    target = Target([some_python, TARGETS / "causes_cuda.py", libcudart, function])
    said = named_first("%s of a library of that name" % function, target.pid,
                       "cuda-synchronize", "likely",
                       r"waits for the GPU, in %s \(libcudart\.so\.12\)" % function)
    assert said["next"][0]["command"] == "nvidia-smi", said


@pytest.mark.parametrize("function", ["cudaDeviceSynchronize", "cudaStreamSynchronize"])
def test_and_keeps_the_gil(function, some_python, libcudart):
    target = Target([some_python, TARGETS / "causes_cuda.py", "--keep-gil", libcudart, function])
    named_first("%s, with the GIL" % function, target.pid, "cuda-synchronize", "likely",
                r"waits for the GPU, in %s .*, and keeps the GIL: " % function)


# Asleep and running; where it cannot be counted whether it comes back, by what has changed.
@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("function", ["cudaMemcpy", "cudaEventSynchronize"])
def test_who_comes_back_from_it_is_well(function, counts, some_python, libcudart):
    target = Target([some_python, TARGETS / "causes_cuda.py", libcudart, function])
    filtered = behind(sys.executable, TARGETS / "seccomp_filter.py", json.dumps(
        {"default": ALLOW, "rules": {"perf_event_open": EPERM}}), PROGRAM)

    def ask(pid):
        if counts:
            return diagnosed(pid)
        done = filtered("diagnose", pid, "--json", "--hung-after", AFTER)
        assert done.rc == 0, done
        return done.json()
    not_hung("%s that comes back" % function, target.pid, ask=ask)

    def seen_in_it():
        said = ask(target.pid)
        assert not said["hung"], said
        return said["cause"] == "cuda-synchronize" and said
    said = until("it is seen in the call", seen_in_it)
    assert said["sentence"].endswith("and goes on"), said
    assert said["evidence"][0].startswith(
        "whether it comes back was not counted: " if not counts else "it came back") or (
            counts and "not counted" in said["evidence"][0]), said


# Threads of these names, as torch and NCCL have them. Of two process groups each has its
# watchdog, and a monitor of that.
@pytest.mark.parametrize("threads, what", [
    (["pt_nccl_heartbt", "pt_nccl_watchdg", "pt_nccl_heartbt"], r"watchdog of NCCL"),
    (["NCCL Progress 0"], r"NCCL's proxy service"),
], ids=["watchdog", "proxy"])
def test_a_thread_of_nccl_has_ended(threads, what, some_python, libcudart):
    target = Target([some_python, TARGETS / "causes_cuda.py", libcudart,
                     "cudaDeviceSynchronize", *threads])
    named_first("cudaDeviceSynchronize, and no %s" % what, target.pid, "nccl-thread-gone",
                "likely", r"waits for the GPU.*a thread of .*%s has ended" % what)


def test_none_of_the_threads_of_nccl_has_ended(some_python, libcudart):
    target = Target([some_python, TARGETS / "causes_cuda.py", libcudart,
                     "cudaDeviceSynchronize", "pt_nccl_heartbt", "pt_nccl_watchdg",
                     "NCCL Service  0", "NCCL Progress 0"])
    named_first("cudaDeviceSynchronize, with NCCL's threads", target.pid, "cuda-synchronize",
                "likely", r"waits for the GPU")
