"""What editors see of frames and values: scopes, variables, setVariable, evaluate."""

import sys
import _thread

import baton
from baton import hang_baton
from harness import PY, Agent, Hung, Skip


class Node:
    kind = "node"

    def __init__(self):
        self.left = [1, 2, 3]
        self.__dict__["not a name"] = 1

    @property
    def size(self):
        reads.append(self)
        return {"inner": self.left}

    @property
    def broken(self):
        raise ValueError("not today")

    def __repr__(self):
        raise AssertionError("user code ran")

    __str__ = __eq__ = __bool__ = __len__ = __iter__ = __repr__


reads = []


class Slotted:
    __slots__ = ("full", "empty")

    def __init__(self):
        self.full = 5


def hang_with(hung, value, **more):
    inner = "seen by a closure"

    def closure():
        local = value
        hung.wait()
        return local, inner, more

    return closure()


class Look:
    """The hung frame `closure` above, in which `local` is the value."""

    def __init__(self, agent, hung):
        self.agent = agent
        self.frame = agent.frame(hung, "closure")

    def scopes(self):
        return {scope["name"]: scope for scope in
                self.agent.request("scopes", frameId=self.frame)["scopes"]}

    def children(self, reference, **arguments):
        found = self.agent.request("variables", variablesReference=reference, **arguments)
        return {child["name"]: child for child in found["variables"]}

    def local(self):
        return self.children(self.scopes()["Locals"]["variablesReference"])["local"]

    def expand(self, child, **arguments):
        return self.children(child["variablesReference"], **arguments)

    def expand_local(self, **arguments):
        return self.expand(self.local(), **arguments)

    def same(self, child):
        """Whether its evaluateName gives what it shows."""
        described = self.agent.request("evaluate", frameId=self.frame, context="hover",
                                       expression=child["evaluateName"])
        return described["result"] == child["value"]


def look_at(value, **more):
    """(agent, hung, look) with the value hung somewhere."""
    agent = Agent()
    return agent, Hung(lambda hung: hang_with(hung, value, **more)), lambda hung: Look(agent, hung)


def check_scopes_and_their_variables():
    agent, hung, look = look_at(3)
    with hung:
        look = look(hung)
        scopes = look.scopes()
        assert list(scopes) == ["Locals", "Closure", "Globals"], scopes
        assert [scopes[name]["expensive"] for name in scopes] == [False, False, True]
        assert [scopes[name]["namedVariables"] for name in ("Locals", "Closure")] == [1, 4], scopes
        local, = look.children(scopes["Locals"]["variablesReference"]).values()
        assert local == {"name": "local", "evaluateName": "local", "value": "3", "type": "int",
                         "variablesReference": 0}, local
        free = look.children(scopes["Closure"]["variablesReference"])
        assert free["inner"]["value"] == "'seen by a closure'"
        assert sorted(free) == ["hung", "inner", "more", "value"]
        names = look.children(scopes["Globals"]["variablesReference"])
        assert "Node" in names and "__builtins__" not in names
        assert names["Node"]["value"] == "<class 'values.Node'>"
        assert names["sys"]["value"] == "<module 'sys'>"
        assert names["hang_with"]["value"].startswith("<function hang_with at 0x")
        assert scopes["Globals"]["namedVariables"] == len(names)
        # A name that only our expression has; and one that hides a global.
        agent.result("fresh = 1; reads = 2", look.frame)
        assert look.children(scopes["Locals"]["variablesReference"])["fresh"]["value"] == "1"
        hidden = look.children(scopes["Globals"]["variablesReference"])["reads"]
        assert agent.result(hidden["evaluateName"], look.frame) == "[]", hidden
        assert look.scopes()["Globals"] == scopes["Globals"], "asked again, another number"


