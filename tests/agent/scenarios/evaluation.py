"""Expressions and statements in a frame, and what they bind."""

import sys

import baton
from baton import hang_baton
from harness import PY, Agent, Hung

counter = 0  # a global that expressions change


def check_evaluate():
    agent = Agent()
    with Hung(hang_baton) as hung:
        frame = agent.frame(hung, "hang")
        assert agent.result("self.lock_file_path", frame) == "'/tmp/lock'"
        assert agent.request("evaluate", expression="retries", frameId=frame, context="watch") == {
            "result": "4", "type": "int", "variablesReference": 0,
            "hangdbg": {"statement": False, "none": False, "truncated": 0}}
        assert agent.result("  sum(x * retries for x in local)\n", frame) == "12"
        assert agent.result("[retries + x for x in local]", frame) == "[5, 6]"
        assert agent.result("(lambda: captured + retries)()", frame) == "14"
        assert agent.result("Baton.__name__ + key", frame) == "'BatonK'"
        assert agent.result("sorted(locals())", frame) == repr(sorted(
            ["self", "hung", "retries", "extra", "key", "options", "local", "captured",
             "closure"]))
        none = agent.request("evaluate", expression="None", frameId=frame)
        assert none["result"] == "None" and none["hangdbg"]["none"] is True
        statement = agent.request("evaluate", expression="pass", frameId=frame)
        assert statement["hangdbg"] == {"statement": True, "none": True, "truncated": 0}
        assert agent.result("q = 2; q * 4", frame) == "8"
        assert agent.result("def f():\n  return retries\nf()", frame) == "4"
        assert agent.result("y = 3; [y for _ in 'ab']", frame) == "[3, 3]"
        assert agent.result("if True: 5", frame) == "None"
    assert agent.result("__name__") == "'__main__'"


def check_result_limit():
    agent = Agent()
    body = agent.request("evaluate", expression="'x' * 5000000")
    assert len(body["result"]) == 1000000
    assert body["hangdbg"]["truncated"] == 5000002 - 1000000
    body = agent.request("evaluate", expression="'abcdef'", hangdbg_limit=3)
    assert body["result"] == "'ab" and body["hangdbg"]["truncated"] == 5
    assert agent.request("evaluate", expression="1", hangdbg_limit=-3)["result"] == ""


def check_assign_locals():
    agent = Agent()
    with Hung(hang_baton) as hung:
        frame = agent.frame(hung, "hang")
        agent.result("local = ['new']", frame)
        agent.result("captured += 5", frame)
        agent.result("retries, key = 1, 2\nfor extra in (7, 8): pass", frame)
        assert agent.result("local, captured, retries, key, extra", frame) == (
            "(['new'], 15, 1, 2, 8)")
        agent.result("brand_new = 5", frame)
        assert agent.result("brand_new + 1", frame) == "6"
        if PY >= (3, 8):
            agent.result("(walrus := 9)", frame)
            assert agent.result("walrus", frame) == "9"
            agent.result("(retries := 11)", frame)
        assert agent.refused("evaluate", expression="key = 'kept'; 1/0",
                             frameId=frame).type == "ZeroDivisionError"
        assert "brand_new" not in vars(baton)
    local, captured, from_closure, everything = hung.result
    assert local == ["new"] and captured == from_closure == 15
    assert everything["extra"] == 8 and everything["key"] == "kept"
    assert everything["retries"] == (11 if PY >= (3, 8) else 1)


def check_assign_free_variable():
    agent = Agent()

    def outer(hung):
        shared = 1

        def inner():
            hung.wait()
            return shared

        return inner(), shared

    with Hung(outer) as hung:
        agent.result("shared = 5", agent.frame(hung, "inner"))
    assert hung.result == (5, 5)


def check_assign_in_every_kind_of_frame():
    agent = Agent()

    def generator(hung):
        number = 1
        hung.wait()
        yield number

    async def coroutine(hung):
        number = 1
        hung.wait()
        return number

    def drive(coroutine):
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value

    for function in (lambda hung: next(generator(hung)),
                     lambda hung: drive(coroutine(hung)),
                     lambda hung: [(lambda number: (hung.wait(), number)[1])(1)][0],
                     lambda hung: [(hung.wait(), number)[1] for number in [1]][0],
                     lambda hung: next((hung.wait(), number)[1] for number in [1])):
        with Hung(function) as hung:
            frame = agent.stack(hung.ident)[1]["id"]
            assert agent.result("number += 41; [number for _ in '1']", frame) == "[42]"
            agent.result("unknown_there = 1", frame)
            assert agent.result("number + unknown_there", frame) == "43"
        assert hung.result == 42, hung.result


