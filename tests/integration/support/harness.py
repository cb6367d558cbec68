"""Starts a target, waits until it hangs, runs hangdbg on it, resumes it.

    target = start("lock_main", python)         # returns once it hangs
    answer = hangdbg("eval", target.pid, "answer + 1")
    result = target.finish()                    # it went on and ended normally

Every wait has a deadline and waits for something to be seen in /proc or read
from a pipe. Everything started is in a process group of its own and is killed
by `stop_everything()`, which conftest calls after each test, whatever happened;
and by the kernel, should pytest itself be killed.
"""

import contextlib
import ctypes
import functools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import interpreters
import processes

ROOT = Path(__file__).resolve().parents[3]
TARGETS = ROOT / "tests" / "targets"
PROGRAM = Path(os.environ.get("HANGDBG", ROOT / "build" / "hangdbg"))

NOBODY = 65534
NORMAL_EXIT = 7  # tests/targets/common.py
PATIENCE = 60.0  # seconds; for what takes milliseconds on a quiet machine
AGENT_GONE = PATIENCE  # from the end of hangdbg until nothing of it is left
BACK_FROM_PRINT_NS = 10 ** 7  # of CPU time, within which ready() has returned

PR_SET_PDEATHSIG = 1  # linux/prctl.h

_started = []
_libc = ctypes.CDLL(None)
# Before a command's words: SIGKILL for it when the process that started it dies. It is
# setpriv(1) that asks, for a function that runs before exec has the whole of pytest forked,
# which takes ten times as long as all else of a start.
DYING_WITH_US = [shutil.which("setpriv"), "--pdeathsig", "KILL", "--"]


