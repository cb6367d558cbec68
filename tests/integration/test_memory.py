"""A process that is short of memory can be asked as well."""

import memory
from harness import start

TARGET_KIB = 1024
OURS_KIB = 15 * 1024


def test_memory_of_an_evaluation(python, tmp_path):
    target = start("sleep", python)
    found = memory.of_an_evaluation(target, tmp_path)
    # Not Rss or Pss: pages of the interpreter's file, which the kernel may drop.
    for when in ("during", "after"):
        assert found[when]["Private_Dirty"] < TARGET_KIB, found
        assert found[when]["Anonymous"] < TARGET_KIB, found
    assert found["ours"] < OURS_KIB, found
    target.finish()
