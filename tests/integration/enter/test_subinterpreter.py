"""A thread that hangs in a subinterpreter: asked there, by its tid, its name and
by default; with the GIL that all share and with one of its own."""

import subprocess

import pytest

from harness import evaluate, hangdbg, place, start
from test_matrix import ends_normally


pytestmark = pytest.mark.once
MODULES = "try: import _interpreters\nexcept ImportError: import _xxsubinterpreters"


@pytest.fixture(params=["legacy", "isolated"])
def inside(request, python):
    if subprocess.run([python, "-c", MODULES], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this CPython was built without a module for subinterpreters")
    return start("subinterpreter", python, request.param)


def test_eval(inside):
    before = inside.snapshot()
    assert evaluate(inside, "answer + 1") == "42"
    assert evaluate(inside, "[x for x in range(3) if x in seen]") == "[0, 2]"
    assert evaluate(inside, "answer = 43") == ""
    assert evaluate(inside, "answer") == "43"
    # Its modules, not those of the main interpreter.
    main = "__import__('sys').modules['__main__']"
    assert evaluate(inside, "hasattr(%s, 'worker'), hasattr(%s, 'wait_inside')" % (main, main)) == (
        "(False, True)")
    ends_normally(inside, before, answer=43)


def test_found_by_default_and_by_name(inside):
    for thread in ([], ["--thread", "enters"]):
        done = hangdbg("eval", inside.pid, "answer", *thread, "--json")
        assert done.rc == 0, done
        assert done.json()["repr"] == "41", done
        assert done.json()["thread"] == inside.tid
        assert done.json()["frame"]["function"] == "wait_inside"
    inside.finish()


def test_from_one_to_the_other(inside):
    before = inside.snapshot()
    done = hangdbg(
        "attach", inside.pid, "--thread", inside.tid,
        "-c", "p answer", "-c", "thread main", "-c", "p __name__",
        "-c", "thread enters", "-c", "answer = 43",
    )
    assert done.rc == 0, done
    lines = done.out.splitlines()
    assert lines.index("41") < lines.index("'threading'")
    ends_normally(inside, before, answer=43)


def test_timeout(inside):
    before = inside.snapshot()
    done = hangdbg(
        "eval", inside.pid, "[0 for _ in iter(int, 1)]", *place(inside), "--timeout", "3"
    )
    done.assert_refused(4, "cancelled")
    assert evaluate(inside, "answer") == "41"
    ends_normally(inside, before, answer=41, arenas=4)


def test_interpreter_ends_in_mid_session(inside, terminal):
    session = terminal(inside.pid, *place(inside))
    session.expect_prompt()
    session.ask("p answer", "^41$")
    assert inside.finish()["answer"] == 41
