"""hangdbg around: what is around a process, and what of that is unusual."""

import os
import shutil
import signal
import subprocess

import pytest

from cgroups import cgroup
from harness import Target, as_nobody, behind, die_with_us, hangdbg, start, track, until
from test_namespaces import needs_root

GOMP = "/usr/lib/x86_64-linux-gnu/libgomp.so.1"


def around(pid, *args):
    done = hangdbg("around", pid, "--json", *args)
    assert done.rc == 0 and done.err == "", done
    said = done.json()
    assert said["pid"] == pid and said["skipped"] == [], said
    return said


def of_process(said):
    """What is unusual, without what is so of the machine that runs the tests."""
    return [line for line in said["unusual"] if not line.startswith("machine:")]


def running(python, code, *args, env=None, **options):
    """A process that runs `code`, once it has printed a line; that line's words."""
    process = subprocess.Popen([python, "-c", code, *map(str, args)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=dict(os.environ, **(env or {})), start_new_session=True,
                               **{"preexec_fn": die_with_us, **options})
    track(process)
    process.said = process.stdout.readline().split()
    assert process.said, "it ended"
    return process


WAITS = "; print('ready', flush=True); input()"


def test_who_is_well(some_python):
    target = start("sleep", some_python)
    said = around(target.pid)
    assert of_process(said) == [], said
    assert said["threads"] >= 1 and said["limits"]["open_files"]["used"] == len(
        os.listdir("/proc/%d/fd" % target.pid))
    assert said["machine"]["allowed_cpus"] == len(os.sched_getaffinity(target.pid))
    assert said["command_line"][1].endswith("sleep.py"), said
    target.finish()


def test_nothing_changes_in_it(some_python):
    target = start("sleep", some_python)
    before = target.snapshot()
    assert hangdbg("around", target.pid).rc == 0
    target.assert_as_before(before, arenas=0)
    target.finish()


def test_variables_and_secrets(some_python):
    """Live ones, as far as they matter; no secret comes out."""
    code = ("import os; os.environ['OMP_NUM_THREADS'] = '3'; "
            "os.environ['NCCL_SECRET_X'] = 'hush1'" + WAITS)
    target = running(some_python, code, "--password=hush2", "--api-key", "hush3", env={
        "CUDA_LAUNCH_BLOCKING": "1", "HF_TOKEN": "hush4",
        "TORCH_URL": "https://ada:hush5@host/x", "OTHER": "x"})
    said = around(target.pid)
    variables = said["environment"]
    assert variables["OMP_NUM_THREADS"] == "3" and variables["NCCL_SECRET_X"] == "***", variables
    assert variables["TORCH_URL"] == "https://ada:***@host/x", variables
    assert "OTHER" not in variables and "HF_TOKEN" not in variables, variables
    assert said["command_line"][-3:] == ["--password=***", "--api-key", "***"], said
    assert any("CUDA_LAUNCH_BLOCKING" in line for line in said["unusual"]), said
    text = hangdbg("around", target.pid)
    assert "hush" not in text.out + str(said) and "  OMP_NUM_THREADS=3\n" in text.out, text


@pytest.mark.skipif(not os.path.exists(GOMP), reason="no libgomp here")
def test_libraries_two_openmps_and_one_deleted(some_python, tmp_path):
    other = tmp_path / "libiomp5.so"  # by its name: here is no real one
    shutil.copy(GOMP, other)
    code = ("import ctypes, os, sys; [ctypes.CDLL(one) for one in sys.argv[1:]]; "
            "print(os.confstr('CS_GNU_LIBC_VERSION'), flush=True); input()")
    target = running(some_python, code, GOMP, other)
    said = around(target.pid)
    names = {one["path"]: one["name"] for one in said["libraries"]}
    assert names[str(other)] == "Intel OpenMP", said
    assert names[os.path.realpath(GOMP)] == "GNU OpenMP", said
    libc = next(one for one in said["libraries"] if one["family"] == "libc")
    assert libc["version"] == target.said[1], libc
    assert [line for line in of_process(said) if "2 of OpenMP are loaded" in line], said
    other.unlink()
    said = around(target.pid)
    assert [one["deleted"] for one in said["libraries"] if one["path"] == str(other)] == [True]
    assert [line for line in of_process(said) if "was deleted or replaced" in line], said


def test_the_version_of_a_wheel(newest_python, tmp_path):
    """By the package's folder beside it, as pip makes it."""
    site = tmp_path / "site-packages"
    folder = site / "nvidia" / "nccl" / "lib"
    folder.mkdir(parents=True)
    (site / "nvidia_nccl_cu12-2.21.5.dist-info").mkdir()
    shutil.copy(GOMP, folder / "libnccl.so.2")
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1])" + WAITS
    target = running(newest_python, code, folder / "libnccl.so.2")
    found = [one for one in around(target.pid)["libraries"] if one["family"] == "NCCL"]
    assert [one["version"] for one in found] == ["2.21.5"], found


