"""The only thread is in a plain FUTEX_WAIT: one of a library's own (libgomp's barrier) is
borrowed, one that may be of libc's own locks is not, and that is said at once."""

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
    for words in (["eval", target.pid, "answer"], ["attach", target.pid, "-c", "p answer"]):
        done = hangdbg(*words, "--timeout", "3600")
        done.assert_refused(4, "it waits for a low-level lock of libc",
                            "none of its threads has moved", "hangdbg dump %d" % target.pid)
    assert hangdbg("peek", target.pid, "answer", "--frame", "call_c").out == "41\n"
    assert target.finish()["result"] == 1
