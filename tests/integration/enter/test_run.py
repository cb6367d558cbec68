"""`hangdbg run -- COMMAND` is COMMAND from then on. That it may be attached to
where Yama is: test_vm.py."""

import os
import signal
import subprocess
import sys

import pytest

import harness
from harness import NOBODY, as_nobody, hangdbg

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

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


@root_only
def test_children(public):
    """In a user namespace its user is who he was, without any rights."""
    command = as_nobody(public + "/hangdbg", "run", "--children", "--")
    script = "cat /proc/self/uid_map; grep CapEff /proc/self/status; exit 7"
    done = subprocess.run([*command, "sh", "-c", script], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=20, text=True)
    if "No space left" in done.stderr:
        pytest.skip("no user namespaces here: " + done.stderr)
    assert (done.returncode, done.stderr) == (7, ""), done
    ids, capabilities = done.stdout.splitlines()
    assert ids.split() == [str(NOBODY), str(NOBODY), "1"], done
    assert int(capabilities.split()[1], 16) == 0, done


@root_only
def test_children_where_it_is_forbidden(public):
    def enter():  # in which the kernel makes none
        os.chroot(public)
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    done = subprocess.run(["/hangdbg", "run", "--children", "--", "/hangdbg", "--version"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20,
                          text=True, preexec_fn=enter)
    assert (done.returncode, done.stdout) == (3, ""), done
    assert "cannot create a user namespace" in done.stderr, done


@pytest.mark.parametrize(
    "command, rc, why",
    [("no-such-command", 127, "No such file"), ("/etc/passwd", 126, "Permission denied")])
def test_a_command_that_cannot_be_run(command, rc, why):
    hangdbg("run", "--", command).assert_refused(rc, command, why)


@pytest.mark.parametrize("words", [[], ["--"], ["-m"], ["--children"]])
def test_without_a_command(words):
    hangdbg("run", *words).assert_refused(2, "missing argument: SCRIPT, or -- COMMAND", "hangdbg run ")
