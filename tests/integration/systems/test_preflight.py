"""Each reason to leave a process alone has its own error, with the next command
to type: by `eval`, and by `doctor --json`, which names it."""

import ctypes
import os
import signal
import struct
import subprocess
from pathlib import Path

import pytest

import harness
import processes
from harness import Target, as_nobody, behind, hangdbg, in_targets, start, until
from test_harmless import stopped_at

PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
FREEZER_V1 = "/sys/fs/cgroup/freezer"

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def assert_named(pid, name, rc, *words, run=hangdbg, eval_word="1"):
    """`eval` and `doctor` say the same."""
    run("eval", pid, eval_word).assert_refused(rc, *words)
    doctor = run("doctor", pid, "--json")
    assert doctor.rc == rc, doctor
    last = doctor.json()["checks"][-1]
    assert (last["state"], last["id"]) == ("missing", name), last
    assert last["mend"], last
    return last["mend"]


def reading(pid, run=hangdbg):
    """What doctor says of the commands that only read; None if nothing."""
    checks = run("doctor", pid, "--json").json()["checks"]
    return next((one for one in checks if one["name"] == "reading"), None)


@pytest.fixture
def nobody(public):
    """Runs hangdbg as a user without rights."""
    return behind(*as_nobody(public + "/hangdbg"))


def nobodys(python, *flags, script=in_targets("lock_main.py")):
    target = Target(as_nobody(*flags, "--", python, script))
    target.wait_hung()
    return target


def raw(*command, **options):
    """A process that says nothing of itself."""
    return harness.track(
        subprocess.Popen(
            [str(word) for word in command], start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=harness.die_with_us, **options,
        )
    )


# ---- permission


@root_only
def test_other_user(newest_python, nobody):
    target = start("lock_main", newest_python)
    assert_named(target.pid, "other-user", 3, "uid 0", run=nobody)
    target.finish()


@root_only
def test_own_process_without_root(nobody, public):
    target = nobodys("/usr/bin/python3", script=Path(public, "targets", "lock_main.py"))
    done = nobody("eval", target.pid, "answer + 1")
    assert (done.rc, done.out) == (0, "42\n"), done
    target.finish()


@root_only
def test_not_dumpable(nobody, public):
    script = Path(public, "targets", "hidden.py")
    script.write_text(
        "import ctypes\nctypes.CDLL(None).prctl(4, 0)\n"  # PR_SET_DUMPABLE
        + in_targets("lock_main.py").read_text()
    )
    target = nobodys("/usr/bin/python3", script=script)
    assert_named(target.pid, "not-dumpable", 3, "dumpable", run=nobody)
    assert reading(target.pid, run=nobody) is None  # for the same reason
    done = hangdbg("eval", target.pid, "answer + 1")  # as root
    assert (done.rc, done.out) == (0, "42\n"), done
    target.finish()


@root_only
def test_more_capable(nobody, public):
    target = nobodys("/usr/bin/python3", "--inh-caps", "+net_raw",
                     "--ambient-caps", "+net_raw",
                     script=Path(public, "targets", "lock_main.py"))
    assert_named(target.pid, "more-capable", 3, "net_raw", run=nobody)
    target.finish()


@root_only
def test_in_a_pod_it_is_kubectl(newest_python, nobody):
    target = start("lock_main", newest_python)
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    done = nobody("doctor", target.pid, env=pod)
    assert done.rc == 3, done
    assert "kubectl debug -it " + os.uname().nodename in done.out, done
    assert "sysctl" not in done.out and "sudo" not in done.out, done
    target.finish()


# ---- state


def test_stopped(newest_python):
    target = start("lock_main", newest_python)
    os.kill(target.pid, signal.SIGSTOP)
    until("the stop", lambda: processes.state(target.pid) == "T")
    mend = assert_named(target.pid, "stopped", 4, "stopped")
    assert mend.startswith("kill -CONT %d" % target.pid)
    assert reading(target.pid)["state"] == "ok"
    os.kill(target.pid, signal.SIGCONT)
    target.finish()