def check_every_statement_binds():
    agent = Agent()

    def bound(hung):
        item = name = module = error = function = kind = pair = None
        hung.wait()
        return item, name, module, error, function and function(2), kind, pair

    import contextlib
    sys.modules["__main__"].contextlib = contextlib
    globals()["contextlib"] = contextlib
    with Hung(bound) as hung:
        frame = agent.frame(hung, "bound")
        for text in ("for item in range(3): pass",
                     "with contextlib.suppress(ValueError) as name: name = 'with'",
                     "import sys as module",
                     "try: 1/0\nexcept ZeroDivisionError as failure: error = str(failure)",
                     "class kind: pass\ndef function(n): return [item] * n, kind",
                     "[pair, *_], unpacked = 'ab', 1; pair += pair"):
            agent.result(text, frame)
        assert agent.result("function(1)[0], unpacked", frame) == "([2], 1)"
    item, name, module, error, value, kind, pair = hung.result
    assert (item, name, module, error, pair) == (2, "with", sys, "division by zero", "aa")
    assert value == ([2, 2], kind) and kind.__name__ == "kind"


def check_functions_see_locals():
    agent = Agent()
    with Hung(hang_baton) as hung:
        frame = agent.frame(hung, "hang")
        for text, answer in (
                ("[[x * y * retries for x in local] for y in local]", "[[4, 8], [8, 16]]"),
                ("sorted({retries: key for _ in '1'}.items())", "[(4, 'K')]"),
                ("list(map(lambda x: [x + y + captured for y in local], local))",
                 "[[12, 13], [13, 14]]"),
                ("any(self is s for s in [self])", "True"),
                ("class Inner:\n  kept = retries\n  def get(self): return retries\n"
                 "Inner().get() + Inner.kept", "8"),
                ("def even(n): return n == 0 or odd(n - 1)\n"
                 "def odd(n): return n != 0 and even(n - 1)\neven(retries)", "True"),
                ("retries: int = retries\nif key:\n  more: 'str' = key\n"
                 "(lambda: (retries, more))()", "(4, 'K')"),
                ("def f():\n  nonlocal retries\n  retries += 1\nf(); f(); retries", "6"),
                ("def f(): return key\n" + "\n" * 20 + "f(  )", "'K'"),
                ("(lambda: sorted(k for k in options))()", "['depth']"),
                # No line is before it: CPython asserts that where lines are traced.
                ("(lambda: 1) and __import__('sys')._getframe().f_code.co_firstlineno", "1")):
            assert agent.result(text, frame) == answer, text
        # Called later, from an expression of its own or by the program.
        agent.result("later = lambda: (retries, key, counter)", frame)
        agent.result("local.append(later)", frame)
        assert agent.result("later()", frame) == "(6, 'K', %d)" % counter
        if PY >= (3, 8):
            assert agent.result("[last := x for x in local[:2]]; (lambda: last)()", frame) == "2"
        refused = agent.refused("evaluate", frameId=frame,
                                expression="key = 'kept'; (lambda: 1/0)()")
        assert refused.traceback[1:3] == ['  File "<expression>", line 1, in <module>',
                                          '  File "<expression>", line 1, in <lambda>'], refused
        refused = agent.refused("evaluate", frameId=frame, expression="return (lambda: key)()")
        assert refused.type == "SyntaxError", refused
    local, _, _, everything = hung.result
    assert local[2]() == (6, "K", baton.counter)
    assert everything["retries"] == 6 and everything["key"] == "kept"
    assert not {"later", "f", "last", "Inner"} & set(everything), everything


def check_free_variables_without_a_function_of_their_own():
    agent = Agent()

    def outer(hung):
        shared, gone = 1, 2

        def inner():
            nonlocal gone
            hung.wait()
            return shared

        return inner(), shared

    with Hung(outer) as hung:
        frame = agent.frame(hung, "inner")
        agent.result("nonlocal shared; shared = 5", frame)
        assert agent.result("(lambda: shared)()", frame) == "5"
        assert agent.refused("evaluate", frameId=frame,
                             expression="nonlocal nothing").type == "SyntaxError"
    assert hung.result == (5, 5)


def check_globals_are_the_real_ones():
    """What the program's functions change, the rest of the expression sees, and
    the other way round."""
    agent = Agent()

    def bump():
        global counter
        counter += 1
        return counter

    def hang(hung, bump=bump):
        hung.wait()

    with Hung(hang) as hung:
        frame = agent.frame(hung, "hang")
        before = counter
        assert agent.result("bump(), counter", frame) == repr((before + 1, before + 1))
        assert agent.result("global counter; counter = 10; bump(), counter", frame) == "(11, 11)"
        assert agent.result("global counter; counter = 20; (lambda: bump() + counter)()",
                            frame) == "42"
        assert agent.result("bump(), [counter for _ in '1']", frame) == "(22, [22])"
        refused = agent.refused("evaluate", expression="del counter", frameId=frame)
        assert refused.type == "NameError"  # as in a function: it is no local
    assert counter == 22


