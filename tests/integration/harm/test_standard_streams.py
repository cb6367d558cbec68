"""hangdbg's own ends: closed or full stdout and stderr are said, or survived, by each
command, and cost nothing else."""

import errno
import os
import signal
import subprocess

import pytest

from harness import PROGRAM, start

COMMANDS = {
    "ps": ["ps"],
    "ps-json": ["ps", "--json"],
    "eval": ["eval", "PID", "answer"],
    "eval-print": ["eval", "PID", "print('x' * 100000)"],
    "attach": ["attach", "PID", "-c", "w"],
    "dump": ["dump", "PID"],
    "peek": ["peek", "PID", "answer"],
    "diagnose": ["diagnose", "PID"],
    "around": ["around", "PID"],
    "threads": ["threads", "PID"],
    "doctor": ["doctor", "PID"],
    "trace": ["trace", "PID", "--for", "0.2"],
    "help": ["--help"],
    "manual": ["--manual"],
}
FULL, CLOSED = "full", "closed"


def run(words, pid, stream, how):
    """(exit status, what came on the other stream)"""
    def break_stream():
        fd = {"stdout": 1, "stderr": 2}[stream]
        if how == CLOSED:
            os.close(fd)
        else:
            os.dup2(os.open("/dev/full", os.O_WRONLY), fd)

    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = subprocess.run(
        [str(PROGRAM)] + [str(pid) if word == "PID" else word for word in words],
        stdin=subprocess.DEVNULL, preexec_fn=break_stream, timeout=60, **pipes)
    return done.returncode, (done.stderr if stream == "stdout" else done.stdout).decode()


@pytest.mark.parametrize("how", [FULL, CLOSED])
@pytest.mark.parametrize("command", COMMANDS)
def test_output_that_cannot_be_written(command, how, newest_python):
    target = start("lock_main", newest_python)
    code, said = run(COMMANDS[command], target.pid, "stdout", how)
    reason = os.strerror(errno.ENOSPC if how == FULL else errno.EBADF)
    assert code not in (0, -signal.SIGABRT), said
    assert reason in said
    target.finish()


@pytest.mark.parametrize("how", [FULL, CLOSED])
@pytest.mark.parametrize("command", [*COMMANDS, "fails", "bad-word", "nobody"])
def test_errors_that_cannot_be_written(command, how, newest_python):
    words = {**COMMANDS, "fails": ["eval", "PID", "1/0"], "bad-word": ["eval", "--no-such"],
             "nobody": ["dump", "99999999"]}[command]
    target = start("lock_main", newest_python)
    code, said = run(words, target.pid, "stderr", how)
    if command in COMMANDS:
        assert (code, bool(said)) == (0, True), (code, said)
    else:
        assert code == {"fails": 1, "bad-word": 2, "nobody": 2}[command]
    target.finish()


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1], [1, 2], [0, 1, 2]], ids=str)
def test_no_file_gets_the_number_of_a_closed_stream(closed, newest_python):
    """What is then written there would go into it: a process's memory, for one."""
    def close():
        for fd in closed:
            os.close(fd)

    target = start("lock_main", newest_python)
    seen = set()
    program = os.path.realpath(PROGRAM)
    with subprocess.Popen(
            [str(PROGRAM), "eval", str(target.pid), "[0 for _ in iter(int, 1)]",
             "--timeout", "0.5"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=close) as running:
        folder = "/proc/%d/" % running.pid
        while running.poll() is None:
            try:
                if os.readlink(folder + "exe") == program:
                    seen |= {os.readlink(folder + "fd/%d" % fd) for fd in closed}
            except FileNotFoundError:
                pass  # not opened yet, or gone
        assert running.returncode == 4
    assert seen == {os.devnull}
    target.finish()


def test_a_reader_that_goes_away(newest_python):
    """By SIGPIPE, as programs end, and without a word."""
    target = start("lock_main", newest_python)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([str(PROGRAM), "dump", str(target.pid)], stdout=write,
                          stderr=subprocess.PIPE, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")
    target.finish()