def die_with_us():
    """The same as a preexec_fn of subprocess, for what is started seldom."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def faulthandler_stacks(file):
    """[[[function, file, line], ...], ...] of each thread, when all is written there. It is
    written piece by piece, and main, whose first frame is the module, is last."""
    said = until("it has said all", lambda: re.fullmatch(
        r"(.+\n)+.+ in <module>\n", file.read_text().replace("\n\n", "\n")))
    stacks = []
    for line in said.group().splitlines():
        frame = re.fullmatch(r'  File "(.+)", line (\d+) in (.+)', line)
        if frame is None:
            stacks.append([])
        else:
            name, number, function = frame.groups()
            stacks[-1].append([function, name, int(number)])
    return stacks


def until(what, condition, seconds=PATIENCE):
    """Polls `condition()` until it is true and returns its value; says `what`
    was waited for if the time is up. What takes long is not asked all the time: those that
    it waits for need the CPU."""
    end = time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now > end:
            raise AssertionError("not within %.0f s: %s" % (seconds, what))
        time.sleep(min(max(0.01, 2 * (now - begun)), 1))


# ---- targets


@functools.lru_cache(maxsize=None)
def in_targets(name):
    """The file of tests/targets that has this name, in whatever room it is."""
    found = [path for path in TARGETS.rglob(name) if not path.is_symlink()]
    assert len(found) == 1, "%s: %s" % (name, found or "not in tests/targets")
    return found[0]


def copy_targets(folder):
    """All of them into a new folder, without rooms: a script finds those that it imports."""
    os.mkdir(folder)
    for path in TARGETS.rglob("*"):
        if path.suffix not in (".md", ".pyc") and path.is_file() and not path.is_symlink():
            shutil.copy(path, folder)


def start(name, python, *args, env=None):
    """Starts the target NAME.py and returns it once it hangs."""
    source = in_targets(name + ".py")
    if (
        interpreters.variant(python) == interpreters.MUSL
        and "import ctypes" in source.read_text()
    ):
        pytest.skip("musl's Python has no ctypes: Debian has no libffi for musl")
    target = Target([python, source, *args], env)
    target.wait_hung()
    return target


class Target:
    """A process that hangs. `ready` is its first line (tests/targets/common.py);
    `tid` the thread that hangs, `function` the name of the hung function."""

    def __init__(self, command, env=None, ready_seconds=PATIENCE):
        self.errors = tempfile.TemporaryFile()
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **(env or {}))
        # What the target is to be loaded with may be nothing for setpriv.
        own_loader = any(name.startswith("LD_") for name in environment)
        self.process = subprocess.Popen(
            [*([] if own_loader else DYING_WITH_US), *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_us if own_loader else None,
        )
        _started.append(self.process)
        # Without a GIL the first thread beside main's may want a heap of its own:
        # 1 GiB of address space, once.
        self.heap = (1 << 30) * any(
            interpreters.variant(str(part)) == interpreters.FREE_THREADED for part in command)
        self.unread = b""
        self.ready = self.read_line(ready_seconds)
        self.pid = self.ready["pid"]
        self.tid = self.ready["tid"]
        self.function = self.ready["function"]

    def wait_hung(self, seconds=PATIENCE):
        """Waits until the thread sleeps in its system call: the same call with
        the same context switches in three looks. One that loops is asleep if
        one look finds it there; one that has no call is to run."""
        expected = [processes.syscall_name(call) for call in self.ready["syscalls"]]
        looks, ran = [], processes.ran_ns(self.pid, self.tid)

        def hung():
            looks.append(processes.thread_activity(self.pid, self.tid))
            if not expected:  # once it has run on after it printed its line
                return (looks[-1].syscall == "running"
                        and processes.ran_ns(self.pid, self.tid) > ran + BACK_FROM_PRINT_NS)
            if looks[-1].syscall not in expected:
                return False
            if self.ready.get("loops"):
                return True
            return len(looks) >= 3 and looks[-1] == looks[-2] == looks[-3]

        until("%d asleep in %s" % (self.tid, expected), hung, seconds)
        self.noise = self.stderr()  # torch warns of what it misses, for one

    def go_on(self):
        """Tells the target to continue, in the way that it asked for."""
        way = self.ready["go_on"]
        if way == "SIGUSR1":
            self._await_sleep()
            os.kill(self.pid, signal.SIGUSR1)
        elif way == "stdin":
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        elif way == "unlink":
            os.unlink(self.ready["path"])

    def _await_sleep(self):
        """Of the main thread, for a second at most, if it is to sleep: a signal that comes
        just before wakes nothing, as when a debugger has detached from it."""
        call = Path("/proc/%d/task/%d/syscall" % (self.pid, self.pid))
        end = time.monotonic() + (1 if self.ready["syscalls"] else 0)
        while time.monotonic() < end:
            seen = call.read_text()
            time.sleep(0.01)
            if "running" not in seen and call.read_text() == seen:
                break

    def finish(self, seconds=PATIENCE):
        """Lets the target continue and returns its last line, after checking that
        it ended as it does without a debugger."""
        self.go_on()
        result = self.read_line(seconds)
        assert self.process.wait(seconds) == NORMAL_EXIT, self.stderr()
        assert self.stderr() == self.noise, self.stderr()
        assert result.pop("signals_changed") == []
        return result

    def read_line(self, seconds):
        """The next JSON line that the target prints."""
        end = time.monotonic() + seconds
        pipe = self.process.stdout.fileno()
        while b"\n" not in self.unread:
            left = end - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise AssertionError("the target said nothing: %s%s" % (
                    self.stderr(), self.where()))
            chunk = os.read(pipe, 65536)
            if not chunk:
                raise AssertionError(
                    "the target ended with %s: %s"
                    % (self.process.wait(seconds), self.stderr())
                )
            self.unread += chunk
        line, _, self.unread = self.unread.partition(b"\n")
        return json.loads(line)

    def where(self):
        """Each thread's call and the signals that wait for it, and what Python does there."""
        kernel = ""
        for task in Path("/proc/%d/task" % self.process.pid).glob("*"):
            with contextlib.suppress(OSError):  # it has ended
                waiting = [line for line in (task / "status").read_text().splitlines()
                           if line.startswith(("State", "SigPnd", "ShdPnd", "SigBlk"))]
                kernel += "%s: %s; %s\n" % (
                    task.name, "; ".join(waiting), (task / "syscall").read_text().strip())
        return kernel + hangdbg("dump", self.process.pid, "--native").out

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def snapshot(self):
        return processes.snapshot(self.pid)

    def assert_as_before(self, before, arenas=2):
        """Nothing of hangdbg is left in the target in the target, soon."""
        differences = []

        def same():
            differences[:] = processes.differences(
                before, self.snapshot(), arenas, self.heap if arenas else 0)
            return not differences

        try:
            until("the target as it was", same, AGENT_GONE)
        except AssertionError as late:
            raise AssertionError("%s: %s" % (late, "; ".join(differences))) from None