def check_delete():
    agent = Agent()

    def victim(hung):
        gone = 1
        hung.wait()
        return sorted(locals())

    with Hung(victim) as hung:
        frame = agent.frame(hung, "victim")
        if PY >= (3, 12):
            refused = agent.refused("evaluate", expression="del gone", frameId=frame)
            assert refused.id == "expression-failed" and "cannot be deleted" in refused.text, refused
            assert agent.result("gone", frame) == "1"
        else:
            agent.result("del gone", frame)
            assert agent.refused("evaluate", expression="gone", frameId=frame).type == "NameError"
        agent.result("fresh = 1; del fresh", frame)
        agent.result("sticky = 1", frame)
        assert agent.result("sticky", frame) == "1"
        agent.result("del sticky", frame)
        assert agent.refused("evaluate", expression="sticky", frameId=frame).type == "NameError"
        agent.result("never_seen_by_the_program = 1", frame)
    assert hung.result == (["gone"] if PY >= (3, 12) else []) + ["hung"]


def check_globals():
    agent = Agent()
    with Hung(hang_baton) as hung:
        frame = agent.frame(hung, "hang")
        agent.result("global counter; counter = 5", frame)
        assert baton.counter == 5
        agent.result("global added\nadded = 6", frame)
        assert vars(baton)["added"] == 6
        agent.result("global added\ndel added", frame)
        assert "added" not in vars(baton)
        agent.result("counter = 'local'", frame)
        assert baton.counter == 5 and agent.result("counter", frame) == "'local'"
        agent.result("def bump():\n  global counter\n  counter += 1\nbump()\nbump()", frame)
        assert baton.counter == 7
        assert "bump" not in vars(baton)


def check_module_level():
    agent = Agent()
    main = sys.modules["__main__"]
    agent.result("made = 3")
    assert main.made == 3
    agent.result("del made")
    assert not hasattr(main, "made")
    agent.result("def g(): return made\nmade = 4")
    assert agent.result("g()") == "4"

    names = {"__name__": "m"}

    def module(hung):
        names["hung"] = hung
        exec(compile("x = 1\nhung.wait()\n", "<module>", "exec"), names)

    with Hung(module) as hung:
        frame = agent.frame(hung, "<module>")
        agent.result("x = 2; z = 3", frame)
        assert names["x"] == 2 and names["z"] == 3
        agent.result("del z", frame)
        assert "z" not in names


def check_class_body():
    agent = Agent()

    def body(hung):
        class Inside:
            a = 1
            hung.wait()
            b = a
        return Inside

    with Hung(body) as hung:
        frame = agent.frame(hung, "Inside")
        agent.result("a = 7; c = 8", frame)
        assert agent.result("[a for _ in '1']", frame) == "[7]"
    assert hung.result.b == 7 and hung.result.c == 8


class _Base:
    def name(self):
        return "base"


class _Child(_Base):
    __secret = 7

    def __init__(self):
        self.__own = 8

    def name(self):
        return "child"

    def __hidden(self, value):
        return value + self.__own

    def hang(self, hung, factor=3):
        __local = 1
        hung.wait()
        return self.__own, __local, self._late if hasattr(self, "_late") else None

    @classmethod
    def make(cls, hung):
        hung.wait()

    def in_function(self, hung):
        def inside():
            hung.wait()
            return self
        return inside()


def check_private_names_and_super():
    """As inside the method, also where the method itself says neither."""
    agent = Agent()
    with Hung(lambda hung: _Child().hang(hung)) as hung:
        frame = agent.frame(hung, "hang")
        for text, value in [
                ("self.__secret", "7"), ("self.__own + 1", "9"), ("self.__hidden(2)", "10"),
                ("super().name()", "'base'"), ("self.name()", "'child'"), ("__local", "1"),
                ("(__class__.__name__, factor)", "('_Child', 3)"),
                ("[self.__own * factor for _ in 'ab']", "[24, 24]"),
                ("(lambda: self.__own)()", "8"), ("_Child.__name__", "'_Child'"),
                ("class K:\n  def f(self): return super().__str__()[:1]\nK().f()", "'<'"),
                ("x = super().name(); x", "'base'"),
                ("def f(): return self.__own + factor\nf()", "11"),
                ("__made = 5", "None"), ("__made + 1", "6"),
                ("self.__own = 80; self.__own", "80"), ("__local = 2", "None"),
                ("_Child = 1; _Child", "1"), ("del _Child", "None"), ("_Child.__secret", "7"),
                ("from math import *; [sqrt(factor + 1) for _ in 'a'], self.__own",
                 "([2.0], 80)")]:
            assert agent.result(text, frame) == value, text
        assert agent.refused("evaluate", expression="self.__none", frameId=frame).text == (
            "AttributeError: '_Child' object has no attribute '_Child__none'")
        assert agent.refused("evaluate", expression="super(); return 5",
                             frameId=frame).type == "SyntaxError"
        assert agent.request("evaluate", expression="self.__own", frameId=frame,
                             context="hover")["result"] == "80"
        assert agent.request("evaluate", expression="self._Child__own", frameId=frame,
                             context="hover")["result"] == "80"
        agent.load("completions")
        assert [target["label"] for target in agent.request(
            "completions", text="self.__s", column=9, frameId=frame)["targets"]][0] == "__secret"
    assert hung.result == (80, 2, None)
    with Hung(_Child.make) as hung:
        frame = agent.frame(hung, "make")
        assert agent.result("cls.__secret", frame) == "7"
    with Hung(lambda hung: _Child().in_function(hung)) as hung:
        assert agent.result("self.__own", agent.frame(hung, "inside")) == "8"