def check_elements():
    import collections
    deque = collections.deque([7, 8])
    ordered = collections.OrderedDict(a=1)
    point = collections.namedtuple("Point", "x y")(1, [2])
    value = {"k": [1, [2, 3]], 5: (4,), None: {6}, 2.5: frozenset([1]), (1, "a"): deque,
             "o": ordered, "p": point, "empty": [], "d": {}}
    agent, hung, look = look_at(value)
    with hung:
        look = look(hung)
        local = look.local()
        assert local["indexedVariables"] == 9 and local["namedVariables"] == 0, local
        found = look.expand(local)
        assert list(found) == ["'k'", "5", "None", "2.5", "(1, 'a')", "'o'", "'p'", "'empty'", "'d'"]
        assert found["'k'"]["value"] == "[1, [2, 3]]" and found["'k'"]["type"] == "list"
        assert found["'o'"]["value"] == "OrderedDict({'a': 1})"
        assert found["'p'"]["value"] == "Point((1, [2]))"
        assert found["(1, 'a')"]["value"] == "deque([7, 8])"
        assert found["'empty'"]["variablesReference"] == 0 == found["'d'"]["variablesReference"]
        assert "evaluateName" not in found["2.5"]
        inner = look.expand(found["'k'"])
        assert inner["1"]["evaluateName"] == "local['k'][1]"
        assert look.expand(inner["1"])["0"]["value"] == "2"
        assert look.expand(found["None"]) == {
            "0": {"name": "0", "value": "6", "type": "int", "variablesReference": 0}}
        assert look.expand(found["(1, 'a')"])["1"]["evaluateName"] == "local[(1, 'a')][1]"
        element = look.expand(found["'o'"])["'a'"]
        assert element["evaluateName"] == "dict.__getitem__(local['o'], 'a')"
        assert agent.result(element["evaluateName"], look.frame) == "1"
        fields = look.expand(found["'p'"])
        assert list(fields) == ["x", "y"] and fields["y"]["evaluateName"] == "local['p'][1]"


def check_frozen_dicts():
    if PY < (3, 15):
        raise Skip("it has no frozendict")
    import builtins
    Derived = type("Derived", (builtins.frozendict,), {"__getitem__": None})
    agent, hung, look = look_at([builtins.frozendict(a=[1]), builtins.frozendict(), Derived(b=2)])
    with hung:
        look = look(hung)
        found = look.expand(look.local())
        assert [one["value"] for one in found.values()] == [
            "frozendict({'a': [1]})", "frozendict()", "Derived(frozendict({'b': 2}))"], found
        inner = look.expand(found["0"])["'a'"]
        assert inner["value"] == "[1]" and inner["evaluateName"] == "local[0]['a']", inner
        derived = look.expand(found["2"])["'b'"]
        assert agent.result(derived["evaluateName"], look.frame) == "2", derived
        agent.refused("setVariable", variablesReference=found["0"]["variablesReference"],
                      name="'a'", value="3")


def check_lazy_imports_stay_lazy():
    if PY < (3, 15):
        raise Skip("it has no lazy imports")
    import builtins
    space = {}
    exec("lazy import wave\nlazy from colorsys import rgb_to_hsv", space)
    agent, hung, look = look_at([space["wave"], space["rgb_to_hsv"], builtins.sentinel("UNSET")])
    with hung:
        found = look(hung).expand_local()
        assert [one["value"] for one in found.values()] == [
            "<lazy_import 'wave'>", "<lazy_import 'colorsys.rgb_to_hsv'>", "UNSET"], found
    assert "wave" not in sys.modules and "colorsys" not in sys.modules


def check_paging():
    agent, hung, look = look_at(list(range(100000)))
    with hung:
        look = look(hung)
        local = look.local()
        assert local["indexedVariables"] == 100000
        page = look.expand(local, filter="indexed", start=99990, count=20)
        assert list(page) == [str(n) for n in range(99990, 100000)]
        assert look.expand(local, filter="named") == {}
        assert list(look.expand(local, start=5, count=2)) == ["5", "6"]
        assert look.expand(local, start=10 ** 12, count=5) == {}
        assert list(look.expand(local, start=-3, count=2)) == ["0", "1"]
        for arguments in ({}, {"count": 10 ** 9}):
            everything = look.expand(local, **arguments)
            assert len(everything) == 20001 and everything["..."]["value"] == "80000 more"
        assert len(look.expand(local, start=90000)) == 10000

    class Both(list):
        pass

    both = Both([1, 2])
    both.x, both.y = 3, 4
    agent, hung, look = look_at(both)
    with hung:
        look = look(hung)
        local = look.local()
        assert (local["indexedVariables"], local["namedVariables"]) == (2, 2)
        assert list(look.expand(local)) == ["0", "1", "x", "y"]
        assert list(look.expand(local, start=1, count=2)) == ["1", "x"]
        assert list(look.expand(local, filter="named", start=1)) == ["y"]
        assert list(look.expand(local, filter="indexed")) == ["0", "1"]
        assert look.expand(local)["1"]["evaluateName"] == "list.__getitem__(local, 1)"


