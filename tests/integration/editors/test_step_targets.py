"""stepInTargets: one of the calls that a line makes, and no other."""

import linecache

import interpreters
from harness import in_targets, start, until
from test_dap import editor, stack  # noqa: F401
from test_step import asleep_at

PATH = str(in_targets("calls.py"))

# line -> its calls: as they are shown, on 3.7 (where that is something else), the function
# that is come to, and its arguments there.
CALLS = {
    "plain = outer": [("outer(inner(1), inner(2))", "outer()", "outer", "(first, second)", "(1, 2)"),
                 ("inner(1)", "inner()", "inner", "number", "1"),
                 ("inner(2)", "inner()", "inner", "number", "2")],
    "chain = ": [("Made(3)", "Made()", "__init__", "number", "3"),
                 ("Made(3).value()", "(...).value()", "value", "self.number", "3"),
                 ("decorated(4)", "decorated()", "counts", "arguments", "(4,)")],
    "lines = ": [("outer( inner(5), decorated(6), )", "outer()", "outer", "second", "6"),
                 ("inner(5)", "inner()", "inner", "number", "5"),
                 ("decorated(6)", "decorated()", "counts", "arguments", "(6,)")],
    "either = ": [("inner(7)", "inner()", "inner", "number", "7"),
                  ("outer(0, 1)", "outer()", "outer", "second", "1"),
                  ("inner(8)", "inner()", None, None, None)],
}
AWAITED = [("later(1)", "later()", "later", "number", "1"),
           ("inner(await later(2))", "inner()", "inner", "number", "2"),
           ("later(2)", "later()", "later", "number", "2")]


def line_number(text):
    return next(number for number, line in enumerate(linecache.getlines(PATH), 1)
                if line.strip().startswith(text))


def targets_of(editor, thread):
    frame = stack(editor, thread)[0]["id"]
    return editor.call("stepInTargets", frameId=frame)["targets"]


def arrive(editor, thread, request, **arguments):
    editor.call(request, threadId=thread, **arguments)
    editor.event("stopped", threadId=thread)
    return stack(editor, thread)[0]


def step_to(editor, thread, text):
    while not linecache.getline(PATH, stack(editor, thread)[0]["line"]).strip().startswith(text):
        arrive(editor, thread, "next")


def go_back(editor, thread, text):
    (target,) = editor.call("gotoTargets", source={"path": PATH},
                            line=line_number(text))["targets"]
    arrive(editor, thread, "goto", targetId=target["id"])


def value(editor, frame, expression):
    return editor.call("evaluate", expression=expression, frameId=frame["id"])["result"]


def leave(editor, target):
    editor.disconnect()
    until("the second wait", lambda: asleep_at(target, "locks[1].acquire()"))
    return target.finish()


def assert_each_can_be_stepped_into(editor, thread, calls, python, again):
    for number, (label, old_label, function, expression, wanted) in enumerate(calls):
        targets = targets_of(editor, thread)
        shown = [label if interpreters.minor(python) > 7 else old for label, old, *_ in calls]
        assert [target["label"] for target in targets] == shown
        assert targets[number]["line"] >= stack(editor, thread)[0]["line"]
        frame = arrive(editor, thread, "stepIn", targetId=targets[number]["id"])
        if function is None:  # it is not called
            assert frame["name"] == "run" and "return" in linecache.getline(PATH, frame["line"])
        else:
            assert frame["name"] == function, (label, frame)
            assert value(editor, frame, expression) == wanted
            arrive(editor, thread, "stepOut")
            arrive(editor, thread, "next")  # a jump starts at a line
        again()


def test_each_call_of_a_line(python, editor):
    target = start("calls", python)
    thread = editor.attach(target.pid)["threadId"]
    editor.call("pause", threadId=thread)
    editor.event("stopped", description="held")
    editor.call("next", threadId=thread)
    target.go_on()
    editor.event("stopped", reason="step")
    for text, calls in CALLS.items():
        step_to(editor, thread, text)
        assert_each_can_be_stepped_into(editor, thread, calls, python,
                                        lambda: go_back(editor, thread, text))
    assert leave(editor, target) == {"sums": [3, 7, 2, 11, 7], "awaited": 3}


def test_coroutines(python, editor):
    """It is come to where it is awaited."""
    target = start("calls", python)
    thread = editor.attach(target.pid)["threadId"]
    line = line_number("awaited = await")
    editor.call("setBreakpoints", source={"path": PATH}, breakpoints=[{"line": line}])
    target.go_on()
    editor.event("stopped", reason="breakpoint")
    assert_each_can_be_stepped_into(editor, thread, AWAITED, python,
                                    lambda: go_back(editor, thread, "awaited = await"))
    assert leave(editor, target)["awaited"] == 3


def test_what_is_done_already(python, editor):
    """In the middle of a statement only those that come are left; one in C leads to the
    next line; old numbers lead nowhere."""
    target = start("calls", python)
    thread = editor.attach(target.pid)["threadId"]
    editor.call("pause", threadId=thread)
    editor.event("stopped", description="held")
    assert targets_of(editor, thread) == []  # nothing comes after lock.acquire()
    editor.call("next", threadId=thread)
    target.go_on()
    editor.event("stopped", reason="step")
    minor = interpreters.minor(python)
    step_to(editor, thread, "listed = ")
    labels = [target["label"].partition("(")[0] for target in targets_of(editor, thread)]
    assert labels == ["len", *["inner"] * (minor > 11), "range", "inner"]
    in_c = targets_of(editor, thread)[0]
    frame = arrive(editor, thread, "stepIn", targetId=in_c["id"])
    assert linecache.getline(PATH, frame["line"]).strip().startswith("lines = ")
    step_to(editor, thread, "decorated(6)")
    labels = [target["label"].partition("(")[0] for target in targets_of(editor, thread)]
    assert labels == ["outer", "decorated"]
    answer = editor.response(editor.request("stepIn", threadId=thread, targetId=7))
    assert "no such target" in answer["body"]["error"]["format"]
    outermost = stack(editor, thread)[-1]
    assert editor.call("stepInTargets", frameId=outermost["id"])["targets"] == []
    leave(editor, target)
