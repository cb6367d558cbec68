"""What comes on a channel is not what hangdbg writes: noise, and records of the
right shape whose fields are hostile. Nothing gets stuck, and nothing stays."""

import os
import random
import struct
import subprocess
import sys

import pytest

import processes
from harness import PATIENCE, evaluate, hangdbg, outcome, start, start_hangdbg, track, until

# bootstrap/shared.h: HdControlKind, HdDoorKind, and some that are no such kind
HELLO, STATUS, ENTER_NOW, CANCEL, STAGE, ERROR, INTERPRETER = range(1, 8)
TO_AGENT = [HELLO, STATUS, ENTER_NOW, CANCEL, INTERPRETER, 0, 8, 0xFFFFFFFF]
TO_HANGDBG = [STAGE, ERROR, HELLO, 0, 8, 0xFFFFFFFF]
JOIN, THREAD_DONE = 1, 2
VALUES = [0, 1, 5, 7, 8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
MOST_SESSIONS = 8


@pytest.fixture
def target(edge_python):
    hung = start("lock_main", edge_python)
    before = hung.snapshot()
    yield hung
    until("our threads gone", lambda: len(processes.threads(hung.pid)) == 1)
    hung.assert_as_before(before, arenas=4)
    assert evaluate(hung, "answer + 1") == "42"
    assert hung.finish()["answer"] == 41


@pytest.fixture
def dice():
    seed = random.randrange(2**32)
    print("seed", seed)
    return random.Random(seed)


def test_noise(target, dice):
    """Written to every descriptor of a session, at both ends."""
    for which in range(2):
        run = session_of(target)
        pid = (target.pid, run.pid)[which]
        for number, what in processes.fds(pid).items():
            if number > 2 and what.startswith(("socket:", "pipe:")):
                write_into(pid, number, dice.randbytes(dice.randrange(1, 100)))
        ends_in_good_manners(run, 0, 4)


@pytest.mark.parametrize("kinds", [TO_AGENT, TO_HANGDBG], ids=["to-agent", "to-hangdbg"])
def test_hostile_records(target, dice, kinds):
    for _ in range(8):
        run = session_of(target)
        pid = run.pid if kinds is TO_AGENT else target.pid
        write_into(pid, control_channel(pid), b"".join(
            record(dice.choice(kinds), dice.choice(VALUES)) for _ in range(dice.randrange(1, 9))))
        ends_in_good_manners(run, 0, 1, 4)


def test_every_hostile_record(target):
    """One at a time, to a session that answers when it is not refused."""
    for kind in TO_AGENT:
        run = session_of(target)
        write_into(run.pid, control_channel(run.pid), record(kind, 0xFFFFFFFF))
        ends_in_good_manners(run, 0, 1, 4)


def test_strangers_at_the_door(target, tmp_path):
    """They say that they come, and never do; a real client finds its place when
    the agent has given them up."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    run = session_of(target, "open(%r).read()" % str(fifo))
    (rendezvous,) = [number for number, what in processes.fds(target.pid).items()
               if number > 2 and what.startswith("pipe:") and is_writable(target.pid, number)]
    write_into(target.pid, rendezvous, *(
        record(kind, value) for kind in (THREAD_DONE, 0, 0xFFFFFFFF) for value in VALUES))
    joins = writer_into(
        target.pid, rendezvous, 2, [record(JOIN, 1000 + n) for n in range(MOST_SESSIONS)])
    until("all places taken", lambda: len(processes.sockets(target.pid)) > 2 * MOST_SESSIONS)
    # The refusal that it looks for may be a stranger's by then.
    hangdbg("eval", target.pid, "1", "--timeout", "1").assert_refused(4)
    assert joins.wait(PATIENCE) == 0
    until("they are given up", lambda: len(processes.sockets(target.pid)) == 2)
    assert evaluate(target, "answer + 1") == "42"
    fifo.write_text("")
    ends_in_good_manners(run, 0)


# ---- helpers


def session_of(target, expression="__import__('time').sleep(1)"):
    """A hangdbg whose expression is running. Another one, where it was over before we saw it."""
    def one():
        run = start_hangdbg("eval", target.pid, expression)
        until("its channels", lambda: run.poll() is not None or (
            "hangdbg-exec" in processes.threads(target.pid).values()
            and len(processes.sockets(run.pid)) == len(processes.sockets(target.pid)) == 2))
        if run.poll() is None:
            return run
        ends_in_good_manners(run, 0)
        return None

    return until("one that still runs", one)


def ends_in_good_manners(run, *codes):
    done = outcome(run)
    assert done.rc in codes, done
    if done.rc:
        done.assert_refused(done.rc)


def record(kind, value):
    return struct.pack("II", kind, value)


def control_channel(pid):
    """It was made before the other one."""
    inodes = {what: number for number, what in processes.fds(pid).items()
              if what.startswith("socket:")}
    return inodes[min(inodes, key=lambda what: int(what[len("socket:["):-1]))]


def is_writable(pid, number):
    with open("/proc/%d/fdinfo/%d" % (pid, number)) as file:
        return any(line.startswith("flags:") and int(line.split()[1], 8) & 1 for line in file)


def write_into(pid, number, *pieces):
    """Into another process's descriptor, as if it had written itself."""
    writer_into(pid, number, 0, pieces).wait(PATIENCE)


def writer_into(pid, number, seconds, pieces):
    """A process that does so once, and again and again for so long."""
    script = """if True:
        import ctypes, os, sys, time
        pid, fd, seconds, *pieces = sys.argv[1:]
        call = ctypes.CDLL(None).syscall
        taken = call(438, call(434, int(pid), 0), int(fd), 0)  # pidfd_getfd, pidfd_open
        os.set_blocking(taken, False)
        end = time.monotonic() + float(seconds)
        while True:
            for piece in pieces:
                os.write(taken, bytes.fromhex(piece))
            if time.monotonic() >= end:
                break
            time.sleep(0.2)
    """
    return track(subprocess.Popen(
        [sys.executable, "-c", script, str(pid), str(number), str(seconds),
         *(piece.hex() for piece in pieces)], start_new_session=True, stderr=subprocess.DEVNULL))
