"""Expressions that raise, and objects that do when they are shown."""

import sys

from harness import PY, Agent, Skip


def check_error_in_expression():
    agent = Agent()
    main = sys.modules["__main__"]
    exec(compile("def fails(x):\n    return 1 / x\n", "/src/fails.py", "exec"), main.__dict__)
    refused = agent.refused("evaluate", expression="fails(0)")
    assert refused.id == "expression-failed" and refused.type == "ZeroDivisionError"
    assert refused.text == "ZeroDivisionError: division by zero"
    assert refused.traceback == [
        "Traceback (most recent call last):", '  File "<expression>", line 1, in <module>',
        '  File "/src/fails.py", line 2, in fails', "ZeroDivisionError: division by zero"]


def check_syntax_error():
    agent = Agent()
    refused = agent.refused("evaluate", expression="x = = 1")
    assert refused.type == "SyntaxError"
    assert refused.text == "SyntaxError: invalid syntax"
    assert refused.traceback[0] == '  File "<expression>", line 1'
    assert refused.traceback[1].endswith("x = = 1")
    assert refused.traceback[2].endswith("    ^")
    for text in ("", "(", "a b", "'", "return 1", "await x", "\0", "  x = (", "\ud800"):
        refused = agent.refused("evaluate", expression=text) if text else None
        assert text == "" or refused.id == "expression-failed", text
    assert agent.request("evaluate", expression="")["hangdbg"]["none"] is True


def check_every_exception_is_caught():
    agent = Agent()
    for name in ("SystemExit", "KeyboardInterrupt", "GeneratorExit", "StopIteration",
                 "BaseException", "MemoryError", "RecursionError"):
        refused = agent.refused("evaluate", expression="raise %s('x')" % name)
        assert (refused.id, refused.type, refused.text) == (
            "expression-failed", name, name + ": x"), refused
    assert agent.refused("evaluate", expression="__import__('sys').exit(3)").text == "SystemExit: 3"
    refused = agent.refused("evaluate", expression="(lambda f: f(f))(lambda f: f(f))")
    assert refused.type == "RecursionError" and len(refused.traceback) < 110
    refused = agent.refused("evaluate", expression="__import__('no.such')")
    assert refused.type == "ModuleNotFoundError"


def check_hostile_exceptions():
    agent = Agent()
    main = sys.modules["__main__"]

    class BadStr(Exception):
        def __str__(self):
            raise ValueError

    class ExitStr(Exception):
        def __str__(self):
            raise SystemExit

    class Lines(Exception):
        def __str__(self):
            return "a\nb\n" + "x" * 10 ** 6

        @property
        def __class__(self):
            raise AssertionError("user code ran")

    main.BadStr, main.ExitStr, main.Lines = BadStr, ExitStr, Lines
    refused = agent.refused("evaluate", expression="raise BadStr")
    assert refused.text.endswith("BadStr: <exception str() failed>"), refused
    refused = agent.refused("evaluate", expression="raise ExitStr")
    assert refused.text.endswith("ExitStr: <exception str() failed>")
    refused = agent.refused("evaluate", expression="raise Lines")
    assert "Lines: a b xxx" in refused.text and len(refused.text) < 10100
    assert refused.traceback[-2] == "b"
    assert agent.result("1") == "1"


def check_hostile_reprs():
    agent = Agent()
    main = sys.modules["__main__"]

    def kind(name, function):
        setattr(main, name, type(name, (), {"__repr__": function})())

    def fails(self):
        raise LookupError("no repr")

    def exits(self):
        raise SystemExit

    kind("fails", fails)
    kind("exits", exits)
    kind("number", lambda self: 5)
    kind("recursive", lambda self: repr(self))
    kind("huge", lambda self: "x" * 3000000)
    assert agent.refused("evaluate", expression="fails").text == "LookupError: no repr"
    assert agent.refused("evaluate", expression="exits").type == "SystemExit"
    assert agent.refused("evaluate", expression="number").type == "TypeError"
    assert agent.refused("evaluate", expression="recursive").type == "RecursionError"
    assert agent.request("evaluate", expression="huge")["hangdbg"]["truncated"] == 2000000
    assert agent.result("1") == "1"


def check_hostile_classes():
    agent = Agent()

    class Meta(type):
        def __getattribute__(cls, name):
            raise AssertionError("user code ran")

    def hostile(*args):
        raise AssertionError("user code ran")

    main = sys.modules["__main__"]
    main.evil = Meta("Evil", (), {
        "__getattribute__": hostile, "__class__": property(hostile), "__eq__": hostile,
        "__bool__": hostile, "__hash__": hostile, "__repr__": lambda self: "<evil>"})
    body = agent.request("evaluate", expression="type.__call__(evil)")
    assert body["result"] == "<evil>" and body["type"] == "Evil"


def check_warnings_are_output():
    agent = Agent()
    if PY < (3, 8):
        raise Skip("CPython 3.7 has no SyntaxWarning for `is` with a literal")
    assert agent.result("1 is 1") == "True"
    (category, text), = agent.output()
    assert category == "stderr" and "SyntaxWarning" in text


def check_exceptions_that_belong_together():
    """What one came of before it, members after their group; none runs the program's code."""
    agent = Agent()
    for part in "engine", "stops", "breakpoints", "exceptions":
        agent.load(part)

    class Strange(ValueError):
        @property
        def __class__(self):
            raise AssertionError("user code ran")

    first, second = KeyError("first"), Strange("second")
    second.__cause__ = first
    assert agent.names["_related"](second) == [(0, first), (0, second)]
    if PY >= (3, 11):
        inner = ExceptionGroup("inner", [TypeError(1), second])  # noqa: F821
        outer = ExceptionGroup("outer", [inner, OSError(2)])  # noqa: F821
        depths = [(depth, type(one).__name__) for depth, one in agent.names["_related"](outer)]
        assert depths == [(0, "ExceptionGroup"), (1, "ExceptionGroup"), (2, "TypeError"),
                          (2, "Strange"), (1, "OSError")], depths