def check_program_without_builtins_module():
    """One that took it out of sys.modules."""
    import json, threading  # noqa: E401, F401  which the harness would, too late
    agent = Agent()
    builtin = sys.modules.pop("builtins")
    try:
        with Hung(lambda hung: _Child().hang(hung)) as hung:
            frame = agent.frame(hung, "hang")
            agent.result("made = len('ab')", frame)
            for text, value in [("super().name(), made", "('base', 2)"), ("self.__own", "8")]:
                assert agent.result(text, frame) == value, text
            assert agent.request("evaluate", expression="factor", frameId=frame,
                                 context="hover")["result"] == "3"
            agent.load("completions")
            targets = agent.request("completions", text="isin", column=5, frameId=frame)["targets"]
            assert [target["label"] for target in targets] == ["isinstance"]
        assert agent.result("made") == "2"
    finally:
        sys.modules["builtins"] = builtin


def check_plain_evaluation_is_sent_nothing():
    agent = Agent()
    with Hung(hang_baton) as hung:
        frame = agent.frame(hung, "hang")
        for text in ("retries + 1", "sorted(x for x in [2, retries])", "retries = 5", "import os"):
            agent.result(text, frame)
        assert "meanings" not in agent.names["_sent_parts"]
        agent.result("retries.__class__", frame)
        assert "meanings" in agent.names["_sent_parts"]


def check_import_all():
    agent = Agent()
    with Hung(hang_baton) as hung:
        frame = agent.frame(hung, "hang")
        assert agent.result("from math import *\n[floor(x + retries) for x in (1.5,)]",
                            frame) == "[5]"
        assert agent.result("[ceil(x) for x in (1.5,)]", frame) == "[2]"
        assert agent.refused("evaluate", expression="before = 1; from math import *; return",
                             frameId=frame).type == "SyntaxError"
        assert agent.refused("evaluate", expression="before", frameId=frame).type == "NameError"
    assert "floor" not in vars(baton)


def check_names_of_other_frames():
    """What an expression made is there in the session's next one, in whatever frame; it
    hides nothing of the program's, and ends with the session unless it is to be kept."""
    agent = Agent()

    def other(hung):
        retries = "other's"
        hung.wait()
        return retries

    with Hung(hang_baton) as hung, Hung(other) as second:
        frame, elsewhere = agent.frame(hung, "hang"), agent.frame(second, "other")
        agent.result("helper, counter2, len_ = (lambda v: v * 2), 1, 2", frame)
        agent.result("Baton2, PY = 1, 2", frame)
        assert agent.result("helper(4), retries", elsewhere) == "(8, \"other's\")"
        assert agent.result("[helper(x) for x in (1, 2)]", elsewhere) == "[2, 4]"
        assert agent.result("helper(5)") == "10"
        assert agent.result("PY == 2", elsewhere) == "False"  # a global there
        agent.result("counter2 += 10", elsewhere)
        assert agent.result("counter2", elsewhere) == "11"
        agent.result("del helper", elsewhere)
        assert agent.refused("evaluate", expression="helper",
                             frameId=elsewhere).type == "NameError"
        assert "helper" not in globals() and "__hangdbg_names_1__" not in vars(sys)
        assert agent.refused("evaluate", session=2, expression="counter2").type == "NameError"
        agent.result("mine = [1]", frame, hangdbg_keep=True)
        agent.names["forget"](1)
        assert list(sys.__dict__["__hangdbg_names_1__"]) == ["mine"]
        later = Agent()
        frame = later.frame(hung, "hang")
        assert later.result("mine + [retries]", frame) == "[1, 4]"
        later.result("mine = 3", frame)
        assert sys.__dict__["__hangdbg_names_1__"] == {"mine": [1]}
        later.result("del mine", frame, hangdbg_keep=True)
        assert "__hangdbg_names_1__" not in vars(sys)
