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


@pytest.mark.parametrize("words", [
    ("-c", "hold", "-c", "n", "-c", "n"), ("-c", "b spin", "-c", "b 14", "-c", "c", "-c", "n")])
def test_none_hears_of_a_trace_on_3_11(words):
    """There another thread's sys.settrace() raises while the hook is asked about ours."""
    path = next((it.path for it in interpreters.found() if it.minor == "3.11"), None)
    if path is None:
        pytest.skip("no CPython 3.11 here")
    target = start("busy", path)
    hook = ("import sys; sys.heard = []; sys.addaudithook(lambda event, _, heard=sys.heard: "
            "heard.append(event) if event == 'sys.settrace' else None)")
    assert hangdbg("eval", target.pid, hook).rc == 0
    done = hangdbg("attach", target.pid, *words)
    assert "busy.py(" in done.out, done
    assert hangdbg("eval", target.pid, "__import__('sys').heard").out == "[]\n"
    target.finish()
