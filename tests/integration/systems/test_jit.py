"""A thread that waits inside of code that CPython's JIT has made (3.14 on, PYTHON_JIT=1): no
module has that code, and nobody says how its frames are unwound."""

import re
import subprocess

import pytest

import interpreters
from harness import hangdbg, in_targets, start

COUNT = 200001  # lock_in_hot_loop.py
LINE = 1 + in_targets("lock_in_hot_loop.py").read_text().splitlines().index(
    "        lock.acquire()")


def has_jit(interpreter):
    return subprocess.run(
        [interpreter.path, "-c", "import sys; sys.exit(not sys._jit.is_available())"],
        stderr=subprocess.DEVNULL, check=False).returncode == 0


WITH_JIT = [pytest.param(it.path, id=interpreters.name(it)) for it in interpreters.found()
            if interpreters.minor(it.path) >= 14 and has_jit(it)]


@pytest.fixture(params=WITH_JIT or [pytest.param(None, id="none", marks=pytest.mark.skip(
    "no CPython with a JIT here"))])
def hot(request):
    target = start("lock_in_hot_loop", request.param, env={"PYTHON_JIT": "1"})
    yield target
    assert target.finish()["taken"] == COUNT


def test_a_wait_in_compiled_code(hot):
    native = hangdbg("dump", "--native", hot.pid).out
    before_python, _, _ = native.partition(" take (")
    assert re.search(r"^ +0x[0-9a-f]+$", before_python, re.M), native  # in no module: the JIT's
    shown = hangdbg("dump", "--locals", "--json", hot.pid).json()["processes"][0]["threads"][0]
    assert (shown["exact"], shown["complete"], shown["locals_exact"]) == (True,) * 3, shown
    assert [frame["function"] for frame in shown["frames"]] == ["take", "<module>"]
    assert shown["frames"][0]["line"] == LINE
    values = {name: one["repr"] for name, one in shown["frames"][0]["locals"].items()}
    assert (values["taken"], values["label"]) == (str(COUNT), "'hot'")
    assert "waits for the Lock `lock`" in hangdbg("diagnose", hot.pid).out


def test_it_is_asked(hot):
    for _ in range(3):
        done = hangdbg("eval", hot.pid, "taken, label, len(locks)")
        assert (done.rc, done.out) == (0, "(%d, 'hot', %d)\n" % (COUNT, COUNT)), done
