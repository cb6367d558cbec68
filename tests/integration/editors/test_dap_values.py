"""What an editor is shown of frames and values, and what it can change of them."""

import pytest

import interpreters
from dap_client import DapClient, Refused
from harness import PATIENCE, in_targets, start


@pytest.fixture
def editor():
    with DapClient.stdio() as client:
        yield client


class Look:
    """At target `values`, by the frame of a function of its."""

    def __init__(self, editor, target, function):
        self.editor = editor
        thread = editor.attach(target.pid)["threadId"]
        self.frame, = [frame["id"] for frame in editor.call("stackTrace", threadId=thread)[
            "stackFrames"] if frame["name"] == function]

    def scopes(self):
        return {scope["name"]: scope for scope in self.editor.call(
            "scopes", frameId=self.frame)["scopes"]}

    def expand(self, what, **arguments):
        found = self.editor.call(
            "variables", variablesReference=what["variablesReference"], **arguments)["variables"]
        return {variable["name"]: variable for variable in found}

    def evaluate(self, expression, context):
        return self.editor.call(
            "evaluate", expression=expression, frameId=self.frame, context=context)


def test_values_are_shown_and_set(python, editor):
    target = start("values", python)
    before = target.snapshot()
    look = Look(editor, target, "inside")
    scopes = look.scopes()
    assert list(scopes) == ["Locals", "Closure", "Globals"]
    free = look.expand(scopes["Closure"])
    table = look.expand(free["table"])
    assert table["'list'"]["value"] == "[10, 20]"
    assert look.expand(table["5"])["0"]["evaluateName"] == "table[5][0]"
    odd = table["'odd'"]
    assert odd["value"].startswith("<__main__.Odd object at 0x")
    attributes = look.expand(odd)
    inner = attributes["inner"]["evaluateName"]
    assert look.evaluate(inner, "watch")["result"] == "[1, 2]"

    assert attributes["works"]["presentationHint"]["lazy"] is True
    works, = look.expand(attributes["works"]).values()
    assert works["value"] == "{'k': [1, 2]}"
    assert editor.event("output", category="stdout")["output"] == "computed\n"
    raises, = look.expand(attributes["raises"]).values()
    assert raises["value"] == "<ValueError: not today>"
    assert "expensive" in scopes["Globals"] and "Odd" in look.expand(scopes["Globals"])

    def set_in(what, name, value):
        return editor.call("setVariable", variablesReference=what["variablesReference"],
                           name=name, value=value)["value"]

    assert set_in(scopes["Closure"], "answer", "answer + 1") == "42"
    assert set_in(table["'list'"], "1", "answer") == "42"
    assert editor.call("setExpression", expression=inner, value="[*table]",
                       frameId=look.frame)["value"] == "['list', 5, 'odd']"
    editor.disconnect()
    target.assert_as_before(before, arenas=4)
    result = target.finish()
    assert (result["answer"], result["list"]) == (42, [10, 42])
    assert result["inner"] == ["list", 5, "odd"]


def test_a_property_and_a_repr_that_hang_are_cancelled(edge_python, editor):
    target = start("values", edge_python)
    look = Look(editor, target, "inside")
    odd = look.expand(look.expand(look.scopes()["Closure"])["table"])["'odd'"]
    hangs = look.expand(odd)["hangs"]

    for command, arguments in (
            ("variables", {"variablesReference": hangs["variablesReference"]}),
            ("evaluate", {"expression": "table['odd']", "context": "watch",
                          "frameId": look.frame})):
        number = editor.request(command, **arguments)
        assert target.read_line(PATIENCE) == {"loops": True}
        editor.call("cancel", requestId=number)
        assert editor.response(number)["message"] == "cancelled"
    assert look.expand(odd)["inner"]["value"] == "[1, 2]"
    assert look.evaluate("table['odd'].inner[0]", "hover")["result"] == "1"
    with pytest.raises(Refused):
        look.evaluate("table['odd'].hangs", "hover")
    editor.disconnect()
    target.finish()


def test_crowded_and_long(edge_python, editor):
    target = start("values", edge_python)
    look = Look(editor, target, "crowded")
    scope = look.scopes()["Locals"]
    assert scope["namedVariables"] == 10001
    crowd = look.expand(scope)
    assert len(crowd) == 10001 and crowd["v9999"]["value"] == "[9999]"
    assert look.expand(crowd["v9999"])["0"]["evaluateName"] == "v9999[0]"
    page = look.expand(scope, start=5000, count=3)
    assert len(page) == 3 and set(page) <= set(crowd)
    editor.disconnect()
    target.finish()


def test_a_long_text_is_cut_and_copied_whole(edge_python, editor):
    target = start("values", edge_python)
    look = Look(editor, target, "hang")
    text = look.expand(look.scopes()["Locals"])["text"]
    assert len(text["value"]) < 2000 and text["hangdbg"]["truncated"] == 999000
    whole = look.evaluate(text["evaluateName"], "clipboard")["result"]
    assert whole == "'%s'" % ("x" * 1000000)
    editor.disconnect()
    target.finish()


def test_cancelled_at_once_many_times(edge_python, editor):
    """The agent may hear of the cancel before it has read what is cancelled. Without a
    GIL each takes 0.1 s, and on a busy machine ten times that."""
    target = start("values", edge_python)
    look = Look(editor, target, "inside")
    free_threaded = interpreters.variant(edge_python) == interpreters.FREE_THREADED
    for _ in range(20 if free_threaded else 100):
        number = editor.request("evaluate", expression="while True: pass", frameId=look.frame,
                                context="repl")
        editor.request("cancel", requestId=number)
        assert editor.response(number)["message"] == "cancelled"
    assert look.evaluate("answer", "watch")["result"] == "41"
    editor.disconnect()
    target.finish()


def test_modules_and_sources(edge_python, editor):
    target = start("values", edge_python)
    before = target.snapshot()
    editor.attach(target.pid)
    body = editor.call("modules")
    assert body["totalModules"] == len(body["modules"]) > 20
    found = {module["name"]: module for module in body["modules"]}
    script = str(in_targets("values.py"))
    assert found["__main__"]["path"] == script and found["__main__"]["isUserCode"]
    assert found["threading"]["path"].endswith("/threading.py")
    assert not found["threading"]["isUserCode"] and "path" not in found["sys"]
    page = editor.call("modules", startModule=5, moduleCount=3)
    assert page["modules"] == body["modules"][5:8]
    sources = [source["path"] for source in editor.call("loadedSources")["sources"]]
    assert script in sources and found["threading"]["path"] in sources
    editor.disconnect()
    target.assert_as_before(before, arenas=4)
    target.finish()
