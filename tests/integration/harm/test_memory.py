"""A process that is short of memory can be asked as well."""

import interpreters
import memory
from harness import start

TARGET_KIB = 1024
# Each thread has heaps of its own there, which touch a page or two for each size.
FREE_THREADED_KIB = 1280
OURS_KIB = 15 * 1024


def test_memory_of_an_evaluation(python, tmp_path):
    # Always without bytecode that is there already: who compiles leaves room in its heaps,
    # and whether an earlier test has left some is chance.
    target = start("sleep", python, env={"PYTHONPYCACHEPREFIX": str(tmp_path / "none")})
    found = memory.of_an_evaluation(target, tmp_path)
    limit = (FREE_THREADED_KIB if interpreters.variant(python) == interpreters.FREE_THREADED
             else TARGET_KIB)
    # Not Rss or Pss: pages of the interpreter's file, which the kernel may drop.
    for when in ("during", "after"):
        assert found[when]["Private_Dirty"] < limit, found
        assert found[when]["Anonymous"] < limit, found
    assert found["ours"] < OURS_KIB, found
    target.finish()
