"""A signal at any moment, or the loss of its terminal, ends what runs and lets go of
what is held."""

import os
import pty
import signal
import subprocess
import time

import pytest

from harness import PATIENCE, PROGRAM, die_with_us, place, start, track, until
from processes import thread_activity
from test_hold import call_of, commands

WAITS = ["n", "s", "r", "unt", "c"]


@pytest.mark.parametrize("moment", range(12))
def test_interrupted_at_any_moment(moment, newest_python):
    """Of a list of commands none is done after it."""
    target = start("lock_main", newest_python)
    call = call_of(target)
    process = track(subprocess.Popen(
        [str(word) for word in (PROGRAM, "attach", target.pid, *place(target),
                                *commands("hold", "n", "n"), "--timeout", PATIENCE * 2)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True, preexec_fn=die_with_us))
    time.sleep(0.02 * moment)  # only which moment it is depends on that
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode in (130, -signal.SIGINT), (process.returncode, output)
    until("the thread in its call", lambda: call_of(target) == call)
    assert target.finish()["answer"] == 41


@pytest.mark.parametrize("command", WAITS)
def test_terminal_goes_away(command, newest_python):
    """Of one that is nobody's controlling terminal: there is no SIGHUP."""
    target = start("lock_main", newest_python)
    call = call_of(target)
    master, slave = pty.openpty()
    process = track(subprocess.Popen(
        [str(word) for word in (PROGRAM, "attach", target.pid, *place(target))],
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        preexec_fn=die_with_us))
    os.close(slave)
    seen = b""

    def read_until(text):
        nonlocal seen
        while text not in seen:
            seen += os.read(master, 65536)
        seen = b""
    read_until(b"(hangdbg ")
    if command == "c":  # which waits only where there is a breakpoint
        os.write(master, b"b %s\r" % target.function.encode())
        read_until(b"Breakpoint")
    os.write(master, b"hold\r")
    read_until(b"is suspended")
    held = call_of(target)
    os.write(master, command.encode() + b"\r")
    until("it waits", lambda: call_of(target) not in (held, "running\n"))
    os.close(master)
    process.wait(PATIENCE)
    until("the thread in its call", lambda: call_of(target) == call)
    assert thread_activity(target.pid, target.tid).syscall == "futex"
    assert target.finish()["answer"] == 41
