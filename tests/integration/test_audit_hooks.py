"""Programs whose audit hook (sys.addaudithook) raises, at what we do: that is the reason
that is given, each time."""

import pytest

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
