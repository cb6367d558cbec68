"""hangdbg dump --native: C and C++ functions among Python's, by their names, from
outside, on files that may be stripped or gone."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

import interpreters
import processes
from harness import hangdbg, in_targets, start, until

WAIT = "wait_for_line"


@pytest.fixture(scope="session")
def called_back(tmp_path_factory):
    """The library of tests/targets/native/called_back.cpp."""
    path = tmp_path_factory.mktemp("called_back") / "called_back.so"
    compile_library(path, "-g")
    return path


def compile_library(path, *flags):
    source = in_targets("called_back.cpp")
    subprocess.run(
        ["gcc", *flags, "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC",
         "-Wl,--build-id", "-o", path, source],
        check=True,
    )


def threads_of(pid, *flags):
    done = hangdbg("dump", pid, "--json", *flags)
    assert done.rc == 0 and done.err == "", done
    (process,) = done.json()["processes"]
    return process["threads"]


def main_thread(target, *flags):
    (thread,) = [t for t in threads_of(target.pid, *flags) if t["tid"] == target.tid]
    return thread


def python_frames(thread):
    return [frame for frame in thread["frames"] if frame["kind"] == "python"]


def between(thread, inner, outer):
    """The native functions that `outer` has called and that called `inner`."""
    names = [f["function"] if f["kind"] == "python" else "" for f in thread["frames"]]
    return thread["frames"][names.index(inner) + 1 : names.index(outer)]


def of_library(frames, path):
    return [f["function"] for f in frames if f["module"] == os.path.basename(path)]


def is_musl(python):
    return interpreters.variant(python) == interpreters.MUSL


@pytest.mark.parametrize("hang", ["lock_worker", "sleep"])
def test_python_frames_are_those_of_a_plain_dump(hang, readable_python):
    target = start(hang, readable_python)
    before = target.snapshot()
    plain = threads_of(target.pid)
    native = threads_of(target.pid, "--native")
    assert [python_frames(t) for t in native] == [t["frames"] for t in plain]
    for thread in native:
        assert thread["exact"], thread
        assert thread["native"] == {"merged": True, "complete": True, "reason": None}
        assert thread["frames"][0]["kind"] == "native"
        assert thread["frames"][0]["module"].startswith("lib")
        assert "Eval" not in json.dumps(thread["frames"])
        # Only musl's C library has no unwind information.
        behind = [f["behind_gap"] for f in thread["frames"] if "behind_gap" in f]
        assert all(behind) and bool(behind) == is_musl(readable_python)
    assert processes.differences(before, target.snapshot()) == []
    target.finish()


@pytest.mark.parametrize("hang, builtin", [
    ("sleep", "<built-in function sleep>"),
    ("os_read", "<built-in function read>"),
    ("lock_main", "<built-in method acquire of _thread.lock>"),
])
def test_builtins_have_their_python_names(hang, builtin, readable_python):
    """Without symbols too, where the compiler has left the function in one part."""
    target = start(hang, readable_python)
    frames = main_thread(target, "-n")["frames"]
    found = [frame.get("builtin") for frame in frames]
    if hang == "lock_main" and builtin not in found:
        # Debian's 3.13 has it in two parts, and no symbols.
        assert "acquire_lock" not in json.dumps(frames)
    else:
        assert builtin in found, frames
        assert frames[found.index(builtin) + 1]["kind"] == "python"
        assert "    %s (" % builtin in hangdbg("dump", target.pid, "-n").out
    target.finish()


def test_between_python_functions(readable_python, called_back):
    target = start("called_back", readable_python, called_back)
    thread = main_thread(target, "-n")
    assert thread["native"] == {"merged": True, "complete": True, "reason": None}
    frames = between(thread, WAIT, "call_library")
    assert of_library(frames, called_back) == [
        "sorting::(anonymous namespace)::Walker<long>::visit",
        "sorting::(anonymous namespace)::walk",
        "call_back",
    ]
    done = hangdbg("dump", target.pid, "-n")
    assert "\n    call_back (called_back.cpp:" in done.out, done
    target.finish()


def test_code_made_at_run_time(edge_python, called_back):
    """It has no unwind information; what called it is found on the stack."""
    target = start("called_back", edge_python, called_back, "made")
    thread = main_thread(target, "-n")
    assert thread["native"] == {"merged": True, "complete": True, "reason": None}
    frames = between(thread, WAIT, "call_library")
    made = [f["module"] for f in frames].index("")
    assert of_library(frames, called_back) == [
        "sorting::(anonymous namespace)::Walker<long>::visit",
        "sorting::(anonymous namespace)::walk",
        "call_back",
    ]
    assert not any("behind_gap" in f for f in frames[: made + 1])
    assert all(f["behind_gap"] for f in frames[made + 1 :])
    target.finish()


def test_signal_handler(readable_python, tmp_path):
    """What a signal has interrupted, on musl without unwind information."""
    library = tmp_path / "handler.so"
    compiler = "musl-gcc" if is_musl(readable_python) else "gcc"
    if not shutil.which(compiler):
        pytest.skip("no " + compiler)
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-Wl,--eh-frame-hdr", "-o", library,
                    in_targets("handler.c")], check=True)
    target = start("sleep", readable_python, env={"LD_PRELOAD": str(library)})
    os.kill(target.pid, signal.SIGUSR2)
    until("the handler", lambda: main_thread(target)["state"].startswith("asleep in pause"))
    thread = main_thread(target, "-n")
    assert thread["native"] == {"merged": True, "complete": True, "reason": None}
    frames = thread["frames"]
    handler = [f["function"] for f in frames].index("wait_in_handler")
    # Then the handler's end and the call that was interrupted, both of libc.
    assert all(f["module"].startswith("lib") for f in frames[handler + 1 : handler + 3])
    builtin = [f.get("builtin") for f in frames].index("<built-in function sleep>")
    assert handler + 2 < builtin and frames[builtin + 1]["function"] == "sleep_long"
    target.finish()


def marked_lines():
    """The lines of called_back.cpp that call, by the names in their comments."""
    lines = in_targets("called_back.cpp").read_text().splitlines()
    return [
        number
        for mark in ("visit", "walk", "call_back")
        for number, line in enumerate(lines, 1)
        if line.endswith("// " + mark)
    ]


@pytest.mark.parametrize("flags", [
    "-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gdwarf64", "zlib", "zstd",
])
def test_source_lines(newest_python, called_back, flags, tmp_path):
    library = tmp_path / "lines.so"
    if flags.startswith("-g"):
        compile_library(library, *flags.split())
    else:
        subprocess.run(
            ["objcopy", "--compress-debug-sections=" + flags, called_back, library], check=True)
    target = start("called_back", newest_python, library)
    thread = main_thread(target, "-n")
    frames = [f for f in between(thread, WAIT, "call_library") if f["module"] == "lines.so"]
    assert [f["line"] for f in frames] == marked_lines()
    assert {os.path.basename(f["file"]) for f in frames} == {"called_back.cpp"}
    target.finish()


def test_source_lines_for_people(newest_python, called_back):
    target = start("called_back", newest_python, called_back)
    line = marked_lines()[-1]
    done = hangdbg("dump", target.pid, "-n", "--source=1")
    shown = "    call_back (called_back.cpp:%d, called_back.so)\n" % line
    assert shown + "      %5d -> " % line in done.out, done
    target.finish()


def test_stripped_library(edge_python, called_back, tmp_path):
    stripped = tmp_path / "stripped.so"
    subprocess.run(["strip", "-o", stripped, called_back], check=True)
    target = start("called_back", edge_python, stripped)
    thread = main_thread(target, "-n")
    assert thread["native"]["merged"]
    frames = between(thread, WAIT, "call_library")
    assert of_library(frames, stripped) == ["", "", "call_back"]
    assert "stripped.so+0x" in hangdbg("dump", target.pid, "-n").out
    target.finish()


def test_separate_debug_file(newest_python, called_back, tmp_path):
    """Found by its .gnu_debuglink, and only if it is of the same build."""
    stripped = tmp_path / "stripped.so"
    debug = tmp_path / "stripped.debug"
    other = tmp_path / "other.debug"
    subprocess.run(["objcopy", "--only-keep-debug", called_back, debug], check=True)
    subprocess.run(["strip", "-o", stripped, called_back], check=True)
    subprocess.run(["objcopy", "--add-gnu-debuglink=%s" % debug, stripped], check=True)
    target = start("called_back", newest_python, stripped)
    frames = between(main_thread(target, "-n"), WAIT, "call_library")
    assert of_library(frames, stripped)[1] == "sorting::(anonymous namespace)::walk"
    assert [f["line"] for f in frames if f["module"] == "stripped.so"] == marked_lines()
    os.rename(debug, other)
    shutil.copy(newest_python, debug)
    frames = between(main_thread(target, "-n"), WAIT, "call_library")
    assert of_library(frames, stripped)[1] == ""
    assert not any(f["line"] for f in frames if f["module"] == "stripped.so")
    target.finish()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reaches a file without a name")
def test_deleted_library(newest_python, called_back, tmp_path):
    deleted = tmp_path / "deleted.so"
    shutil.copy(called_back, deleted)
    target = start("called_back", newest_python, deleted)
    os.unlink(deleted)
    frames = between(main_thread(target, "-n"), WAIT, "call_library")
    assert of_library(frames, deleted)[1:] == [
        "sorting::(anonymous namespace)::walk", "call_back"]
    target.finish()


def test_a_library_replaced_by_another(newest_python, called_back, tmp_path):
    """Names of another build would be those of other code; what is exported is
    known from memory."""
    replaced = tmp_path / "replaced.so"
    shutil.copy(called_back, replaced)
    target = start("called_back", newest_python, replaced)
    os.unlink(replaced)
    shutil.copy("/proc/self/exe", replaced)
    frames = between(main_thread(target, "-n"), WAIT, "call_library")
    assert of_library(frames, replaced)[-1] == "call_back"
    target.finish()


def test_threads_without_python(edge_python, called_back):
    target = start("called_back", edge_python, called_back)
    assert len(threads_of(target.pid, "-n")) == 1
    other, = [t for t in threads_of(target.pid, "--native-all") if t["tid"] != target.pid]
    assert other["native"]["complete"] and other["state"].startswith("asleep in pause")
    assert of_library(other["frames"], called_back) == [
        "sleep_without_python"]
    target.finish()


def test_of_a_running_thread(readable_python):
    target = start("busy", readable_python)
    thread = main_thread(target, "-n")
    assert thread["exact"] and "spin" in [f["function"] for f in python_frames(thread)]
    assert thread["native"]["merged"], thread
    thread = main_thread(target, "-n", "--nonblocking")
    assert not thread["exact"] and not thread["native"]["merged"]
    assert thread["native"]["reason"]
    assert "not merged: " in hangdbg("dump", target.pid, "-n", "--nonblocking").out
    target.finish()


DEEP = """
import sys, threading, time
sys.setrecursionlimit(10**6)
threading.stack_size(1 << 29)
def deep(n):
    if n:
        return deep(n - 1)
    sys.stdout.write("deep\\n"), sys.stdout.flush(), time.sleep(100)
thread = threading.Thread(target=deep, args=(20000,))
thread.daemon = True
thread.start()
time.sleep(100)
"""


def test_deeper_than_is_copied(edge_python):
    """Before 3.11 a C stack of some 20 MB belongs to it."""
    child = subprocess.Popen([edge_python, "-c", DEEP], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"deep\n"
        (thread,) = [t for t in threads_of(child.pid, "-n") if t["tid"] != child.pid]
        deep = [f for f in python_frames(thread) if f["function"] == "deep"]
        assert len(deep) == 20001
        done = hangdbg("dump", child.pid, "-n")
        if thread["native"]["merged"]:
            assert thread["native"]["complete"] and "repeated 19997 more times" in done.out
        else:
            assert "known up to" in thread["native"]["reason"]
            assert re.search(r"\(\d{4,} more C functions\)$", done.out, re.M), done
        assert len(done.out.splitlines()) < 200
    finally:
        child.kill()
        child.wait()
