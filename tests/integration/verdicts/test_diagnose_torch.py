"""hangdbg diagnose: the real torch's DataLoader, its OpenMP after a fork, and the library
filelock, which torch brings along; each made for real and named first."""

import os
import subprocess

import pytest

import torches
from diagnosed import diagnosed, named_first, well_by
from harness import Target, in_targets, until
from test_namespaces import needs_root

TORCH = [pytest.param(path, id="torch-" + version) for version, path in torches.found()]


@pytest.fixture(params=TORCH[-1:] or [
    pytest.param(None, marks=pytest.mark.skip("no interpreter has torch"))])
def torch_python(request):
    return request.param


def begin(case, python, folder, before=()):
    return Target([*before, python, in_targets("causes_torch.py"), case, folder],
                  ready_seconds=60)


# case: its cause, how sure, what is in the sentence, and the causes on the way there
HANGS = {
    "stuck_worker": ("writer-gone", None, "a pipe", ["data-loader", "writer-gone"]),
    "stopped_worker": ("stopped", "certain", "SIGSTOP", ["data-loader", "stopped"]),
    "dead_worker": ("data-loader-worker-dead", "likely",
                    "of 2 workers 2 have ended, which it does not know",
                    ["data-loader-worker-dead"]),
    "lost_batch": ("batch-lost", "likely", "lost when a worker handed it over$", ["batch-lost"]),
    "fork_openmp": ("openmp-fork", "certain", "threads that stayed behind", ["child", "openmp-fork"]),
}


@pytest.mark.parametrize("case", sorted(HANGS))
def test_torch(case, torch_python, tmp_path):
    cause, sure, sentence, way = HANGS[case]
    target = begin(case, torch_python, tmp_path)
    said = named_first("torch: " + case, target.pid, cause, sure, sentence)
    assert [link["cause"] for link in said["chain"]] == way, said


def test_the_thread_that_pins_memory(torch_python, tmp_path):
    """It is named where it hangs, a worker where that does; while it works, nobody hangs."""
    target = begin("pin_waits", torch_python, tmp_path)
    said = named_first("torch: pin_memory() waits", target.pid, "pipe-read", "possible",
                       "a pipe")
    assert [link["cause"] for link in said["chain"]] == ["data-loader", "pipe-read"], said
    assert "_pin_memory_loop" in said["chain"][1]["who"], said
    target = begin("pin_worker", torch_python, tmp_path)
    said = named_first("torch: a worker, with pin_memory", target.pid, "writer-gone", None, "pipe")
    assert said["chain"][-1]["pid"] in target.ready["workers"], said
    target = begin("pin_works", torch_python, tmp_path)
    well_by("torch: pin_memory() works", target.pid, "runs")


@needs_root
def test_shared_memory_is_full(torch_python, tmp_path):
    """In a mount namespace that has a /dev/shm of 256 KiB."""
    small = ("unshare", "-m", "sh", "-c",
             'mount -t tmpfs -o size=256k tmpfs /dev/shm && exec "$@"', "sh")
    if subprocess.run([*small, "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no tmpfs can be mounted here")
    target = begin("shm_full", torch_python, tmp_path, small)
    said = named_first("torch: /dev/shm is full", target.pid, "shm-full", "likely",
                       "lost when a worker handed it over, as /dev/shm is full")
    assert any("0 of 256 KiB" in one for one in said["evidence"]), said


def test_the_library_filelock(torch_python, tmp_path):
    if subprocess.run([torch_python, "-c", "import filelock"],
                      stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no filelock beside torch")
    target = begin("locked_file", torch_python, tmp_path)
    until("file-lock", lambda: "file-lock" in diagnosed(target.pid)["chain"][0]["cause"])
    said = named_first("filelock", target.pid, "file-lock", "certain",
                       r"lock on %s/lock, held by process %d " % (tmp_path, target.ready["holder"]))
    assert os.path.exists("/proc/%d" % target.ready["holder"]), said
