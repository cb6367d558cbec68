"""CPythons that check themselves (scripts/get-pythons --debug): assertions, guards around
each piece of memory, a count of all references, and one more of each object in those that
trace references. None of them has anything to say of what we do, and no question of
questions.py's costs a reference."""

import random
import re
import signal

import pytest

import interpreters
import processes
from harness import PATIENCE, PROGRAM, until
from questions import draw, each, expression
from stress import Reporting, ask_beside, run_to_end

TIMES = 16  # of each question: some 1,000 on each build
WARM = 4  # before they are counted: caches of Python's, the libc's part
# The cache of methods refers to names, now to these and now to those. However it ends, the
# program goes on.
COUNT = """with resting:
  kept.clear()
  gc.collect(), gc.collect(), gc.collect(), sys._clear_type_cache()
  print("references", sys.gettotalrefcount())"""
# Not by ctypes: from libffi 3.8 on it opens a file, and keeps that.
LEAK = "time.__dict__.setdefault('leaked', []).append(lock)"

pytestmark = pytest.mark.once


def builds():
    return [
        pytest.param(it and it.path, id=name, marks=[] if it else pytest.mark.skip(
            "CPython %s: scripts/get-pythons --debug compiles it" % name))
        for name, it in interpreters.checked().items()]


@pytest.fixture(params=builds())
def build(request):
    return request.param


def references(target):
    """All that there are, while nothing else runs."""
    until("none of its threads but those that stay", lambda: len(
        processes.threads(target.pid)) == 2)
    run = run_to_end([PROGRAM, "eval", target.pid, COUNT, "--timeout", str(PATIENCE)])
    return int(re.search(r"references (\d+)", run.output).group(1))


def ask(question, kill_after=None):
    run = run_to_end([PROGRAM, *question.words], kill_after)
    return None if run.rc == -signal.SIGKILL else question.wrong(run)


def growth(target, question):
    """How many references there are more, or fewer, after asking TIMES times."""
    for _ in range(WARM):
        ask(question)
    before = references(target)
    for _ in range(TIMES):
        wrong = ask(question)
        assert not (wrong or target.harm()), (wrong, target.harm())
    return references(target) - before


@pytest.mark.timeout(3000)
def test_no_reference_is_lost(build, tmp_path):
    with Reporting(build, tmp_path, "quiet") as target:
        grown = {}
        for name, question in each(target).items():
            more = growth(target, question)
            # Perhaps something that is made once: not a second time then.
            if abs(more) > TIMES / 2:
                more = growth(target, question)
            grown[name] = more
        leak = growth(target, expression(target, (LEAK, 0, "", 1)))
        assert not target.end()
        assert TIMES / 2 < leak, grown
        assert all(abs(more) <= TIMES / 2 for more in grown.values()), grown


@pytest.mark.timeout(3000)
def test_has_nothing_to_say(build, tmp_path):
    """As in test_soak.py: at random, some beside others, some killed."""
    chance = random.Random(build)
    with Reporting(build, tmp_path) as target:
        for number in range(TIMES * 8):
            beside = ask_beside(target) if chance.random() < 0.2 else None
            question = draw(chance, target)
            kill_after = chance.uniform(0, 0.3) if chance.random() < 0.1 else None
            wrong = ask(question, kill_after)
            harm = target.harm()
            assert not (wrong or harm), (number, question, wrong, harm)
            if beside:
                beside.wait()
        assert not target.end()