def test_traced_already(newest_python):
    target = start("lock_main", newest_python)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    assert libc.ptrace(PTRACE_SEIZE, target.pid, 0, 0) == 0, ctypes.get_errno()
    assert_named(target.pid, "traced-already", 4, "traced", os.getpid())
    libc.ptrace(0x4207, target.pid, 0, 0)  # PTRACE_INTERRUPT
    os.waitpid(target.pid, 0)
    assert libc.ptrace(PTRACE_DETACH, target.pid, 0, 0) == 0
    target.finish()


def unified():
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            if " - cgroup2 " in line:
                return line.split()[4]
    return None


@root_only
@pytest.mark.parametrize("version", [1, 2])
def test_frozen(newest_python, version):
    root = FREEZER_V1 if version == 1 else unified()
    if not root or not os.path.isdir(root):
        pytest.skip("no cgroup v%d freezer is mounted" % version)
    above = os.path.join(root, "hangdbg-test-%d" % os.getpid())
    group = os.path.join(above, "inner")
    if version == 1:
        knob, freeze, thaw = "freezer.state", "FROZEN", "THAWED"
    else:
        knob, freeze, thaw = "cgroup.freeze", "1", "0"
    target = start("lock_main", newest_python)
    try:
        os.makedirs(group)
        write(os.path.join(group, "cgroup.procs"), target.pid)
        write(os.path.join(above, knob), freeze)
        try:
            mend = assert_named(target.pid, "frozen", 4, "frozen", "inner")
        finally:
            write(os.path.join(above, knob), thaw)
        assert mend == "echo %s > %s" % (thaw, os.path.join(above, knob))
        target.finish()
    finally:
        for folder in (group, above):
            if os.path.isdir(folder):
                until("an empty group", lambda f=folder: removed(f))


def write(path, value):
    with open(path, "w") as file:
        file.write(str(value))


def removed(folder):
    try:
        os.rmdir(folder)
    except OSError:
        return False
    return True


def test_kernel_thread():
    if not os.path.exists("/proc/2/comm") or open("/proc/2/comm").read() != "kthreadd\n":
        pytest.skip("no kernel threads are visible in this PID namespace")
    assert_named(2, "kernel-thread", 4, "kthreadd")


def test_state_d(newest_python, hung_mount):
    process = raw(newest_python, "-c", "import os; os.stat(%r)" % str(hung_mount / "x"))
    until("state D", lambda: processes.waits_for_fuse(process.pid))
    assert_named(process.pid, "disk-sleep", 4, "state D")


def test_another_thread_in_state_d(newest_python, hung_mount):
    """It is left alone; its stack can be asked for all the same."""
    code = (
        "import os, threading\n"
        "def look(path):\n"
        "    os.stat(path)\n"
        "threading.Thread(target=look, args=(%r,), daemon=True).start()\n"
        "lock = threading.Lock()\n"
        "lock.acquire()\n"
        "lock.acquire()\n" % str(hung_mount / "x")
    )
    process = raw(newest_python, "-c", code)
    worker = until("state D", lambda: in_state_d(process.pid))
    done = hangdbg("eval", process.pid, "path", "--thread", worker)
    assert (done.rc, done.out) == (0, repr(str(hung_mount / "x")) + "\n"), done
    assert in_state_d(process.pid) == worker


def test_thread_that_falls_into_state_d(newest_python, hung_mount):
    """It is traced by then, and does not stop: it is let go all the same."""
    path = str(hung_mount / "x")
    code = ("import os\n"
            "os.read(0, 1)\n"
            "try: os.stat(%r)\n"
            "except OSError: print('went on')\n" % path)
    process = raw(newest_python, "-c", code)
    until("the read",
          lambda: processes.thread_activity(process.pid, process.pid).syscall == "read")
    run = stopped_at("seized", process, "--timeout", "2")
    assert processes.tracer(process.pid)
    process.stdin.write(b"x")
    process.stdin.flush()
    until("state D", lambda: processes.waits_for_fuse(process.pid))
    os.kill(run.pid, signal.SIGCONT)
    until("it is let go", lambda: processes.tracer(process.pid) == 0)
    assert run.poll() is None and processes.state(process.pid) == "D"
    harness.outcome(run).assert_refused(4)
    ctypes.CDLL(None).umount2(bytes(hung_mount), 1)  # MNT_FORCE: aborts what waits
    assert process.stdout.read() == b"went on\n" and process.wait(10) == 0


def in_state_d(pid):
    """The thread that is, or None; not main, which reads files at its start."""
    for tid in processes.threads(pid):
        if tid != pid and processes.waits_for_fuse(pid, tid):
            return tid
    return None


def test_in_exec(newest_python, hung_mount):
    path = str(hung_mount / "x")
    process = raw(newest_python, "-c", "import os; os.execv(%r, ['x'])" % path)
    until("state D", lambda: processes.waits_for_fuse(process.pid))
    assert_named(process.pid, "in-exec", 4, "execve")


def test_in_vfork(newest_python, hung_mount):
    """The child's exec hangs, and its parent waits for that."""
    code = (
        "import ctypes, os\n"
        "os.posix_spawn(%r, ['x'], {})\n" % str(hung_mount / "x")
    )
    process = raw(newest_python, "-c", code)
    child = until("the vfork", lambda: processes.children(process.pid))[0]
    assert_named(process.pid, "in-vfork", 4, "vfork", child)


# ---- the program


def test_32_bit(tmp_path):
    """mov eax, 29; int 0x80: pause(2), for ever."""
    code = b"\xb8\x1d\x00\x00\x00\xcd\x80\xeb\xf7"
    base, header = 0x08048000, 52 + 32
    program = tmp_path / "pause32"
    program.write_bytes(
        b"\x7fELF\x01\x01\x01" + bytes(9)
        + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + header, 52, 0, 0, 52, 32,
                      1, 0, 0, 0)
        + struct.pack("<8I", 1, 0, base, base, header + len(code),
                      header + len(code), 5, 4096)
        + code
    )
    program.chmod(0o755)
    try:
        process = raw(program)
    except OSError as error:
        pytest.skip("this kernel runs no 32-bit programs: %s" % error)
    until("pause", lambda: processes.state(process.pid) == "S")
    assert_named(process.pid, "32-bit", 4, "32-bit")


def test_not_initialised(newest_python, tmp_path):
    """It hangs in its first import, in state S."""
    package = tmp_path / "encodings"
    package.mkdir()
    (package / "__init__.py").write_text("import posix\nposix.read(0, 1)\n")
    process = raw(newest_python, "-c", "pass",
                  env=dict(os.environ, PYTHONPATH=str(tmp_path)))
    until(
        "the import",
        lambda: processes.thread_activity(process.pid, process.pid).syscall == "read",
    )
    assert_named(process.pid, "not-initialized", 4)


def test_finalising(newest_python):
    """It hangs in a destructor that the end of the interpreter calls."""
    code = (
        "import time\n"
        "class Last:\n"
        "    def __del__(self, sleep=time.sleep, say=print):\n"
        "        say('ending', flush=True)\n"
        "        sleep(60)\n"
        "import sys\n"
        "sys.modules['kept'] = Last()\n"
    )
    process = raw(newest_python, "-c", code)
    assert process.stdout.readline() == b"ending\n"
    assert_named(process.pid, "finalizing", 4)


def test_doctor_says_that_it_can_be_done(newest_python):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    done = hangdbg("doctor", target.pid, "--json")
    assert done.rc == 0, done
    names = [check["name"] for check in done.json()["checks"]]
    assert names[-2:] == ["seccomp filter", "verdict"], names
    assert "MISSING" not in hangdbg("doctor", target.pid).out
    target.assert_as_before(before)
    target.finish()
