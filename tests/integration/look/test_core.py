"""hangdbg core: a process that is no more, from the core file that it has left."""

import gzip
import json
import os
import re
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import processes
from harness import die_with_us, hangdbg, until

SCRIPT = """
import os, sys, threading
gate = threading.Lock()
gate.acquire()
class Baton:
    def __init__(self):
        self.path, self.tries = "/tmp/lock", 3
def work(n):
    values = {"n": n, "word": "\\u041f\\u0440\\u0438\\u0432\\u0435\\u0442"}
    gate.acquire()
def outer(baton):
    inner(baton, *range(2), flag=True)
def inner(baton, *rest, **more):
    os.write(1, b"ready\\n")
    gate.acquire()
for n in range(2):
    threading.Thread(target=work, args=(n,), name="worker-%d" % n, daemon=True).start()
outer(Baton())
"""


def start(python, folder):
    process = subprocess.Popen(
        [python, "-c", SCRIPT], stdout=subprocess.PIPE, cwd=folder, preexec_fn=die_with_us)
    assert process.stdout.readline() == b"ready\n"
    resource.prlimit(process.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    until("all sleep", lambda: [
        processes.thread_activity(process.pid, int(tid)).syscall
        for tid in os.listdir("/proc/%d/task" % process.pid)] == ["futex"] * 3)
    return process


def crash(process, number, folder):
    """Ends it by that signal; its core file."""
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern not in ("core", "core.%p"):
        process.kill()
        process.wait()
        pytest.skip("core files of this machine go to: " + pattern)
    os.kill(process.pid, number)
    assert process.wait(60) == -number
    (core,) = Path(folder).glob("core*")
    return core


def frames(dumped):
    """Of all threads, with their locals."""
    return {
        thread["tid"]: (thread["name"], [
            (f["function"], f["file"], f["line"], f["kind"], f.get("locals"))
            for f in thread["frames"]])
        for thread in dumped["threads"]
    }


@pytest.fixture
def crashed(newest_python, tmp_path):
    return crash(start(newest_python, tmp_path), signal.SIGABRT, tmp_path)


@pytest.mark.parametrize("flags", [("--locals",), ("--native",)], ids=["locals", "native"])
def test_shows_what_dump_did(flags, readable_python, tmp_path):
    process = start(readable_python, tmp_path)
    live = hangdbg("dump", process.pid, "--json", *flags)
    assert live.rc == 0, live
    core = crash(process, signal.SIGABRT, tmp_path)
    done = hangdbg("core", core, "--json", *flags)
    assert done.rc == 0 and done.err == "", done
    (before,), (after,) = live.json()["processes"], done.json()["processes"]
    assert frames(after) == frames(before)
    assert after["pid"] == process.pid and after["python"] == before["python"]
    assert after["gil"] == before["gil"]
    assert after["end"]["signal"] == "SIGABRT" and after["end"]["sender"] == os.getpid()
    for thread in after["threads"]:
        assert thread["exact"] and thread["syscall"]["name"] == "futex", thread


def test_peek(crashed):
    for expression, value in [("baton.path", "'/tmp/lock'"), ("rest[1] == 1", "True")]:
        done = hangdbg("peek", crashed, expression)
        assert done.rc == 0 and done.out == value + "\n", done
    done = hangdbg("peek", crashed, "values['word']", "--thread", "worker-1")
    assert done.out == "'\u041f\u0440\u0438\u0432\u0435\u0442'\n", done


def test_of_a_crash(newest_python, tmp_path):
    """The thread that crashed, the signal and the address."""
    process = subprocess.Popen(
        [newest_python, "-c", "import ctypes\ndef crash():\n  ctypes.string_at(8)\ncrash()"],
        cwd=tmp_path, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    process.wait()
    if pattern not in ("core", "core.%p"):
        pytest.skip("core files of this machine go to: " + pattern)
    (core,) = tmp_path.glob("core*")
    done = hangdbg("core", core, "--native")
    assert done.rc == 0, done
    assert "Ended by SIGSEGV in thread %d, address 0x8" % process.pid in done.out
    assert "was running" in done.out and "holds the GIL" in done.out
    assert done.out.index("libc") < done.out.index("string_at (ctypes") \
        < done.out.index("crash (<string>:3)") < done.out.index("<module> (<string>:4)")


def test_of_gcore(newest_python, tmp_path):
    if not shutil.which("gcore"):
        pytest.skip("gdb is not installed")
    process = start(newest_python, tmp_path)
    made = subprocess.run(
        ["gcore", "-o", str(tmp_path / "core"), str(process.pid)], capture_output=True, text=True)
    core = tmp_path / ("core.%d" % process.pid)
    assert core.exists(), made
    done = hangdbg("core", core, "--locals")
    process.kill()
    process.wait()
    assert done.rc == 0 and "Ended by" not in done.out, done
    assert "inner (<string>:" in done.out and "tries=3" in done.out


def test_packed(crashed, tmp_path):
    plain = hangdbg("core", crashed).out
    packed = tmp_path / "core.gz"
    packed.write_bytes(gzip.compress(crashed.read_bytes(), 1))
    assert hangdbg("core", packed).out == plain
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    subprocess.run(["zstd", "-q", str(crashed)], check=True)
    assert hangdbg("core", str(crashed) + ".zst").out == plain


def test_without_its_files(crashed, newest_python, tmp_path):
    """Python is there all the same, or it is said what is missing; a program that is
    elsewhere now can be named, and another one is not believed."""
    empty = tmp_path / "empty"
    empty.mkdir()
    done = hangdbg("core", crashed, "--sysroot", empty)
    assert "not found, or changed" in done.err and "--sysroot" in done.err, done
    assert done.rc in (0, 2), done
    sysroot = tmp_path / "root"
    paths = mapped_files(crashed)
    for path in paths:
        copy = sysroot / path[1:]
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    done = hangdbg("core", crashed, "--sysroot", sysroot)
    assert done.rc == 0 and done.err == "" and "inner (<string>" in done.out, done
    other = hangdbg("core", crashed, "/bin/true", "--sysroot", sysroot)
    assert "not found, or changed" in other.err, other
    program = next(path for path in paths if re.search(r"/python3\.\d+t?$", path))
    named = hangdbg("core", crashed, program, "--sysroot", sysroot)
    assert named.out == done.out and named.err == "", named


def mapped_files(core):
    """The paths in its note NT_FILE: those that are still there."""
    words = re.findall(rb"/[\x21-\x7e]+(?=\0)", core.read_bytes()[: 1 << 20])
    return sorted({word.decode() for word in words if os.path.isfile(word)})


def test_cut_off(crashed):
    size = crashed.stat().st_size
    whole = crashed.read_bytes()
    for part in (0.9, 0.5, 0.1, 0.01):
        crashed.write_bytes(whole[: int(size * part)])
        done = hangdbg("core", crashed)
        assert done.rc in (0, 2, 4) and "Traceback" not in done.err, done
        assert "is truncated" in done.err or done.rc, done


def test_garbled(crashed):
    """Bytes changed all over it: a clear end, in bounded time."""
    import random

    chance = random.Random(3)
    whole = bytearray(crashed.read_bytes())
    for attempt in range(20):
        bad = bytearray(whole)
        for _ in range(2000):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        for _ in range(20):
            bad[chance.randrange(8192)] = chance.randrange(256)
        crashed.write_bytes(bad)
        done = hangdbg("core", crashed, "--locals", "--native")
        assert done.rc in (0, 2, 4), (attempt, done)
        assert done.seconds < 20


@pytest.mark.parametrize(
    "make, rc, says",
    [
        (lambda folder: folder / "none", 2, "cannot open"),
        (lambda folder: folder, 2, "no regular file"),
        (lambda folder: "/bin/true", 2, "is a program or a library"),
        (lambda folder: "/etc/passwd", 2, "no ELF file"),
    ],
)
def test_bad_input(make, rc, says, tmp_path):
    done = hangdbg("core", make(tmp_path))
    assert done.rc == rc and says in done.err and done.out == "", done
    assert len(done.err.splitlines()) <= 2


def test_not_python(tmp_path):
    process = subprocess.Popen(["sleep", "60"], cwd=tmp_path)
    resource.prlimit(process.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    core = crash(process, signal.SIGABRT, tmp_path)
    done = hangdbg("core", core)
    assert done.rc == 2 and "no Python" in done.err, done
    assert json.loads(hangdbg("core", core, "--json").out)["processes"][0]["error"]
