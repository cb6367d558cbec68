"""Questions drawn at random to a program whose threads never rest, some of them cut off
by SIGKILL; and the proof that harm would be seen. scripts/soak does it for longer."""

import random
import signal

import pytest

from harness import PROGRAM
from questions import FAULTS, draw
from stress import Restless, ask_beside, run_to_end

pytestmark = pytest.mark.once
KILLED = 0.1


@pytest.mark.parametrize("count", [12, pytest.param(24, marks=pytest.mark.slow)])
def test_goes_on_as_if_nobody_had_asked(count, python, tmp_path):
    chance = random.Random(count)
    with Restless(python, tmp_path) as target:
        for _ in range(count):
            beside = ask_beside(target) if chance.random() < 0.2 else None
            question = draw(chance, target)
            kill_after = chance.uniform(0, 0.1) if chance.random() < KILLED else None
            run = run_to_end([PROGRAM, *question.words], kill_after)
            if run.rc != -signal.SIGKILL:
                assert not question.wrong(run), question.wrong(run)
            assert not target.harm(), question
            if beside:
                beside.wait()
        assert not target.end()


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_fault_is_found(fault, newest_python, tmp_path):
    with Restless(newest_python, tmp_path) as target:
        run = run_to_end([PROGRAM, "eval", target.pid, FAULTS[fault], "--thread", target.tid])
        assert run.rc in (0, 4), run  # the program may have ended of it
        assert target.end(), run


def test_a_program_that_nobody_asks_is_well(newest_python, tmp_path):
    with Restless(newest_python, tmp_path) as target:
        assert not target.end()
