"""What is typed at the prompt of pdb 3.14 and at ours, in a terminal each, in the same frame:
the same answers, but for what prompt_inputs.py and docs/coming-from.md list."""

import re

import pytest

import interpreters
from prompt_inputs import FIRST, INPUTS, PROGRAM
from two_prompts import pdb, prompt


def like(answer, folder):
    """Without what is another one's in each process."""
    answer = answer.replace(str(folder) + "/", "")
    answer = re.sub(r"0x[0-9a-f]+", "0x", answer)
    return "\n".join(line.rstrip() for line in answer.strip("\n").split("\n"))


@pytest.mark.timeout(240)
def test_the_same_inputs(tmp_path):
    found = [it for it in interpreters.found() if it.minor == "3.14" and not it.variant]
    if not found:
        pytest.skip("no CPython 3.14")
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    theirs, ours = pdb(found[-1].path, script), prompt(found[-1].path, script)
    try:
        for one in (theirs, ours):
            one.says("tbreak %s:%d" % (script, FIRST))
        ours.waiting.stdin.close()
        places = [like(one.says("c"), tmp_path).split("\n")[-2:] for one in (theirs, ours)]
        assert places[0] == places[1], places
        wrong = []
        for text, reason in INPUTS:
            wanted, seen = (like(one.says(text), tmp_path) for one in (theirs, ours))
            if (wanted == seen) != (reason is None):
                wrong.append("%r (%s)\n  pdb\n%s\n  here\n%s" % (text, reason, wanted, seen))
        assert not wrong, "%d of %d\n%s" % (len(wrong), len(INPUTS), "\n".join(wrong))
    finally:
        theirs.close()
        ours.close()
