"""`hangdbg run -- COMMAND` is COMMAND from then on. That it may be attached to
where Yama is: test_vm.py."""

import signal
import subprocess
import sys

import pytest

import harness
from harness import hangdbg

SELF = "import os, sys; print(os.getpid(), sys.argv[1:]); sys.exit(%d)"


def test_it_becomes_the_command():
    """The same pid and exit code, and each word as it was."""
    words = ["[a,b]", "--", "", "{}", "--help", "a b"]
    process = harness.start_hangdbg(
        "run", "--", sys.executable, "-c", SELF % 7, *words)
    done = harness.outcome(process)
    assert (done.rc, done.err) == (7, ""), done
    assert done.out == "%d %s\n" % (process.pid, words)


def test_signals_are_as_they_were():
    """hangdbg ignores SIGPIPE, for itself."""
    for ignored in (signal.SIG_DFL, signal.SIG_IGN):
        command = [str(harness.PROGRAM), "run", "--", "grep", "^Sig[BI]", "/proc/self/status"]
        status = [
            subprocess.run(
                words, stdout=subprocess.PIPE, timeout=20, restore_signals=False,
                preexec_fn=lambda ignored=ignored: signal.signal(signal.SIGPIPE, ignored),
            ).stdout
            for words in (command, command[3:])
        ]
        assert status[0] == status[1] and status[0], status


@pytest.mark.parametrize(
    "command, rc, why",
    [("no-such-command", 127, "No such file"), ("/etc/passwd", 126, "Permission denied")])
def test_a_command_that_cannot_be_run(command, rc, why):
    hangdbg("run", "--", command).assert_refused(rc, command, why)


@pytest.mark.parametrize("words", [[], ["--"], ["script.py"], ["-m", "module"], ["x", "--", "y"]])
def test_without_a_command(words):
    hangdbg("run", *words).assert_refused(2, "a command after --", "hangdbg run -- ")
