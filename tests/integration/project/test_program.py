"""The program itself: one static file that needs nothing of the machine, with
exceptions that work, and an agent that every version can be given."""

import struct
import subprocess

from harness import PROGRAM, evaluate, hangdbg, start

PT_DYNAMIC, PT_INTERP = 2, 3


def test_is_one_static_file():
    with open(str(PROGRAM), "rb") as file:
        image = file.read()
    offset, = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    kinds = {struct.unpack_from("<I", image, offset + i * size)[0] for i in range(count)}
    assert count > 2 and not kinds & {PT_DYNAMIC, PT_INTERP}


def test_exceptions_are_caught():
    """libunwind beside libgcc's unwinder has made static programs abort."""
    done = subprocess.run([str(PROGRAM), "--self-test-exception"], timeout=20,
                          stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, b"caught: raised\n")


def test_agent_from_source(python):
    """As in a target whose version the build machine did not have."""
    target = start("lock_main", python)
    done = hangdbg("eval", target.pid, "answer", env={"HANGDBG_TEST_SOURCE_ONLY": "1"})
    assert (done.rc, done.out) == (0, "41\n"), done
    assert evaluate(target, "answer + 1") == "42"
    target.finish()