def check_attributes():
    import enum

    class Color(enum.IntEnum):
        RED = 1

    class Text(str):
        pass

    class Guarded:
        taken = property(lambda self: 1)

        def __init__(self):
            self.__dict__["taken"] = 2

    lock = _thread.allocate_lock()
    value = [Node(), Slotted(), KeyError("a"), Color.RED, Text("t"), Node, Guarded(), sys, lock]
    agent, hung, look = look_at(value)
    with hung:
        look = look(hung)
        node, slotted, error, color, text, kind, guarded, module, lock = look.expand_local().values()
        assert node["value"].startswith("<values.Node object at 0x"), node
        attributes = look.expand(node)
        assert sorted(attributes) == ["broken", "left", "not a name", "size"]
        assert attributes["left"]["evaluateName"] == "local[0].left" and look.same(attributes["left"])
        strange = attributes["not a name"]["evaluateName"]
        assert agent.result(strange, look.frame) == "1", strange
        full, = look.expand(slotted).values()
        assert (full["name"], full["value"]) == ("full", "5")
        assert error["value"] == "KeyError('a')" and lock["value"].startswith("<unlocked _thread.lock")
        assert look.expand(error)["args"]["value"] == "('a',)"
        assert color["value"] == "<Color.RED: 1>" and text["value"] == "Text('t')"
        assert look.expand(kind)["kind"]["value"] == "'node'"
        assert look.expand(guarded)["taken"]["value"] == "2"
        assert agent.result(look.expand(guarded)["taken"]["evaluateName"], look.frame) == "2"
        assert look.expand(module)["maxsize"]["value"] == str(sys.maxsize)
        assert reads == []


def check_properties_are_lazy():
    agent, hung, look = look_at(Node())
    with hung:
        look = look(hung)
        attributes = look.expand_local()
        lazy = attributes["size"]
        assert lazy["presentationHint"] == {"kind": "property", "lazy": True} and reads == []
        asked, = look.expand(lazy).values()
        assert asked["name"] == "size" and asked["value"] == "{'inner': [1, 2, 3]}" and len(reads) == 1
        assert look.expand(asked)["'inner'"]["evaluateName"] == "local.size['inner']"
        agent.refused("setVariable", variablesReference=lazy["variablesReference"], name="size",
                      value="1")  # it has no setter
        broken, = look.expand(attributes["broken"]).values()
        assert broken["value"] == "<ValueError: not today>" and broken["type"] == "ValueError"


def check_a_property_that_hangs_is_cancelled():
    agent = Agent()

    class Hangs:
        @property
        def forever(self):
            raise agent.cancelled

    agent, hung, look = look_at(Hangs())
    with hung:
        look = look(hung)
        forever = look.expand_local()["forever"]
        refused = agent.refused("variables", variablesReference=forever["variablesReference"])
        assert refused.id == "cancelled"


def check_one_that_cannot_be_read_costs_no_other():
    agent, hung, look = look_at([1, Node(), 3])
    with hung:
        look = look(hung)
        agent.names["need"]("variables")
        plain = agent.names["instance_dict"]

        def fails(value):
            if type(value) is Node:
                raise SystemError("the C code is unhappy")
            return plain(value)

        agent.names["instance_dict"] = fails
        found = look.expand_local()
        assert [child["value"] for child in found.values()] == ["1", "<unreadable: SystemError>", "3"]


def check_long_values_are_cut():
    agent, hung, look = look_at(["x" * 10 ** 6, b"y" * 10 ** 6, [["z" * 300] * 30] * 30, 1 << 10 ** 6])
    with hung:
        look = look(hung)
        text, raw, nested, number = look.expand_local().values()
        assert len(text["value"]) < 1100 and text["hangdbg"] == {"truncated": 10 ** 6 - 1000}
        assert len(raw["value"]) < 1100 and raw["hangdbg"] == {"truncated": 10 ** 6 - 1000}
        assert len(nested["value"]) < 2500 and number["value"] == "<int of 1000001 bits>"
        whole = agent.result(text["evaluateName"], look.frame, context="clipboard")
        assert whole == repr("x" * 10 ** 6)
        watched = agent.request("evaluate", expression="local[0]", frameId=look.frame, context="watch")
        assert len(watched["result"]) == 10000 and watched["hangdbg"]["truncated"] == 10 ** 6 - 9998


