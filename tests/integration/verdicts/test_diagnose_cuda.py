"""hangdbg diagnose: a thread that waits for the GPU. The library is not NVIDIA's, which
wants a device: it has its name, and its functions theirs."""

import json
import re
import subprocess
import sys

import pytest

from diagnosed import AFTER, diagnosed, named_first, not_hung
from harness import PROGRAM, Target, behind, hangdbg, in_targets, until
from test_seccomp import ALLOW, EPERM
from versions import by_case


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Makes it under that name, once."""
    folder = tmp_path_factory.mktemp("cuda")

    def make(name):
        path = folder / name
        if not path.exists():
            subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", path,
                            in_targets("causes_cuda.c")], check=True)
        return path
    return make


@pytest.fixture(scope="session")
def libcudart(library):
    return library("libcudart.so.12")


@pytest.fixture(scope="session")
def libtorch(tmp_path_factory):
    path = tmp_path_factory.mktemp("torch") / "libtorch_cpu.so"
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", path,
                    in_targets("causes_autograd.cpp"), "-ldl", "-pthread"], check=True)
    return path


# It looks again and again, as with cudaDeviceScheduleSpin, or sleeps.
@by_case(["cudaStreamSynchronize", "cudaDeviceSynchronize"], on_edges={"cudaStreamSynchronize"})
def test_waits_for_the_gpu(case, python, libcudart):
    target = Target([python, in_targets("causes_cuda.py"), libcudart, case])
    said = named_first("%s of a library of that name" % case, target.pid,
                       "cuda-synchronize", "likely",
                       r"waits for the GPU, in %s \(libcudart\.so\.12\)" % case)
    assert said["next"][0]["command"] == "nvidia-smi", said


def test_where_it_cannot_be_counted_that_is_less_sure(newest_python, libcudart):
    target = Target(
        [newest_python, in_targets("causes_cuda.py"), libcudart, "cudaStreamSynchronize"])
    said = named_first("cudaStreamSynchronize, without counters", target.pid, "cuda-synchronize",
                       "possible", r"waits for the GPU", ask=without_counters)
    assert "no look has seen a change" in said["evidence"][0], said


def test_a_backward_pass_without_counters(newest_python, libcudart, libtorch):
    """The thread that makes it has no Python, and launches again and again."""
    target = Target([newest_python, in_targets("causes_cuda.py"), libtorch, "backward_goes_on"],
                    env={"LD_PRELOAD": str(libcudart)})
    not_hung("launches again and again", target.pid, ask=without_counters)
    said = until("it is seen in a launch", lambda: in_backward(without_counters(target.pid)))
    assert not said["stalled"], said


def in_backward(said):
    assert not said["stalled"], said
    return [link["cause"] for link in said["chain"]] == ["backward", "cuda-synchronize"] and said


def without_counters(pid):
    filtered = behind(sys.executable, in_targets("seccomp_filter.py"), json.dumps(
        {"default": ALLOW, "rules": {"perf_event_open": EPERM}}), PROGRAM)
    done = filtered("diagnose", pid, "--json", "--hung-after", AFTER)
    assert done.rc == 0, done
    return done.json()


def test_and_keeps_the_gil(newest_python, libcudart):
    target = Target([newest_python, in_targets("causes_cuda.py"), "--keep-gil", libcudart,
                     "cudaStreamSynchronize"])
    named_first("cudaStreamSynchronize, with the GIL", target.pid, "cuda-synchronize", "likely",
                r"waits for the GPU, in cudaStreamSynchronize .*, and keeps the GIL: ")


# Asleep and running; where it cannot be counted whether it comes back, by what has changed.
@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("function", ["cudaMemcpy", "cudaEventSynchronize"])
def test_who_comes_back_from_it_is_well(function, counts, newest_python, libcudart):
    target = Target([newest_python, in_targets("causes_cuda.py"), libcudart, function])
    ask = diagnosed if counts else without_counters
    not_hung("%s that comes back" % function, target.pid, ask=ask)

    def seen_in_it():
        said = ask(target.pid)
        assert not said["stalled"], said
        return said["cause"] == "cuda-synchronize" and said
    said = until("it is seen in the call", seen_in_it)
    assert said["summary"].endswith("and goes on"), said
    assert said["evidence"][0].startswith(
        "whether it comes back was not counted: " if not counts else "it came back") or (
            counts and "not counted" in said["evidence"][0]), said


def test_the_kernel_is_at_work_for_an_allocation(newest_python, libcudart):
    target = Target([newest_python, in_targets("causes_cuda.py"), libcudart, "cudaHostRegister"])
    not_hung("cudaHostRegister, which pins", target.pid)
    until("it is seen in the call", lambda: diagnosed(target.pid)["summary"].endswith(
        "and the kernel is at work for it"))


def test_it_is_watched_for_as_long_as_is_asked_for(newest_python, libcudart):
    """A call that takes two seconds hangs for who waits less, and for nobody else."""
    target = Target([newest_python, in_targets("causes_cuda.py"), libcudart, "cudaFree"])
    seen = until("it is seen in the call",
                 lambda: told_of_call(diagnosed(target.pid, after="9")))
    assert not seen["stalled"] and seen["summary"].endswith("and goes on"), seen
    said = until("it is seen for a second", lambda: told_if_hung(diagnosed(target.pid)))
    assert said["cause"] == "cuda-synchronize", said
    link = said["chain"][0]
    assert re.search(r"in cudaFree for at least \d\.\d s$", link["doing"]), said
    assert link["watched_s"] >= 1, said


def test_who_has_more_patience_than_ten_seconds(newest_python, libcudart):
    """A thread that polls is not watched for longer, and hangs then."""
    target = Target(
        [newest_python, in_targets("causes_cuda.py"), libcudart, "cudaStreamSynchronize"])
    target.wait_hung()
    said = diagnosed(target.pid, after="60")
    assert said["stalled"] and said["chain"][0]["watched_s"] >= 10, said


def test_a_watch_that_is_cut_short(newest_python, libcudart):
    target = Target(
        [newest_python, in_targets("causes_cuda.py"), libcudart, "cudaStreamSynchronize"])
    target.wait_hung()
    done = hangdbg("diagnose", target.pid, "--timeout", "3")
    assert done.rc == 0 and re.search(r" is blocked \(at least \S+ m?s\): ", done.out), done
    said = diagnosed(target.pid, "--timeout", "3", after="10")
    assert not said["stalled"] and 0 < said["chain"][0]["watched_s"] < 10, said


def told_of_call(said):
    return said["cause"] == "cuda-synchronize" and said


def told_if_hung(said):
    return said["stalled"] and said


def test_a_backward_pass_waits_for_the_gpu(newest_python, libcudart, libtorch):
    """A thread of torch's for each device makes it, and has no Python."""
    target = Target([newest_python, in_targets("causes_cuda.py"), libtorch, "backward"],
                    env={"LD_PRELOAD": str(libcudart)})
    said = named_first("a backward pass that waits in cudaLaunchKernel", target.pid,
                       "cuda-synchronize", "likely", r"waits for the GPU, in cudaLaunchKernel")
    first, last = said["chain"]
    assert (first["cause"], first["tid"]) == ("backward", target.pid), said
    assert re.match(r'thread \d+ "pt_autograd_0"$', last["who"]), said
    assert "called by C code of " + last["who"] in said["evidence"], said


def test_a_call_of_nccl_that_makes_a_communicator(newest_python, library):
    target = Target([newest_python, in_targets("causes_cuda.py"), library("libnccl.so.2"),
                     "ncclCommInitRank"])
    named_first("ncclCommInitRank of a library of that name", target.pid, "nccl-init", "likely",
                r"waits in ncclCommInitRank \(libnccl\.so\.2\) for the other ranks to come")


# Threads of these names, as torch has them: of each process group its watchdog, and a
# monitor of that.
def test_a_thread_of_nccl_has_ended(newest_python, libcudart):
    target = Target([newest_python, in_targets("causes_cuda.py"), libcudart,
                     "cudaDeviceSynchronize", "pt_nccl_heartbt", "pt_nccl_watchdg",
                     "pt_nccl_heartbt"])
    named_first("cudaDeviceSynchronize, and no watchdog of NCCL", target.pid, "nccl-thread-gone",
                "likely", r"waits for the GPU.*a thread of .*watchdog of NCCL has ended")
