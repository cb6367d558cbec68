"""Real seccomp filters, on the target, on hangdbg, and on both."""

import errno
import json
import os
import subprocess
import sys
import tempfile

import pytest

import harness
import interpreters
import processes
from harness import PROGRAM, Outcome, Target, hangdbg, in_targets, until

sys.path.append(str(in_targets("seccomp_filter.py").parent))

from seccomp_filter import ALLOW, ERRNO, KILL

EPERM = ERRNO | errno.EPERM
ENOSYS = ERRNO | errno.ENOSYS

# What Docker's default profile gives a container without capabilities
# (moby, profiles/seccomp/default.json), on x86-64: these calls are not on its
# list, and those with other answers follow.
NOT_IN_DOCKER = [
    103, 134, 136, 139, 153, 155, 156, 163, 164, 165, 166, 167, 168, 169, 170, 171,
    172, 173, 174, 175, 176, 177, 178, 179, 180, 212, 227, 237, 238, 239, 246, 248,
    249, 250, 256, 272, 279, 298, 300, 304, 308, 312, 313, 320, 321, 323, 425, 426,
    427, 428, 429, 430, 431, 432, 433, 438, 440, 442, 443, 450,
]
LAST_CALL = 451
NAMESPACES = 0x7E020000  # CLONE_NEW*
DOCKER = {
    "default": EPERM,
    "rules": {
        **{str(n): ALLOW for n in range(LAST_CALL + 1)
           if n not in NOT_IN_DOCKER and n not in (56, 435)},
        "clone": [NAMESPACES, ALLOW],
        "clone3": ENOSYS,
    },
}

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may read another process's filter"
)


def filtered(python, spec, *how):
    environment = {}
    if interpreters.variant(python) == interpreters.MUSL:
        environment["SECCOMP_LIBRARY"] = library_for_musl()
    target = Target([python, in_targets("filtered.py"), json.dumps(spec), *how], env=environment)
    until("the filter", lambda: "\nSeccomp:\t2\n" in status(target))
    target.wait_hung()
    return target


def library_for_musl():
    """What installs a filter there, where Python has no ctypes."""
    library = tempfile.mkdtemp(dir=os.environ["TMPDIR"]) + "/seccomp_on_load.so"
    try:
        subprocess.run(["musl-gcc", "-shared", "-fPIC", "-o", library,
                        in_targets("seccomp_on_load.c")], check=True)
    except FileNotFoundError:
        pytest.skip("no musl-gcc")
    return library


def status(target):
    with open("/proc/%d/status" % target.pid) as file:
        return file.read()


def all_but(**rules):
    return {"default": ALLOW, "rules": rules}


