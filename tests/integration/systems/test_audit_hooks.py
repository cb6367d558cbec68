"""Programs whose audit hook (sys.addaudithook) raises, at what we do: that is the reason
that is given, each time."""

import pytest

import interpreters
from harness import hangdbg, place, start

EVENTS = ["all", "builtins.id", "code.__new__", "compile", "exec", "function.__new__", "import",
          "marshal.loads", "object.__getattr__", "open", "sys._current_frames", "sys._getframe",
          "sys.settrace"]
EXPRESSIONS = {"answer": "41\n", "print(answer)": "41\n", "answer = 41": "",
               "(lambda: answer)()": "41\n", "1/0": None}


def audited(python, event):
    target = start("audited", python, event)
    if not target.ready["hooks"]:
        target.finish()
        pytest.skip("this Python has no audit hooks")
    return target


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("source_only", [False, True])
def test_the_hook_is_the_reason(event, source_only, some_python):
    target = audited(some_python, event)
    before = target.snapshot()
    env = {"HANGDBG_TEST_SOURCE_ONLY": "1"} if source_only else None
    for expression, printed in EXPRESSIONS.items():
        done = hangdbg("eval", target.pid, expression, *place(target), env=env)
        if done.rc == 0:
            assert done.out == printed, done
            continue
        assert done.rc == 1, done
        if expression == "1/0" and "ZeroDivisionError: division by zero" in done.err:
            continue
        assert "RuntimeError: no to %s" % ("" if event == "all" else event) in done.err, done
        # Who raised it cannot be told where no frame may be looked at.
        assert "audited.py" in done.err or event in ("all", "object.__getattr__"), done
    target.assert_as_before(before, arenas=4)
    assert target.finish()["answer"] == 41


HEARS = """import sys
sys.heard = []
def hook(event, _, heard=sys.heard):
    if event in ("sys.settrace", "sys.setprofile"):
        heard.append(event)
        raise RuntimeError("no to " + event)
sys.addaudithook(hook)"""


@pytest.mark.parametrize("words", [
    ("-c", "hold", "-c", "n", "-c", "n"), ("-c", "b spin", "-c", "b 14", "-c", "c", "-c", "n"),
    ("-c", "b spin", "-c", "c", "-c", "u", "-c", "p [][1:]", "-c", "cl 1", "-c", "c")])
@pytest.mark.parametrize("minor", ["3.8", "3.9", "3.10", "3.11"])
def test_none_hears_of_a_trace(minor, words):
    """A hook that forbids it would have its exception come up in the program's thread, and another
    thread's sys.settrace() raises while it is asked."""
    path = next((it.path for it in interpreters.found() if it.minor == minor), None)
    if path is None:
        pytest.skip("no CPython %s here" % minor)
    target = start("busy", path)
    assert hangdbg("eval", target.pid, HEARS).rc == 0
    done = hangdbg("attach", target.pid, *words)
    assert "busy.py(" in done.out and "stopped" in done.out + "stopped" * ("hold" in words), done
    assert hangdbg("eval", target.pid, "__import__('sys').heard").out == "[]\n"
    target.finish()