def check_evaluate_for_editors():
    agent, hung, look = look_at(Node())
    with hung:
        look = look(hung)

        def ask(expression, context):
            return agent.request("evaluate", expression=expression, frameId=look.frame, context=context)

        answer = ask("local.left", "watch")
        assert (answer["result"], answer["indexedVariables"]) == ("[1, 2, 3]", 3)
        assert look.expand(answer)["2"]["evaluateName"] == "local.left[2]"
        assert ask("x = 1", "repl")["result"] == "" and ask("None", "repl")["result"] == "None"
        made = ask("[local.left + [4]]", "repl")
        assert "evaluateName" not in look.expand(made)["0"], "it would be another object"
        assert look.expand(look.expand(made)["0"])["3"]["value"] == "4"
        assert ask("local", "hover")["result"].startswith("<values.Node object at")
        assert ask("local.left[1]", "hover")["result"] == "2"
        for expression in ("local.size", "reads.append(1)", "1 + 1", "nothing", ""):
            assert agent.refused("evaluate", expression=expression, frameId=look.frame,
                                 context="hover").id == "expression-failed"
        assert reads == []
        # Without a context nothing is kept: that is our own prompt.
        kept = len(agent.names["_sessions"][1].references.entries)
        assert agent.request("evaluate", expression="[1]", frameId=look.frame)[
            "variablesReference"] == 0
        assert len(agent.names["_sessions"][1].references.entries) == kept
    main = sys.modules["__main__"]
    main.outside = {"a": [1]}
    answer = agent.request("evaluate", expression="outside", context="repl")
    child, = agent.request("variables", variablesReference=answer["variablesReference"])["variables"]
    assert child["evaluateName"] == "outside['a']"
    assert agent.request("evaluate", expression="outside", context="hover")["result"] == "{'a': [1]}"


def check_set_variable():
    class Plain:
        pass

    plain = Plain()
    plain.a = 1
    value = {"list": [1, 2], "object": plain, "slots": Slotted(), "tuple": (1,)}
    agent, hung, look = look_at(value)
    with hung:
        look = look(hung)

        def set_in(reference, name, text):
            return agent.request("setVariable", variablesReference=reference, name=name, value=text)

        found = look.expand_local()
        assert set_in(found["'list'"]["variablesReference"], "0", "9") == {
            "value": "9", "type": "int", "variablesReference": 0}
        answer = set_in(found["'list'"]["variablesReference"], "1", "[len('abc')]")
        assert (answer["value"], answer["type"], answer["indexedVariables"]) == ("[3]", "list", 1)
        assert look.expand(answer)["0"]["value"] == "3"
        assert value["list"] == [9, [3]]
        set_in(found["'object'"]["variablesReference"], "a", "local['list']")
        assert plain.a is value["list"]
        set_in(found["'slots'"]["variablesReference"], "full", "6")
        assert value["slots"].full == 6
        set_in(look.local()["variablesReference"], "'tuple'", "'new'")
        assert value["tuple"] == "new"
        scopes = look.scopes()
        set_in(scopes["Globals"]["variablesReference"], "reads", "['set']")
        assert globals()["reads"] == ["set"]
        assert set_in(scopes["Closure"]["variablesReference"], "inner", "'mended'")["value"] == "'mended'"
        set_in(scopes["Locals"]["variablesReference"], "local", "local['list'] + [0]")
        assert look.local()["value"] == "[9, [3], 0]"

        for reference, name, text, id in (
                (scopes["Locals"]["variablesReference"], "local", "x = 1", "expression-failed"),
                (scopes["Locals"]["variablesReference"], "local", "1/0", "expression-failed"),
                (scopes["Locals"]["variablesReference"], "nothing", "1", "bad-message"),
                (look.local()["variablesReference"], "7", "1", "bad-message"),
                (10 ** 6, "a", "1", "no-such-frame")):
            assert agent.refused("setVariable", variablesReference=reference, name=name,
                                 value=text).id == id, (name, text)
    assert hung.result[:2] == ([9, [3], 0], "mended"), hung.result


def check_what_cannot_be_set():
    agent, hung, look = look_at((1, 2))
    with hung:
        look = look(hung)
        refused = agent.refused("setVariable", variablesReference=look.local()["variablesReference"],
                                name="0", value="5")
        assert refused.text == "0 cannot be given another value", refused
        assert refused.id == "bad-message"


