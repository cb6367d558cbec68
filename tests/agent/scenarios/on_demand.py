"""The modules that come when they are asked for: completions, objects, pretty."""

import sys

import baton
from baton import Baton, hang_baton
from harness import Agent, Hung


def check_completions():
    agent = Agent()
    agent.load("completions")

    class Base:
        __slots__ = ("slot", "empty")

        @property
        def prop(self):
            raise AssertionError("user code ran")

        def method(self):
            pass

    class Evil(Base):
        def __init__(self):
            self.slot = {"inner key": [Baton()]}
            self.instance = 1
            self.module = sys

        def __getattr__(self, name):
            raise AssertionError("user code ran")

        def __dir__(self):
            raise AssertionError("user code ran")

    def complete(hung):
        evil = Evil()
        table = {"alpha": 1, "beta": 2, 3: 4}
        hung.wait()
        return evil, table

    with Hung(complete) as hung:
        frame = agent.frame(hung, "complete")

        def ask(text, column=None):
            targets = agent.request("completions", frameId=frame, text=text,
                                    column=column or len(text) + 1)["targets"]
            return [(t["label"], t["type"]) for t in targets], targets

        assert ask("evil.")[0] == [
            ("empty", "property"), ("instance", "variable"), ("method", "method"),
            ("module", "module"), ("prop", "property"), ("slot", "property")]
        assert ask("1 + evil.me")[1] == [
            {"label": "method", "type": "method", "start": 9, "length": 2}]
        assert ("__init__", "method") in ask("evil.__")[0]
        assert ask("evil.prop.")[0] == ask("evil.empty.")[0] == ask("nothing.")[0] == []
        assert ("lock_file_path", "variable") in ask("f(evil.slot['inner key'][0].")[0]
        assert ("_current_frames", "function") in ask("evil.module._c")[0]
        assert ask('table["')[0] == [("alpha", "variable"), ("beta", "variable")]
        assert ask('table["al')[1] == [
            {"label": "alpha", "type": "variable", "start": 7, "length": 2}]
        assert ask('evil.slot["')[0] == [("inner key", "variable")]
        assert ("hang", "method") in ask("Baton.")[0]
        assert ask("hang_b")[0] == [("hang_baton", "function")]
        assert ask("Bat")[0] == [("Baton", "class")]
        assert ask("evi + 1", 4)[0] == [("Evil", "class"), ("evil", "variable")]
        assert ask("Evi + 1", 4)[0] == [("Evil", "class")]
        assert ("isinstance", "function") in ask("isin")[0]
        assert ("while", "keyword") in ask("whi")[0]
        assert len(ask("")[0]) > 100
        for text in (".", "].", "a[.", "[\"", "['x", "evil..", "evil.slot[99999999999999999999].",
                     "evil.slot[", "table[3][0].", "\u20ac.", "evil.slot[].", "((.", "1."):
            ask(text)
        several = agent.request("completions", frameId=frame, line=2, column=10,
                                text="x = '\U0001F600'\nf(evil.me\nevil")["targets"]
        assert several == [{"label": "method", "type": "method", "start": 16, "length": 2}], several
        behind_astral, = agent.request("completions", frameId=frame, column=15,
                                       text="'\U0001F600' + evil.me")["targets"]
        assert (behind_astral["start"], behind_astral["length"]) == (12, 2), behind_astral
        ask("evil", 10 ** 9)
        ask("evil", 1)
    assert agent.refused("completions", text=1, column=1).id == "bad-message"
    assert agent.request("completions", text="agent_nothing_", column=15)["targets"] == []


def check_whatis():
    agent = Agent()
    agent.load("objects")
    main = sys.modules["__main__"]
    main.Baton, main.function = Baton, hang_baton
    for expression, answer in (
            ("Baton().hang", "Method hang"), ("function", "Function hang_baton"),
            ("Baton", "Class baton.Baton"), ("3", "<class 'int'>"),
            ("Baton()", "<class 'baton.Baton'>"), ("len", repr(type(len)))):
        assert agent.request("hangdbg/whatis", expression=expression) == {"text": answer}
    assert agent.refused("hangdbg/whatis", expression="1/0").id == "expression-failed"


def check_source():
    import functools
    import _weakrefset
    agent = Agent()
    agent.load("objects")
    main = sys.modules["__main__"]

    @functools.wraps(hang_baton)
    def wrapped():
        pass

    main.Baton, main.function, main.wrapped, main.module = Baton, hang_baton, wrapped, _weakrefset
    first = hang_baton.__code__.co_firstlineno
    place = {"path": baton.__file__, "line": first, "endLine": first + 1}
    for expression in ("function", "wrapped", "function.__code__"):
        assert agent.request("hangdbg/source", expression=expression) == place
    hang = Baton.hang.__code__.co_firstlineno
    for expression in ("Baton.hang", "Baton().hang"):
        assert agent.request("hangdbg/source", expression=expression)["line"] == hang
    for expression in ("Baton", "Baton()"):
        body = agent.request("hangdbg/source", expression=expression)
        assert body["path"] == baton.__file__ and body["endLine"] == hang + 8
        assert hang - 5 <= body["line"] < hang
    assert agent.request("hangdbg/source", expression="module")["path"] == _weakrefset.__file__
    refused = agent.refused("hangdbg/source", expression="3")
    assert refused.type == "TypeError" and "built in" in refused.text, refused
    assert agent.refused("hangdbg/source", expression="len").id == "expression-failed"


