"""hangdbg diagnose: file systems that do not answer, peers, terminals and debuggers, each
made for real and named first."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import processes
from diagnosed import diagnosed, named_first, well_by
from harness import Target, die_with_us, hangdbg, in_targets, track, until
from test_namespaces import needs_root

OWN_MOUNTS = ("unshare", "-m")


@needs_root
@pytest.mark.parametrize("how, where", [("direct", "read of {0}/file on {0}"),
                                        ("mapped", "a page fault on {0}")])
def test_a_fuse_server_that_does_not_answer(how, where, newest_python, tmp_path):
    if not os.path.exists("/dev/fuse") or subprocess.run(
            [*OWN_MOUNTS, "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("needs /dev/fuse and a mount namespace")
    folder = tmp_path / "mounted"
    folder.mkdir()
    target = Target([*OWN_MOUNTS, newest_python, in_targets("causes_fuse.py"), how, folder])
    said = named_first("FUSE, " + how, target.pid, "mount", "certain",
                       "a FUSE server, which does not answer, in " + where.format(folder))
    assert said["chain"][1]["pid"] == target.ready["server"], said


@needs_root
def test_a_process_whose_memory_does_not_answer(newest_python, tmp_path):
    """Whoever reads it waits with it: it is said, and what the kernel knows is told."""
    target = Target([*OWN_MOUNTS, newest_python, in_targets("causes_fuse.py"), "unmaps", tmp_path])
    try:
        until("state D", lambda: processes.waits_for_fuse(target.pid))
        reads = start_reading(target.pid)
        until("its memory does not answer", lambda: processes.state(reads.pid, reads.pid) in "DS")
        done = hangdbg("diagnose", target.pid, "--json", "--hung-after", "0.3", "--timeout", "3")
        assert done.rc == 0 and reads.poll() is None, done
        said = done.json()
        assert "memory does not answer" in str(said["skipped"]), said
        assert said["cause"] in ("mount", "unknown"), said
    finally:
        os.kill(target.ready["server"], signal.SIGKILL)
    reads.wait(10)


def start_reading(pid):
    return subprocess.Popen(["cat", "/proc/%d/cmdline" % pid], stdout=subprocess.DEVNULL,
                            start_new_session=True, preexec_fn=die_with_us)


def test_who_touches_a_mount_that_never_answers(hung_mount, newest_python):
    """In state D, in which its memory is not read: which mount it is, the only one tells, and
    other tests have some."""
    program = ("import ctypes, os\n"
               "libc = ctypes.CDLL(None)\n"
               "for line in open('/proc/self/mountinfo'):\n"
               "    if ' - fuse' in line and line.split()[4] != %r:\n"
               "        libc.umount2(line.split()[4].encode(), 2)  # MNT_DETACH\n"
               "os.stat(%r)\n" % (str(hung_mount), str(hung_mount)))
    toucher = subprocess.Popen([*OWN_MOUNTS, newest_python, "-c", program],
                               start_new_session=True, preexec_fn=die_with_us)
    until("state D", lambda: processes.waits_for_fuse(toucher.pid))
    try:
        named_first("stat of a FUSE mount, in state D", toucher.pid, "mount", None,
                    "on %s" % hung_mount)
    finally:
        os.kill(toucher.pid, signal.SIGKILL)
        toucher.wait()


def test_a_peer_that_is_silent(newest_python):
    target = Target([newest_python, in_targets("causes_network.py"), "silent"])
    child = target.ready["child"]
    said = well_by("recv() from a peer that sleeps", target.pid, "sleeps")
    first, last = said["chain"]
    assert first["cause"] == "peer-silent" and last["pid"] == child, said
    assert re.search(r"waits for what process %d .* over TCP \(127\.0\.0\.1:\d+\)" % child,
                     first["summary"]), said


def test_a_peer_that_does_not_read(newest_python):
    target = Target([newest_python, in_targets("causes_network.py"), "reads_not"])
    child = target.ready["child"]
    said = well_by("a peer with a zero window, that sleeps", target.pid, "sleeps")
    first, last = said["chain"]
    assert first["cause"] == "peer-does-not-read" and last["pid"] == child, said
    assert "waits until process %d " % child in first["summary"], said


@pytest.mark.parametrize("case, sentence", [("asks", "waits for input from its terminal"),
                                            ("pdb_prompt", "stands at a prompt of pdb")])
def test_who_asks_on_a_terminal_is_well(case, sentence, newest_python):
    target = Target([newest_python, in_targets("causes_terminal.py"), case])
    child = target.ready["child"]
    assert sentence in well_by("a terminal: " + case, child, "terminal-input")["summary"]


def test_a_background_process_that_wants_its_terminal(newest_python):
    target = Target([newest_python, in_targets("causes_terminal.py"), "background"])
    said = named_first("SIGTTIN", target.ready["child"], "stopped", "certain",
                       "runs in the background, and wanted its terminal")
    assert said["next"][0]["command"] == "fg", said


def test_a_debugger_holds_it(newest_python):
    target = Target([newest_python, in_targets("causes_processes.py"), "traced", "-"])
    gdb = subprocess.Popen(["gdb", "-p", str(target.pid), "-batch", "-nx", "-ex", "shell cat"],
                           stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, preexec_fn=die_with_us)
    state = Path("/proc/%d/stat" % target.pid)
    try:
        until("gdb has it", lambda: ") t " in state.read_text() or gdb.poll() is not None)
        if gdb.poll() is not None:
            pytest.skip("gdb may not attach here")
        named_first("gdb", target.pid, "traced", "certain",
                    r"is held by a debugger, process %d \(gdb\)" % gdb.pid)
    finally:
        gdb.stdin.close()  # it lets go of it, and ends
        gdb.wait(20)


# Stops a thread again and again, each time for a millisecond.
SAMPLER = """
import ctypes, os, sys, time
tid = int(sys.argv[1])
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long] * 4
SEIZE, INTERRUPT, CONT, WALL = 0x4206, 0x4207, 7, 0x40000000
if ptrace(SEIZE, tid, 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
print("seized", flush=True)
while True:
    ptrace(INTERRUPT, tid, 0, 0)
    os.waitpid(tid, WALL)
    time.sleep(0.001)
    ptrace(CONT, tid, 0, 0)
"""


def test_a_profiler_holds_nobody(newest_python):
    target = Target([newest_python, in_targets("causes_processes.py"), "traced", "-"])
    sampler = track(subprocess.Popen(
        ["/usr/bin/python3", "-c", SAMPLER, str(target.tid)], stdout=subprocess.PIPE,
        start_new_session=True, preexec_fn=die_with_us))
    if not sampler.stdout.readline():
        pytest.skip("ptrace is not allowed here")
    for _ in range(10):
        said = diagnosed(target.pid)
        assert said["cause"] != "traced", said
    assert sampler.poll() is None