def run_filtered(*args, spec=DOCKER, before=()):
    """hangdbg with a filter on itself."""
    done = subprocess.run(
        [*before, sys.executable, str(in_targets("seccomp_filter.py")), json.dumps(spec),
         str(PROGRAM), *map(str, args)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=20, text=True, preexec_fn=harness.die_with_us,
    )
    return Outcome(done.returncode, done.stdout, done.stderr, 0)


def assert_works(target):
    before = target.snapshot()
    done = hangdbg("eval", target.pid, "answer + 1")
    assert (done.rc, done.out) == (0, "42\n"), done
    target.assert_as_before(before)
    assert target.finish()["answer"] == 41


def assert_refused(target, *words):
    before = target.snapshot()
    done = hangdbg("eval", target.pid, "answer + 1")
    done.assert_refused(4, *words)
    assert "try: " in done.err, done
    target.assert_as_before(before)
    assert target.finish()["answer"] == 41


@needs_root
def test_target_under_dockers_filter(python):
    assert_works(filtered(python, DOCKER))


@needs_root
@pytest.mark.parametrize("action", [EPERM, KILL], ids=["errno", "kill"])
@pytest.mark.parametrize(
    "call", ["socketpair", "shutdown", "memfd_create", "sched_yield",
             "process_vm_readv", "pidfd_open"]
)
def test_what_we_can_do_without(newest_python, call, action):
    assert_works(filtered(newest_python, all_but(**{call: action})))


@needs_root
def test_locks_that_yield_without_a_gil():
    found = [it for it in interpreters.found() if it.variant == interpreters.FREE_THREADED]
    if not found:
        pytest.skip(interpreters.missing().get("3.14t", "no free-threaded CPython"))
    python = found[-1].path
    killed = filtered(python, all_but(sched_yield=KILL), "poll")  # it waits for no lock
    assert_refused(killed, "seccomp", "sched_yield")
    assert_works(filtered(python, all_but(sched_yield=EPERM)))


@needs_root
def test_clone3_that_is_not_there(edge_python):
    assert_works(filtered(edge_python, all_but(clone3=ENOSYS)))


@needs_root
@pytest.mark.parametrize("action", [EPERM, KILL], ids=["errno", "kill"])
@pytest.mark.parametrize("call", ["clone", "mprotect", "pipe2"])
def test_what_we_cannot_do_without(newest_python, call, action):
    spec = all_but(**{call: action, "clone3": ENOSYS})
    assert_refused(filtered(newest_python, spec), "seccomp", call)


@needs_root
@pytest.mark.parametrize("action", [EPERM, KILL], ids=["errno", "kill"])
def test_call_that_must_not_be_restarted(newest_python, action):
    """The stop that reads the filter would be its end; the call is made anew."""
    target = filtered(newest_python, all_but(restart_syscall=action), "poll")
    assert_refused(target, "restart_syscall")


@needs_root
def test_the_list_of_calls_is_complete(python):
    """A filter that kills for whatever is not on hangdbg's own list: the target
    lives through an eval, and until nothing of hangdbg is left."""
    listed = hangdbg("doctor", "--target-calls").out.split()
    spec = {"default": KILL, "rules": {number: ALLOW for number in listed}}
    target = filtered(python, spec)
    before = target.snapshot()
    for _ in range(2):
        done = hangdbg("eval", target.pid, "[answer + 1, 'é' * 3]")
        assert (done.rc, done.out) == (0, "[42, 'ééé']\n"), done
        target.assert_as_before(before)
    assert target.alive()


@needs_root
def test_nothing_but_the_least(python):
    """The same with every call forbidden that we say we can do without."""
    listed = hangdbg("doctor", "--target-calls").out.split()
    spec = {"default": KILL, "rules": {number: ALLOW for number in listed}}
    for spared in ("24", "48", "53", "310"):
        # Without a GIL Python's own locks yield.
        if spared != "24" or interpreters.variant(python) != interpreters.FREE_THREADED:
            del spec["rules"][spared]
    target = filtered(python, spec)
    before = target.snapshot()
    done = hangdbg("eval", target.pid, "answer + 1")
    assert (done.rc, done.out) == (0, "42\n"), done
    target.assert_as_before(before)
    assert target.alive()


def test_hangdbg_under_dockers_filter(edge_python):
    target = harness.start("lock_main", edge_python)
    before = target.snapshot()
    done = run_filtered("eval", target.pid, "answer + 1")
    assert (done.rc, done.out) == (0, "42\n"), done
    target.assert_as_before(before)
    target.finish()


@pytest.fixture
def container(newest_python):
    """Starts a target as the first process of a container with this filter;
    returns it and a function that runs hangdbg there, with a filter of its own,
    as `docker exec` would."""
    if os.geteuid() != 0:
        pytest.skip("a PID namespace needs root")

    def start(spec):
        target = Target(
            ["unshare", "--pid", "--fork", "--mount-proc", newest_python,
             in_targets("filtered.py"), json.dumps(spec)]
        )
        target.pid = target.tid = processes.children(target.process.pid)[0]
        until("the filter", lambda: "\nSeccomp:\t2\n" in status(target))
        target.wait_hung()

        def run(*args, spec=spec):
            enter = ["nsenter", "-t", str(target.pid), "--pid", "--mount"]
            return run_filtered(*args, spec=spec, before=enter)

        return target, run

    return start


def test_both_in_dockers_container(container):
    """A child of hangdbg's has tried the calls."""
    target, run = container(DOCKER)
    before = target.snapshot()
    done = run("eval", 1, "answer + 1")
    assert (done.rc, done.out) == (0, "42\n"), done
    target.assert_as_before(before)
    assert target.finish()["answer"] == 41


@pytest.mark.parametrize(
    "call,action", [("socketpair", EPERM), ("socketpair", KILL), ("sched_yield", EPERM)]
)
def test_both_in_a_container_without(container, call, action):
    target, run = container(all_but(**{call: action}))
    before = target.snapshot()
    done = run("eval", 1, "answer + 1")
    assert (done.rc, done.out) == (0, "42\n"), done
    target.assert_as_before(before)
    assert target.finish()["answer"] == 41


@pytest.mark.parametrize("action", [EPERM, KILL], ids=["errno", "kill"])
def test_both_in_a_container_that_forbids_it(container, action):
    target, run = container(all_but(prctl=action))
    before = target.snapshot()
    run("eval", 1, "answer + 1", spec=all_but(prctl=action)).assert_refused(4, "prctl")
    target.assert_as_before(before)
    assert target.finish()["answer"] == 41


def test_filter_that_nobody_knows(newest_python):
    """hangdbg has one too, but whether it is the same cannot be known."""
    target = filtered(newest_python, DOCKER)
    before = target.snapshot()
    run_filtered("eval", target.pid, "1").assert_refused(4, "seccomp", "host")
    target.assert_as_before(before)
    target.finish()