def check_cached_source():
    """Of text that is in no file; what is not a cache as linecache makes it has none."""
    import linecache
    agent = Agent()
    agent.load("objects")

    def content(path):
        return agent.request("hangdbg/cachedSource", path=path)["content"]

    before = dict(linecache.cache)
    try:
        linecache.cache["<cell 1>"] = (12, None, ["x = 1\n", "y = 'ü'\n"], "<cell 1>")
        linecache.cache["<lazy>"] = (lambda: 1 / 0,)
        linecache.cache["<odd>"] = (1, None, ["x", 5], "<odd>")
        linecache.cache["<odder>"] = (1, None, 5, "<odder>")
        assert content("<cell 1>") == "x = 1\ny = 'ü'\n"
        assert content("<odd>") == "x"
        assert content("<lazy>") == content("<odder>") == content("/nowhere") == ""
    finally:
        linecache.cache.clear()
        linecache.cache.update(before)


def check_pretty():
    agent = Agent()
    refused = agent.refused("evaluate", expression="[1]", hangdbg_pretty=40)
    assert refused.id == "bad-message" and "objects" in refused.text
    agent.load("objects")

    def pretty(expression, width=40):
        return agent.result(expression, hangdbg_pretty=width)

    assert pretty("[1, 2, {3: (4,)}]") == "[1, 2, {3: (4,)}]"
    for expression in ("{'k%d' % i: list(range(i)) for i in range(40)}",
                       "[('x' * 30,), {'a' * 9: {'b' * 9: ['c' * 30] * 2}}]", "set(range(50))",
                       "frozenset(range(60))", "('x' * 50,)", "{}", "[[[[[[[[[[1] * 30]]]]]]]]]"):
        text = pretty(expression)
        assert eval(text) == eval(expression), text
        assert all(len(line) <= 70 for line in text.split("\n")), text
    assert pretty("['a' * 20, 'b' * 20]") == "['%s',\n '%s']" % ("a" * 20, "b" * 20)
    agent.result("me = [0] * 30; me.append(me)")
    assert "[...]" in pretty("me")
    deep = "d = []\nfor _ in range(300): d = [d, 'x' * 30]"
    agent.result(deep)
    assert agent.request("evaluate", expression="d", hangdbg_pretty=40)["result"]


def check_modules():
    agent = Agent()
    agent.load("modules")

    class Lazy(type(sys)):
        def __getattribute__(self, name):
            raise AssertionError("user code ran")

    def told(name):
        body = agent.request("modules")
        found = [one for one in body["modules"] if one["name"] == name]
        assert len(found) < 2 and body["totalModules"] == len(body["modules"])
        return found[0] if found else None

    lazy = Lazy("lazy")
    type(sys).__dict__["__dict__"].__get__(lazy).update(
        __file__="/usr/lib/python3/dist-packages/lazy.py", __version__="1.2")
    sys.modules.update({"lazy": lazy, "lazy.again": lazy, "odd": 1, "empty": None, 5: sys,
                        "strange": Lazy("strange")})
    lazy_names = type(sys).__dict__["__dict__"].__get__(sys.modules["strange"])
    lazy_names.update(__file__=7, __version__=(1, 2))
    try:
        assert told("lazy") == {
            "id": id(lazy), "name": "lazy", "version": "1.2", "isUserCode": False,
            "path": "/usr/lib/python3/dist-packages/lazy.py"}
        assert told("lazy.again") is None and told("empty") is None
        assert told("odd") == {"id": id(1), "name": "odd"}
        assert set(told("strange")) == {"id", "name"}
        assert told("baton")["path"] == baton.__file__ and told("baton")["isUserCode"]
        assert not told("os")["isUserCode"]
        assert len({one["id"] for one in agent.request("modules")["modules"]}) == (
            agent.request("modules")["totalModules"])

        whole = agent.request("modules")["modules"]
        for start, count in ((0, 3), (2, 2), (len(whole) - 1, 5), (len(whole), 1)):
            page = agent.request("modules", startModule=start, moduleCount=count)
            assert page["modules"] == whole[start:start + count]
            assert page["totalModules"] == len(whole)
        assert agent.request("modules", startModule=2, moduleCount=0)["modules"] == whole[2:]
        paths = [source["path"] for source in agent.request("loadedSources")["sources"]]
        assert baton.__file__ in paths and len(set(paths)) == len(paths)
        assert not [path for path in paths if path.endswith(".so")]
    finally:
        for name in ("lazy", "lazy.again", "odd", "empty", 5, "strange"):
            del sys.modules[name]


def check_load_refuses_bad_source():
    agent = Agent()
    assert agent.refused("hangdbg/load", name="x", source="x = = 1").id == "agent-failed"
    assert agent.refused("hangdbg/load", name="x").id == "bad-message"
    refused = agent.refused("hangdbg/load", name="x", source="1/0")
    assert refused.id == "agent-failed" and refused.type == "ZeroDivisionError"


def check_what_names_of_a_class_ask_for():
    has_private = Agent().names["_has_private"]
    for text in "self.__name", "f(__a, 1)", "x = __b_", "del self.__c.d", "self.__d__e", "__class__.a":
        assert has_private(text), text
    for text in "__import__('gc')", "a__b + _c__", "type(x).__name__", "__", "x.__class__.__mro__[1]":
        assert not has_private(text), text
