"""The only thread is in a plain FUTEX_WAIT: one of a library's own (libgomp's barrier) is
borrowed, one that may be of libc's own locks is not, and that is said at once."""

import re

import pytest

from harness import evaluate, hangdbg, start, until

pytestmark = pytest.mark.skipif(
    "not __import__('shutil').which('gcc')", reason="there is no gcc")


def test_of_a_library(edge_python, library):
    target = start("c_hangs", edge_python, library, "barrier")
    before = target.snapshot()
    for _ in range(3):
        assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before, arenas=3)
    result = target.finish()
    assert (result["answer"], result["result"]) == (41, 1), result


def test_of_libc(newest_python, library):
    target = start("c_hangs", newest_python, library, "low_level_wait")
    until("it has slept for a second", lambda: (
        hangdbg("ps", target.pid, "--json").json()["processes"][0]["waiting_s"] or 0) > 1)
    done = hangdbg("eval", target.pid, "answer", "--timeout", "3600")
    done.assert_refused(4, "it waits for a low-level lock of libc",
                        "none of its threads has moved", "hangdbg dump %d" % target.pid)
    # A prompt opens all the same, and shows what can be seen out of process.
    commands = ("where", "threads", "list", "up", "p answer", "c")
    done = hangdbg("attach", target.pid, "--timeout", "3600",
                   *(part for c in commands for part in ("-c", c)))
    assert done.rc == 4 and "looking at %d (python 3." % target.pid in done.out, done
    for shown in ("nothing was entered", "call_c()", "MainThread"):
        assert shown in done.out, done
    assert re.search(
        r"^read-only: .*it waits for a low-level lock of libc; stacks and source work, "
        r"other commands do not$", done.err, re.M), done
    assert done.err.count("none of its threads has moved") == 2, done  # of p and c
    assert hangdbg("peek", target.pid, "answer", "--frame", "call_c").out == "41\n"
    assert target.finish()["result"] == 1
