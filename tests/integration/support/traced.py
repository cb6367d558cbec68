"""A program that makes the system calls that it is told to make, and hangdbg trace of it."""

import json
import subprocess

import pytest

import harness
from harness import in_targets, outcome, start_hangdbg, until


@pytest.fixture(scope="session")
def caller(tmp_path_factory):
    """tests/targets/calls/syscalls.c, built."""
    program = tmp_path_factory.mktemp("syscalls") / "syscalls"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", program, in_targets("syscalls.c")],
                   check=True)
    return program


class Caller:
    """That program: it makes the calls that it is told to make."""

    def __init__(self, program, folder, stderr=None):
        folder.mkdir(exist_ok=True)
        self.process = harness.track(subprocess.Popen(
            [str(program)], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=stderr, text=True, start_new_session=True,
            preexec_fn=harness.die_with_us))
        word, pid = self.process.stdout.readline().split()
        assert word == "ready"
        self.pid = int(pid)

    def tell(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()

    def said(self, expected):
        assert self.process.stdout.readline() == expected + "\n"

    def finish(self):
        """It continues as without a debugger."""
        self.tell("exit")
        self.said_nothing_more()

    def said_nothing_more(self):
        rest, _ = self.process.communicate(timeout=harness.PATIENCE)
        assert (rest, self.process.returncode) == ("", 7)


@pytest.fixture
def target(caller, tmp_path):
    return Caller(caller, tmp_path / "calls")


def status(pid, field):
    for line in open("/proc/%d/status" % pid):
        if line.startswith(field + ":"):
            return line.split(None, 1)[1].strip()
    raise AssertionError("no " + field)


def is_traced(pid):
    return status(pid, "TracerPid") != "0"


def await_trace(pid, before):
    """Until each call of a process that sleeps is seen: it was stopped once, again at
    the entry of the call that it went on with, and sleeps there."""
    until("the trace", lambda: switches(pid) >= before + 3 and is_traced(pid)
          and status(pid, "State")[0] == "S")


def switches(pid):
    return int(status(pid, "voluntary_ctxt_switches"))


def start_trace(pid, *args):
    """hangdbg trace, once it has that process, which sleeps."""
    until("it sleeps", lambda: status(pid, "State")[0] == "S"
          and open("/proc/%d/syscall" % pid).read() != "running\n")
    before = switches(pid)
    trace = start_hangdbg("trace", pid, *args)
    await_trace(pid, before)
    return trace


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def calls_of(text):
    return [one for one in objects(text) if "call" in one]


def traced(caller, folder, what, *args):
    """The calls of that process as it does `what` and ends."""
    target = Caller(caller, folder)
    trace = start_trace(target.pid, "--json", *args)
    target.tell(what)
    target.said("done " + what.split()[0])
    target.finish()
    done = outcome(trace)
    assert done.rc == 0 and done.err == "", done
    return target, done
