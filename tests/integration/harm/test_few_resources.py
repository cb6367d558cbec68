"""hangdbg itself has few descriptors, little memory, or no thread: it says so in one
line, and never takes what it could not look at for what is not there."""

import json
import os

import pytest

from harness import NOBODY, PROGRAM, Target, as_nobody, behind, evaluate, start

COMMANDS = {
    "ps": ["ps"],
    "eval": ["eval", "PID", "answer"],
    "attach": ["attach", "PID", "-c", "w"],
    "dump": ["dump", "PID"],
    "dump -n": ["dump", "PID", "--native", "--locals"],
    "peek": ["peek", "PID", "answer"],
    "diagnose": ["diagnose", "PID"],
    "threads": ["threads", "PID"],
    "locks": ["locks", "PID"],
    "fds": ["fds", "PID"],
    "net": ["net", "PID"],
    "tree": ["tree", "PID"],
    "around": ["around", "PID"],
    "trace": ["trace", "PID", "--for", "0.1"],
    "doctor": ["doctor", "PID"],
    "dap": ["dap"],
    "serve": ["serve", "--listen", "tcp:127.0.0.1:0", "--until-eof"],
}
RAN_OUT = "out of file descriptors"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def words_of(command, pid):
    return [pid if word == "PID" else word for word in COMMANDS[command]]


def assert_said_if(failed, done, target, what):
    """In one line, and a hint; and never that the process is not there."""
    said = [line for line in done.err.splitlines() if line.startswith("hangdbg: ")]
    assert (len(said) == 1 and what in said[0]) == failed, done
    assert "no process %d" % target.pid not in done.out + done.err, done
    assert "terminate called" not in done.err, done


@pytest.mark.parametrize("command", COMMANDS)
def test_few_descriptors(command, newest_python):
    """It can be done, or it is said why not."""
    target = start("lock_main", newest_python)
    before = target.snapshot()
    codes = []
    for count in range(3, 21):
        done = behind("prlimit", "--nofile=%d:%d" % (count, count), PROGRAM)(
            *words_of(command, target.pid))
        assert done.rc in (0, 4), (count, done)
        assert_said_if(done.rc == 4, done, target, "%s: hangdbg may have %d " % (RAN_OUT, count))
        codes.append(done.rc)
    assert codes[0] == 4, codes
    assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before, arenas=4)
    target.finish()


@pytest.mark.parametrize("command", ["eval", "dump", "peek", "diagnose", "ps", "doctor"])
def test_few_descriptors_as_json(command, newest_python):
    target = start("lock_main", newest_python)
    done = behind("prlimit", "--nofile=3:3", PROGRAM)(*words_of(command, target.pid), "--json")
    assert done.rc == 4, done
    json.loads(done.out)  # one document
    assert "out-of-resources" in done.out or RAN_OUT in done.err, done
    assert "no-such-process" not in done.out, done
    target.finish()


def test_the_soft_limit_can_be_raised(newest_python):
    target = start("lock_main", newest_python)
    done = behind("prlimit", "--nofile=8:400", PROGRAM)("eval", target.pid, "answer")
    done.assert_refused(4, RAN_OUT, "try: ulimit -n 400")
    target.finish()


def least_memory():
    """MiB of address space in which the program can be loaded at all."""
    for size in range(4, 4096):
        if behind("prlimit", "--as=%d" % (size << 20), PROGRAM)("--version").rc == 0:
            return size
    return pytest.skip("it needs an address space of more than 4 GiB")


def test_little_memory(newest_python):
    target = start("lock_main", newest_python)
    before = target.snapshot()
    least = least_memory()
    for command in ("eval", "dump", "dump -n", "ps", "diagnose", "serve"):
        for more in (0, 1, 2, 3, 5, 8, 12, 20):
            done = behind("prlimit", "--as=%d" % ((least + more) << 20), PROGRAM)(
                *words_of(command, target.pid))
            assert done.rc in (0, 4), (more, done)
            assert_said_if(done.rc == 4, done, target, "")
    assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before, arenas=4)
    target.finish()


def limited_nobody(folder):
    """hangdbg as somebody who may have one process, which is one thread."""
    return behind(*as_nobody("prlimit", "--nproc=1:1", folder + "/hangdbg"))


@needs_root
@pytest.mark.parametrize("command", ["dap", "serve"])
def test_no_thread_for_a_server(command, public):
    done = limited_nobody(public)(*COMMANDS[command])
    done.assert_refused(4, "cannot start a thread", "ulimit -u")


@needs_root
def test_no_thread_for_an_attach(public):
    if not os.path.exists("/usr/bin/python3"):
        pytest.skip("needs a Python that every user can run")
    target = Target(as_nobody("/usr/bin/python3", public + "/targets/lock_main.py"))
    target.wait_hung()
    assert os.stat("/proc/%d" % target.pid).st_uid == NOBODY
    before = target.snapshot()
    for command in ("eval", "attach", "trace"):
        done = limited_nobody(public)(*words_of(command, target.pid))
        done.assert_refused(4, "cannot start a thread", "ulimit -u")
    for command in ("dump", "peek", "threads"):  # these can do without
        assert limited_nobody(public)(*words_of(command, target.pid)).rc == 0
    target.assert_as_before(before, arenas=0)
    target.finish()