def agent_goes(target, seconds=AGENT_GONE):
    """The next one finds no thread of this one's."""
    until("the agent has gone", lambda: not processes.debugger_threads(target.pid), seconds)


# ---- hangdbg


class Outcome:
    """How a run of hangdbg ended: `rc`, `out`, `err` (text), `seconds`."""

    def __init__(self, rc, out, err, seconds):
        self.rc, self.out, self.err, self.seconds = rc, out, err, seconds

    def __repr__(self):
        return "rc %s after %.2f s\n--- stdout\n%s\n--- stderr\n%s" % (
            self.rc,
            self.seconds,
            self.out,
            self.err,
        )

    def json(self):
        return json.loads(self.out)

    def assert_refused(self, rc, *words):
        """It failed in good manners: the exit code, one clear line on stderr
        and at most three with hints after it, `words` in it, nothing raw."""
        assert self.rc == rc, self
        lines = self.err.strip().splitlines()
        assert 1 <= len(lines) <= 4, self
        for raw in ("Traceback", "terminate called", "what():", "Assertion"):
            assert raw not in self.err, self
        for word in words:
            assert str(word) in self.err, self

    def assert_refused_as_json(self, rc, *words):
        """The same with --json: the error is all that there is on stdout, on one line,
        and nothing is on stderr. Returns it."""
        assert (self.rc, self.err, self.out.count("\n")) == (rc, "", 1), self
        said = self.json()
        assert list(said) == ["error"], self
        error = said["error"]
        assert sorted(error) == ["hint", "message", "type"] and error["message"], self
        for word in words:
            assert str(word) in error["message"] + "\n" + error["hint"], self
        return error


def start_hangdbg(*args, env=None, stdin=subprocess.DEVNULL):
    """Starts hangdbg and returns its Popen, with pipes for stdout and stderr."""
    process = subprocess.Popen(
        [*DYING_WITH_US, str(PROGRAM), *map(str, args)],  # static: no loader of its own
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ, **(env or {})),
        start_new_session=True,
        text=True,
    )
    process.started_at = time.monotonic()
    _started.append(process)
    return process


def outcome(process, seconds=PATIENCE):
    """Waits for a hangdbg that start_hangdbg started."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill_group(process)
        out, err = process.communicate(timeout=5)
        raise AssertionError(
            "hangdbg did not end within %.0f s\n%s\n%s" % (seconds, out, err)
        ) from None
    return Outcome(
        process.returncode, out, err, time.monotonic() - process.started_at
    )


def hangdbg(*args, env=None):
    """Runs hangdbg to its end."""
    return outcome(start_hangdbg(*args, env=env))


def behind(*command):
    """hangdbg, run by another program."""

    def run(*arguments, env=None):
        done = subprocess.run(
            [*map(str, command), *map(str, arguments)], cwd="/", text=True,
            env=dict(os.environ, **(env or {})),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=PATIENCE,
        )
        return Outcome(done.returncode, done.stdout, done.stderr, 0)

    return run


def as_nobody(*command):
    """The command line that runs `command` as a user without any rights."""
    ids = ["--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]
    return ["setpriv", *ids, *command]


def evaluate(target, expression):
    """`hangdbg eval` in the hung function of `target`, whatever thread and frame
    that is; asserts that it worked and returns what was printed."""
    done = hangdbg("eval", target.pid, expression, *place(target))
    assert done.rc == 0, done
    return done.out.rstrip("\n")


def place(target):
    """The flags that name the hung function's frame."""
    return ["--thread", target.tid, "--frame", target.ready.get("frame", 0)]


# ---- the end


def track(process):
    """Has stop_everything() kill a process that a test started by itself."""
    _started.append(process)
    return process


def kill_group(process):
    """Kills the process, and the group that it leads if it does, and waits for it. Once it has
    been waited for, its number may be another's: the kernel gives none of a group that is left."""
    if process.poll() is None or not os.path.exists("/proc/%d" % process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait(10)


def stop_everything():
    while _started:
        process = _started.pop()
        kill_group(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass
