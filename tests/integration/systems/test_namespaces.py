"""Where a target may live: other namespaces, a chroot, another user, files that
are gone. Each is reached by both commands and ends as if nobody had been there."""

import os
import shutil
import subprocess
import tempfile

import pytest

import harness
import processes
from harness import Target, as_nobody, behind, copy_targets, hangdbg, in_targets, place, until

PYTHON = "/usr/bin/python3"  # the one that every user can run

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root, to make namespaces and other users"
)


def start(*command, name="lock_main", python=PYTHON, targets=None, **more):
    """The target behind `command`, by our numbers; `targets`: the folder that it is in there."""
    source = "%s/%s.py" % (targets, name) if targets else in_targets(name + ".py")
    target = Target([*command, python, source], **more)
    target.inner_pid = target.pid
    target.pid = innermost(target.process.pid)
    target.tid = outer_tid(target.pid, target.tid)
    target.wait_hung()
    return target


def innermost(pid):
    """The last of a chain of children: unshare's, sh's, the target."""
    while True:
        children = processes.children(pid)
        if not children:
            return pid
        (pid,) = children


def outer_tid(pid, inner):
    for tid in processes.threads(pid):
        with open("/proc/%d/task/%d/status" % (pid, tid)) as status:
            numbers = [line for line in status if line.startswith("NSpid:")]
        if numbers[0].split()[-1] == str(inner):
            return tid
    raise AssertionError("no thread %s in %s" % (inner, pid))


def assert_reached(target, run=hangdbg, pid=None):
    pid = pid or target.pid
    before = target.snapshot()
    done = run("eval", pid, "answer + 1")
    assert (done.rc, done.out) == (0, "42\n"), done
    done = run("attach", pid, "-c", "answer = 43", "-c", "p sorted(seen)")
    assert done.rc == 0 and "[0, 2, 4]" in done.out.splitlines(), done
    done = run("doctor", pid)
    assert done.rc == 0 and "attach %d is possible" % pid in done.out, done
    target.assert_as_before(before)
    assert target.finish()["answer"] == 43


# ---- namespaces

CONTAINER = ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork",
             "--kill-child", "--mount-proc"]


@needs_root
def test_in_a_container(newest_python):
    assert_reached(start(*CONTAINER, python=newest_python))


@needs_root
def test_both_in_a_container(newest_python):
    target = start(*CONTAINER, python=newest_python)
    inside = behind("nsenter", "--target", target.pid, "--all", harness.PROGRAM)
    assert_reached(target, inside, target.inner_pid)


@needs_root
@pytest.mark.parametrize("flags", [
    ["--user", "--map-root-user"],
    ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"],
], ids=["user", "user-and-pid"])
def test_in_a_user_namespace(newest_python, flags):
    assert_reached(start("unshare", *flags, python=newest_python))


@needs_root
def test_threads_go_by_our_numbers(newest_python):
    """In a PID namespace a thread has two; a user sees ours in ps and top."""
    target = start(*CONTAINER, name="lock_worker", python=newest_python)
    done = hangdbg("eval", target.pid, "answer", *place(target), "--json")
    assert (done.rc, done.json()["thread"]) == (0, target.tid), done
    done = hangdbg("eval", target.pid, "answer", "--json")
    assert (done.rc, done.json()["thread"]) == (0, target.tid), done
    done = hangdbg("attach", target.pid, "-c", "threads", "-c", "thread main",
                   "-c", "thread %d" % target.tid, "-c", "p answer")
    assert done.rc == 0 and done.out.splitlines()[-1] == "41", done
    for tid in (target.pid, target.tid):
        assert " %d " % tid in done.out, done
    hangdbg("eval", target.pid, "1", "--thread", 1).assert_refused(2, target.tid)
    target.finish()


# ---- a chroot


@pytest.fixture
def chroot_folder():
    """A root with an interpreter and the targets, and nothing else."""
    with tempfile.TemporaryDirectory(dir="/tmp") as root:
        for path in [PYTHON, *libraries_of(PYTHON)]:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.realpath(path), root + path)
        library = subprocess.run(
            [PYTHON, "-c", "import os; print(os.path.dirname(os.__file__))"],
            stdout=subprocess.PIPE, check=True, text=True,
        ).stdout.strip()
        shutil.copytree(library, root + library, ignore=shutil.ignore_patterns(
            "__pycache__", "*-packages", "config-*", "test*", "idlelib", "ensurepip"))
        copy_targets(root + "/targets")
        os.mkdir(root + "/proc")
        yield root


def libraries_of(program):
    done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, check=True, text=True)
    words = done.stdout.split()
    return [word for word in words if word.startswith("/")]


@needs_root
@pytest.mark.parametrize("proc", ["with /proc", "without /proc"])
def test_in_a_chroot(chroot_folder, proc):
    mount = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    command = ["unshare", "--mount", "sh", "-c", mount, chroot_folder]
    if proc == "without /proc":
        command = ["chroot", chroot_folder]
    assert_reached(start(*command, targets="/targets"))


# ---- users


@needs_root
def test_process_of_another_user(public):
    assert_reached(start(*as_nobody(), targets=public + "/targets"))


def yama():
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


@needs_root
@pytest.mark.skipif(yama() != 0, reason="Yama lets only ancestors trace")
@pytest.mark.parametrize("namespace", [[], ["unshare", "--user", "--map-root-user"]],
                         ids=["plain", "user-namespace"])
def test_own_process_without_root(public, namespace):
    target = start(*as_nobody(*namespace), targets=public + "/targets")
    assert_reached(target, behind(*as_nobody(public + "/hangdbg")))


@needs_root
def test_from_a_user_namespace(public):
    """Its root has every capability there, and none outside."""
    target = start(*as_nobody(), targets=public + "/targets")
    run = behind(*as_nobody("unshare", "--user", "--map-root-user", public + "/hangdbg"))
    done = run("doctor", target.pid)
    assert done.rc == 3 and "may trace processes in this user namespace only" in done.out, done
    run("eval", target.pid, "1").assert_refused(3, target.pid)
    target.finish()


@needs_root
def test_process_of_root_without_root(public):
    target = start(targets=public + "/targets")
    run = behind(*as_nobody(public + "/hangdbg"))
    run("eval", target.pid, "1").assert_refused(3, target.pid, "user")
    done = run("doctor", target.pid)
    assert done.rc == 3 and "sudo hangdbg attach %d" % target.pid in done.out, done
    target.finish()


# ---- files that are gone


@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_interpreter_that_is(change, tmp_path):
    """As after a package upgrade."""
    python = shutil.copy(os.path.realpath(PYTHON), tmp_path / "python3.11")
    target = start(python=python)
    os.unlink(python)
    if change == "replaced":
        shutil.copy("/bin/true", python)
    assert_reached(target)


def test_working_directory_that_is_deleted(newest_python, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    go_there = 'cd "$0" && exec "$@"'
    target = start("sh", "-c", go_there, folder, python=newest_python)
    folder.rmdir()
    until("the folder gone", lambda: not folder.exists())
    assert_reached(target)