def test_descriptors_used_up(newest_python):
    code = ("import os, resource; resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))\n"
            "try:\n  while True: os.dup(1)\nexcept OSError: pass\n"
            "print('ready', flush=True); input()")
    said = around(running(newest_python, code).pid)
    assert said["limits"]["open_files"] == {"used": 20, "limit": 20}, said
    assert of_process(said) == ["limits: 20 of 20 descriptors are open"], said


def test_a_signal_that_came_and_is_blocked(newest_python):
    code = ("import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])" + WAITS)
    target = running(newest_python, code)
    target.send_signal(signal.SIGTERM)
    said = around(target.pid)
    assert said["signals"]["pending"] == ["SIGTERM"], said
    assert of_process(said) == ["signals: SIGTERM came, and is blocked"], said


@pytest.mark.skipif(os.cpu_count() < 2, reason="needs two CPUs")
def test_many_threads_on_one_cpu(newest_python):
    code = ("import os, threading; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); "
            "[threading.Thread(target=threading.Event().wait, daemon=True).start() "
            "for _ in range(10)]" + WAITS)
    said = around(running(newest_python, code).pid)
    assert of_process(said) == ["its 11 threads may use 1 of %d CPUs" % os.cpu_count()], said


@needs_root
def test_a_full_file_system(newest_python, tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("needs a mount namespace")
    code = ("import os, subprocess, sys; where = sys.argv[1]\n"
            "subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', where], check=True)\n"
            "file = open(where + '/log', 'wb', 0)\n"
            "try:\n  while True: file.write(bytes(4096))\nexcept OSError: pass\n"
            "print(os.getpid(), flush=True); input()")
    process = subprocess.Popen(["unshare", "-m", newest_python, "-c", code, str(folder)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               start_new_session=True, preexec_fn=die_with_us)
    track(process)
    said = around(int(process.stdout.readline()))
    assert [line for line in of_process(said)
            if line.startswith("%s is full: 0 bytes of 64 KiB left; it writes there (fd " % folder)
            and line.endswith("/log)")], said


def test_a_file_as_long_as_it_may_be(newest_python, tmp_path):
    code = ("import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            "file = open(sys.argv[1], 'wb', 0); file.write(bytes(4096))" + WAITS)
    said = around(running(newest_python, code, tmp_path / "log").pid)
    assert of_process(said) == [
        "limits: %s/log is as long as a file of it may be" % tmp_path], said


@needs_root
@pytest.mark.parametrize("version", ["freezer", "unified"])
def test_a_frozen_cgroup(version, newest_python):
    target = start("sleep", newest_python)
    with cgroup(version) as group:
        group.take(target.pid)
        group.freeze()
        said = around(target.pid)
        assert any(line.startswith("cgroup: frozen (") for line in said["unusual"]), said
        assert said["cgroup"]["frozen"] == "/" + group.folder.name, said
    target.finish()


@needs_root
def test_cpus_that_are_throttled(newest_python):
    with cgroup("cpu") as group:
        group.write("cpu.cfs_quota_us", 5000)
        target = start("busy", newest_python)
        group.take(target.pid)
        until("throttled", lambda: group.entry("cpu.stat", "nr_throttled") > 2)
        # In a moment in which it gets no CPU at all it is not throttled either.
        said = until("throttled now", lambda: next(
            (one for one in [around(target.pid)] if one["cgroup"]["cpu"]["throttled_now"] > 0.5),
            None))
        cpu = said["cgroup"]["cpu"]
        assert cpu["cpus"] == 0.05 and cpu["throttled_periods"] > 2, cpu
        assert any("CPU throttled in " in line and "0.05 CPUs" in line
                   for line in said["unusual"]), said


@needs_root
def test_limits_of_cgroups(newest_python):
    target = start("sleep", newest_python)
    with cgroup("memory") as memory, cgroup("pids") as pids:
        memory.write("memory.limit_in_bytes", 256 << 20)
        memory.take(target.pid)
        pids.write("pids.max", 1)
        pids.take(target.pid)
        said = around(target.pid)
        assert said["cgroup"]["memory"]["max"] == 256 << 20, said
        assert said["cgroup"]["memory"]["folder"] == str(memory.folder), said
        assert said["cgroup"]["pids"] == {
            "folder": str(pids.folder), "current": 1, "max": 1, "refused": 0}, said
        assert any("1 of 1 threads and processes" in line for line in said["unusual"]), said
    target.finish()


def test_a_version_that_is_known_to_hang(newest_python, tmp_path):
    site = tmp_path / "site-packages"
    folder = site / "nvidia" / "nccl" / "lib"
    folder.mkdir(parents=True)
    (site / "nvidia_nccl_cu11-2.14.3.dist-info").mkdir()
    shutil.copy(GOMP, folder / "libnccl.so.2")
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1])" + WAITS
    for blocking, known in (("0", False), ("1", True)):
        target = running(newest_python, code, folder / "libnccl.so.2",
                         env={"CUDA_LAUNCH_BLOCKING": blocking})
        said = [line for line in of_process(around(target.pid)) if "NVIDIA/nccl#750" in line]
        assert bool(said) == known, said


def test_an_interface_that_is_not_there(newest_python):
    target = running(newest_python, "0" + WAITS, env={
        "NCCL_SOCKET_IFNAME": "=ib7", "GLOO_SOCKET_IFNAME": "lo"})
    said = around(target.pid)
    assert of_process(said) == ["NCCL_SOCKET_IFNAME==ib7: there is no such interface"], said
    assert "lo" in [one["name"] for one in said["interfaces"]], said


SMI = """#!/bin/sh
case "$1" in
--query-gpu=*) echo "0, GPU-a, NVIDIA Test, 97, 4321, 81920"; echo "1, GPU-b, NVIDIA Test, [N/A], 1, 81920";;
--query-compute-apps=*) echo "%d, GPU-a, 4096"; echo "1, GPU-b, 5";;
esac
"""


def test_gpus_by_nvidia_smi(newest_python, tmp_path, monkeypatch):
    """A stand-in that prints what the real one does: here is no GPU."""
    target = running(newest_python, "0" + WAITS)
    smi = tmp_path / "nvidia-smi"
    smi.write_text(SMI % target.pid)
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", "%s:%s" % (tmp_path, os.environ["PATH"]))
    gpus = around(target.pid)["gpus"]
    assert [(one["busy_percent"], one["used_mib"], one["process_mib"]) for one in gpus] == [
        (97, 4321, 4096), (None, 1, None)], gpus
    text = hangdbg("around", target.pid)
    assert "97 % busy · 4321 of 81920 MiB used, 4096 of it by this process" in text.out, text


def test_an_nvidia_smi_that_hangs(newest_python, tmp_path, monkeypatch):
    target = running(newest_python, "0" + WAITS)
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\nexec sleep 1000\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", "%s:%s" % (tmp_path, os.environ["PATH"]))
    done = hangdbg("around", target.pid, "--timeout", "8")
    assert "nvidia-smi does not answer: the driver hangs" in done.out and done.seconds < 8, done
    assert "\nenvironment\n" in done.out, done


def test_a_name_with_escapes(newest_python):
    target = running(newest_python, "0" + WAITS, env={"NCCL_X": "red \x1b[31m\n"})
    done = hangdbg("around", target.pid)
    assert "\x1b" not in done.out and "  NCCL_X=red \\x1b[31m\\n\n" in done.out, done
    assert around(target.pid)["environment"]["NCCL_X"] == "red \x1b[31m\n"


@needs_root
def test_who_may_not_look(newest_python, public):
    """What everybody may see, and what was not seen."""
    target = start("sleep", newest_python)
    done = behind(*as_nobody(public + "/hangdbg"))("around", target.pid)
    assert done.rc == 0 and "\nmachine\n" in done.out, done
    assert "not seen: its environment: " in done.out, done
    target.finish()


def test_of_what_is_no_process():
    hangdbg("around", 2 ** 22 - 1).assert_refused(2, "no process", "hangdbg ps")
    hangdbg("around", "one").assert_refused(2, "is not a PID", "hangdbg ps")