def check_set_expression():
    agent, hung, look = look_at({"a": [1, 2]})
    with hung:
        look = look(hung)

        def set_to(expression, value):
            return agent.request("setExpression", expression=expression, value=value,
                                 frameId=look.frame)["value"]

        assert set_to("local['a'][0]", "5 # five") == "5"
        assert set_to("inner", "inner[:4]") == "'seen'"
        answer = agent.request("setExpression", expression="local", value="[local]",
                               frameId=look.frame)
        assert look.expand(answer)["0"]["evaluateName"] == "local[0]"
        for expression, value in (("f()", "1"), ("local; x", "1"), ("1", "1"), ("local", "x = 1"),
                                  ("", "1"), ("local", "")):
            assert agent.refused("setExpression", expression=expression, value=value,
                                 frameId=look.frame).id == "expression-failed", expression
    assert hung.result[:2] == ([{"a": [5, 2]}], "seen")


def check_numbers_end_with_their_frame():
    import gc
    import weakref

    class Value:
        def __init__(self):
            self.inner = Node()

    refs = []

    def first(hung):
        value = Value()
        refs.append(weakref.ref(value))
        hung.wait()

    def both(hung):
        first(hung)
        hung.wait()

    agent = Agent()
    with Hung(both) as hung:
        frame = agent.frame(hung, "first")
        stays = agent.frame(hung, "both")
        scope = agent.request("scopes", frameId=frame)["scopes"][0]["variablesReference"]
        other = agent.request("scopes", frameId=stays)["scopes"][0]["variablesReference"]
        child, = agent.request("variables", variablesReference=scope)["variables"][1:]
        gc.disable()
        hung.step()
        for reference in (scope, child["variablesReference"]):
            assert agent.refused("variables", variablesReference=reference).id == "no-such-frame"
        assert agent.request("variables", variablesReference=other)["variables"]
        agent.request("scopes", frameId=stays)
    assert refs[0]() is None, "it is kept alive"
    gc.enable()


def check_the_number_of_numbers_is_bounded():
    agent = Agent()
    agent.names["need"]("variables")
    references = agent.names["References"]()
    references.MOST = 10
    values = [[n] for n in range(30)]
    numbers = [references.add("value", value, "", 0) for value in values]
    assert len(references.entries) == 10 == len(references.numbers)
    assert numbers[-1] in references.entries and numbers[0] not in references.entries
    assert references.add("value", values[-1], "", 0) == numbers[-1]


def check_a_crowded_scope_is_quick():
    import time
    agent = Agent()
    names = {"hang": None}
    lines = "".join("  v%d = [%d, 'x']\n" % (n, n) for n in range(10000))
    exec("def crowded(hung):\n" + lines + "  hung.wait()\n", names)
    with Hung(names["crowded"]) as hung:
        frame = agent.frame(hung, "crowded")
        start = time.process_time()
        scope = agent.request("scopes", frameId=frame)["scopes"][0]
        answer = agent.request("variables", variablesReference=scope["variablesReference"])
        seconds = time.process_time() - start
        assert len(answer["variables"]) == 10001 == scope["namedVariables"]
        assert answer["variables"][10000]["value"] == "[9999, 'x']"
        assert seconds < 5, seconds


def check_arrays_show_metadata():
    class dtype:
        kind, itemsize, str = "f", 8, "<f8"

    dtype.__module__ = "numpy"

    class ndarray:
        def __init__(self, *shape):
            self.shape = shape
            self.dtype = dtype()

        def __getitem__(self, at):
            return ndarray(*self.shape[1:])

    numpy = sys.modules["numpy"] = type(sys)("numpy")
    numpy.ndarray, numpy.dtype = ndarray, dtype
    agent, hung, look = look_at(ndarray(2, 3))
    with hung:
        look = look(hung)
        local = look.local()
        assert local["value"] == "<ndarray shape=(2, 3) dtype=float64>", local
        assert local["indexedVariables"] == 2
        found = look.expand(local)
        assert found["1"]["value"] == "<ndarray shape=(3,) dtype=float64>"
        assert found["1"]["evaluateName"] == "local[1]"
        assert found["shape"]["evaluateName"] == "local.shape"
        assert found["dtype"]["value"] == "float64"
    del sys.modules["numpy"]
