"""What the agent must do, one check_ function each. Runs under every CPython
from 3.7 on, in a process of its own."""

import sys
import _thread

from harness import Agent, Hung, Skip, core_source, read, unframe

PY = sys.version_info[:2]
counter = 0  # a global that expressions change


class Baton:
    def __init__(self):
        self.lock_file_path = "/tmp/lock"

    def hang(self, hung, retries=3, *extra, key="k", **options):
        local = [1, 2]
        captured = 10

        def closure():
            return captured

        hung.wait()
        return local, captured, closure(), dict(locals())


def hang_baton(hung):
    return Baton().hang(hung, 4, "e1", "e2", key="K", depth=1)


# ---- messages


def check_hello():
    import os
    import threading
    agent, bodies = Agent(), []
    asking = threading.Thread(target=lambda: bodies.append(agent.request("hangdbg/hello")))
    asking.start()  # from a thread beside the main one, as always
    asking.join()
    body, = bodies
    assert body == {"python": "%d.%d.%d" % sys.version_info[:3], "implementation": "cpython",
                    "pid": os.getpid(), "mainThreadId": os.getpid(),
                    "executable": sys.executable}, body


def check_hostile_json_is_refused():
    agent = Agent()
    deep = b"[" * 100000
    for message in (b"", b"{", b"[]", b"nul", b'"x', b'{"seq":1}', b'{"command":3}', b"\xff\xfe",
                    b'{"command":"threads"} x', b'{"command":"threads",}', b"[1 2]", b'{"a" 1}',
                    b'{"command":"\\x"}', b'{"command":"\\u12', b'{"command":"\\', deep,
                    b'{"a":' * 100000, b"9" * 100000, b'{"command":"threads","seq":"x"}',
                    b'{"command":"threads","arguments":[]}', b'{"command":"nope"}',
                    b'{"command":"evaluate","arguments":{"expression":1}}',
                    b'{"command":"evaluate","arguments":{"expression":"1","frameId":"x"}}',
                    b'{"command":"stackTrace","arguments":{"threadId":1e999}}',
                    b'{"command":"__class__"}', b'{"command":"\\ud800"}', b"-", b"1e", b"+"):
        response, = agent.raw(message)
        assert response["success"] is False, message[:80]
        assert response["body"]["hangdbg"]["id"] == "bad-message", (message[:80], response)
    assert agent.result("1 + 1") == "2"


def check_json_values():
    agent = Agent()
    decode, encode = agent.names["decode"], agent.names["encode"]
    import json
    for value in (None, True, False, 0, -12, 10 ** 30, "", "a\"b\\c\n\t\0\x1f\x7f/", [], {},
                  [[], {}], {"": [1, {"a": None}]}, "\u20ac\U0001f600", [1.5, -2e10]):
        for ascii in (True, False):
            for indent in (None, 2):
                text = json.dumps(value, ensure_ascii=ascii, indent=indent)
                assert decode(text) == value, text
        if not isinstance(value, list) or 1.5 not in value:
            assert json.loads(encode(value)) == value
    assert decode('"\\ud83d\\ude00"') == "\U0001f600"
    assert decode('"a\\ud83d"') == "a\ufffd"
    assert decode(r'"\/\b\f"') == "/\b\f"


def check_str_subclass_cannot_lie():
    class Liar(str):
        def replace(self, *args):
            raise AssertionError("user code ran")
        __str__ = __repr__ = __iter__ = __format__ = encode = __len__ = replace
    assert Agent().names["encode"]([Liar('a"b')]) == '["a\\"b"]'


def check_lone_surrogates_and_bad_bytes():
    agent = Agent()
    sys.modules["__main__"].bad = type("Bad", (), {"__repr__": lambda self: "x\ud800\udcffy"})()
    assert agent.result("bad") == "x??y"
    assert agent.result("'\ud83d\ude00'") == "'\U0001f600'"
    refused = agent.refused("evaluate", expression="raise ValueError('\\udcff')")
    assert refused.text == "ValueError: ?"


def check_events_and_responses_are_numbered():
    import json
    agent = Agent()
    message = json.dumps({"seq": 1, "command": "evaluate",
                          "arguments": {"expression": "print(1)"}}).encode()
    assert [m["seq"] for m in agent.raw(message) + agent.raw(message)] == [1, 2, 3, 4]
    assert [m["seq"] for m in agent.raw(message, 2)] == [1, 2]
    agent.names["forget"](2)
    agent.names["forget"](3)
    assert agent.raw(message, 2)[0]["seq"] == 1


def check_handle_survives_exhaustion():
    agent = Agent()
    def no_memory(message):
        raise MemoryError
    agent.names["encode_framed"] = no_memory
    response, = unframe(agent.handle(1, b'{"command":"threads"}'))
    assert response["body"]["hangdbg"]["id"] == "agent-failed"


# ---- threads and frames


def check_threads():
    agent = Agent()
    import os
    done, lock = [], _thread.allocate_lock()
    lock.acquire()

    def nameless(hung):
        _thread.start_new_thread(blocked, ())
        hung.wait()

    def blocked():
        lock.acquire()
        done.append(True)

    with Hung(nameless) as hung:
        agent.tids[hung.ident] = 70
        while len(sys._current_frames()) < 3:
            hung.thread.join(0.001)
        # From a thread of the agent's own, main is a thread like others.
        answer = []
        asked = _thread.allocate_lock()
        asked.acquire()

        def send(framed):
            pass

        def ask():
            answer.extend(unframe(agent.handle(1, b'{"command":"threads"}')))
            asked.release()
        _thread.start_new_thread(ask, ())
        asked.acquire()
        threads = answer[0]["body"]["threads"]
        assert threads[0] == {"id": os.getpid(), "name": "MainThread"}, threads
        assert {"id": 70, "name": "worker \u20ac"} in threads
        other, = [t for t in threads[1:] if t["id"] != 70]
        assert other["id"] in sys._current_frames()  # no tid known: the ident
        assert other["name"] == "Thread-%d" % other["id"]
        lock.release()


def check_agent_threads_are_not_listed():
    inside, leave = _thread.allocate_lock(), _thread.allocate_lock()
    inside.acquire()
    leave.acquire()
    sys.modules["__main__"].hang = lambda: (inside.release(), leave.acquire())
    agent = Agent()
    _thread.start_new_thread(agent.handle, (
        2, b'{"command":"evaluate","arguments":{"expression":"hang()"}}'))
    inside.acquire()
    assert len(sys._current_frames()) == 2
    assert agent.request("threads") == {"threads": []}
    leave.release()


def check_hostile_thread_names():
    import threading

    class Hostile(threading.Thread):
        def __getattribute__(self, name):
            raise AssertionError("user code ran")
    agent = Agent()
    with Hung(hang_baton) as hung:
        threading._active[hung.ident] = threading.Thread.__new__(Hostile)
        assert agent.request("threads")["threads"][0]["name"] == "Thread-%d" % hung.ident
        threading._active[hung.ident] = hung.thread


def check_stack_trace():
    agent = Agent()
    with Hung(hang_baton) as hung:
        frames = agent.stack(hung.ident)
        names = [frame["name"] for frame in frames]
        assert names[:4] == ["wait", "hang", "hang_baton", "run"], names
        frame = frames[1]
        code = Baton.hang.__code__
        assert frame["source"] == {"name": "scenarios.py", "path": __file__}
        assert code.co_firstlineno < frame["line"] < code.co_firstlineno + 12
        assert frame["column"] == 0
        assert frame["hangdbg"] == {
            "qualname": "Baton.hang" if PY >= (3, 11) else "hang", "module": "scenarios",
            "firstLine": code.co_firstlineno}
        total = agent.request("stackTrace", threadId=hung.ident)["totalFrames"]
        assert total == len(frames)
        part = agent.request("stackTrace", threadId=hung.ident, startFrame=1, levels=2)
        assert part == {"totalFrames": total, "stackFrames": frames[1:3]}  # ids used again
        assert agent.stack(hung.ident, startFrame=2, levels=0) == frames[2:]
        assert agent.stack(hung.ident, startFrame=total) == []
        assert agent.stack(hung.ident, startFrame=-5, levels=1) == frames[:1]
    assert agent.refused("stackTrace", threadId=1).id == "bad-message"


def check_deep_stack():
    agent = Agent()
    sys.setrecursionlimit(6000)
    import threading
    threading.stack_size(256 << 20)

    def deep(hung, levels=5000):
        return hung.wait() if levels == 0 else deep(hung, levels - 1)

    with Hung(deep) as hung:
        assert len(agent.stack(hung.ident)) > 5000
        agent.names["Session"].MAX_FRAMES = 100
        first = agent.stack(hung.ident, levels=1, session=2)[0]["id"]
        agent.stack(hung.ident, session=2)
        session = agent.names["_sessions"][2]
        assert len(session.keys) == len(session.numbers) == 100
        assert agent.refused("scopes", frameId=first, session=2).id == "no-such-frame"
    hung.function = None


def check_scopes():
    agent = Agent()
    with Hung(hang_baton) as hung:
        scope, = agent.request("scopes", frameId=agent.frame(hung, "hang"))["scopes"]
        first = Baton.hang.__code__.co_firstlineno
        assert scope == {
            "name": "Locals", "presentationHint": "locals", "variablesReference": 0,
            "expensive": False, "line": first, "endLine": first + 8,
            "source": {"name": "scenarios.py", "path": __file__}}, scope


def check_last_line_goes_back_too():
    agent = Agent()
    agent.names["need"]("variables")
    text = "def f(a):\n  x = (\n    a +\n\n    1)\n  def g():\n" + "\n" * 300 + "    return 1\n  return\n"
    names = {}
    exec(compile(text, "x", "exec"), names)
    last = agent.names["last_line"](names["f"].__code__)
    assert last in (307, 308), last


def check_frames_that_moved():
    agent = Agent()

    def first(hung):
        hung.wait()

    def second(hung):
        hung.wait()

    def both(hung):
        first(hung)
        second(hung)

    with Hung(both) as hung:
        moved = [agent.frame(hung, "wait"), agent.frame(hung, "first")]
        stays = agent.frame(hung, "both")
        hung.step()
        for frame in moved:
            for command in ("scopes", "hangdbg/arguments"):
                refused = agent.refused(command, frameId=frame)
                assert refused.id == "no-such-frame", refused
                assert refused.text == "frame has returned: the thread has moved on; type w"
            assert agent.refused("evaluate", frameId=frame, expression="1").id == "no-such-frame"
        assert agent.result("second.__name__", stays) == "'second'"
        assert agent.frame(hung, "both") == stays
    assert agent.refused("scopes", frameId=stays).id == "no-such-frame"
    assert agent.refused("scopes", frameId=12345).id == "no-such-frame"
    assert agent.refused("scopes", frameId=-1).id == "no-such-frame"


def check_looping_thread():
    agent = Agent()
    stop = []

    def inner(number):
        return [number, number]

    def loop(hung):
        hung.ready.release()
        while not stop:
            inner(1)
            inner(2)
            sorted([3, 2, 1], key=lambda item: inner(item))

    with Hung(loop) as hung:
        moved = 0
        for _ in range(300):
            frame = agent.stack(hung.ident, levels=1)[0]["id"]
            try:
                agent.request("scopes", frameId=frame)
                agent.request("hangdbg/arguments", frameId=frame)
            except Exception as refused:
                assert refused.id == "no-such-frame"
                moved += 1
            loop_frame = agent.frame(hung, "loop")
            assert agent.result("stop", loop_frame) == "[]"
        stop.append(1)


def check_arguments():
    agent = Agent()
    with Hung(hang_baton) as hung:
        frame = agent.frame(hung, "hang")
        variables = agent.request("hangdbg/arguments", frameId=frame)["variables"]
        assert [v["name"] for v in variables] == [
            "self", "hung", "retries", "extra", "key", "options"], variables
        values = {v["name"]: (v["type"], v["value"]) for v in variables}
        assert values["self"][1].startswith("<scenarios.Baton object at 0x")
        assert values["retries"] == ("int", "4")
        assert values["extra"] == ("tuple", "('e1', 'e2')")
        assert values["key"] == ("str", "'K'")
        assert values["options"] == ("dict", "{'depth': 1}")

    def deleted(hung, gone=1):
        del gone
        hung.wait()

    with Hung(deleted) as hung:
        values = agent.request("hangdbg/arguments", frameId=agent.frame(hung, "deleted"))
        assert values["variables"][1]["value"] == "*** undefined ***"


def check_safe_repr_runs_no_user_code():
    agent = Agent()
    agent.names["need"]("variables")
    safe_repr, type_name = agent.names["safe_repr"], agent.names["type_name"]

    class Meta(type):
        def __getattribute__(cls, name):
            raise AssertionError("user code ran")
        __instancecheck__ = __subclasscheck__ = __hash__ = __eq__ = __repr__ = __getattribute__

    def hostile(*args):
        raise AssertionError("user code ran")

    class Plain:
        pass

    Evil = Meta("Evil", (list,), {
        "__repr__": hostile, "__getattribute__": hostile,
        "__iter__": hostile, "__len__": hostile, "__class__": property(hostile),
        "__eq__": hostile, "__hash__": lambda self: 1, "__bool__": hostile})
    evil = list.__new__(Evil)
    assert type_name(Evil) == "Evil"
    for value in (evil, [evil], (evil,), {1: evil}, {evil: 2}, {evil}, Evil):
        assert ("Meta" if value is Evil else "Evil") + " object at 0x" in safe_repr(value)
    assert safe_repr([1, [2, [3, [4]]]]) == "[1, [2, [...]]]"
    me = []
    me.append(me)
    assert safe_repr(me) == "[[[...]]]"
    for value in ((), [], {}, set(), frozenset(), (1,), {1: (2,)}, {1}, frozenset([1]), "a", b"a",
                  None, True, 1.5, 2j, range(3), -5, ...):
        assert safe_repr(value) == repr(value), safe_repr(value)
    assert len(safe_repr(["x" * 10 ** 7] * 1000)) < 6000
    assert safe_repr(1 << 10 ** 6) == "<int of 1000001 bits>"
    assert safe_repr(list(range(10 ** 6))).endswith("19, ...]")


# ---- evaluate


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
        assert "brand_new" not in globals()
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
                ("def f():\n  nonlocal retries\n  retries += 1\nf(); f(); retries", "6"),
                ("def f(): return key\n" + "\n" * 20 + "f(  )", "'K'"),
                ("(lambda: sorted(k for k in options))()", "['depth']")):
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
    assert local[2]() == (6, "K", counter)
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
        assert counter == 5
        agent.result("global added\nadded = 6", frame)
        assert globals()["added"] == 6
        agent.result("global added\ndel added", frame)
        assert "added" not in globals()
        agent.result("counter = 'local'", frame)
        assert counter == 5 and agent.result("counter", frame) == "'local'"
        agent.result("def bump():\n  global counter\n  counter += 1\nbump()\nbump()", frame)
        assert counter == 7
        assert "bump" not in globals()


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


# ---- await


def check_await_without_asyncio():
    agent = Agent()
    assert "asyncio" not in sys.modules

    class Yields:
        def __await__(self):
            yield
            yield
            return 5

    async def add(a, b=Yields()):
        return a + await b

    def hang(hung, add=add):
        two = 2
        hung.wait()
        return two

    sys.modules["__main__"].add = add
    assert agent.result("await add(1)") == "6"
    agent.result("total = await add(2)")
    assert sys.modules["__main__"].total == 7
    with Hung(hang) as hung:
        frame = agent.frame(hung, "hang")
        assert agent.result("await add(two)", frame) == "7"
        assert agent.result("two = [await add(n) for n in range(two)]; two", frame) == "[5, 6]"
    assert hung.result == [5, 6]
    sys.modules["__main__"].stuck = type("Stuck", (), {"__await__": lambda self: iter([1])})()
    assert "event loop" in agent.refused("evaluate", expression="await stuck").text
    for text in ("await nothing", "await 1", "return await add(1)", "yield await add(1)",
                 "lambda: await add(1)"):
        assert agent.refused("evaluate", expression=text).id == "expression-failed", text
    assert agent.output() == []


def check_await_on_a_loop_of_our_own():
    import asyncio
    import contextlib
    import gc
    import os
    import threading
    agent = Agent()
    main = sys.modules["__main__"]
    main.asyncio = asyncio

    class Client:
        async def ping(self):
            await asyncio.sleep(0.001)
            return "pong"

        async def __aenter__(self):
            return self

        async def __aexit__(self, *ignored):
            return None

        async def __aiter__(self):
            for number in range(3):
                await asyncio.sleep(0)
                yield number

    def hang(hung):
        client, seen = Client(), []
        loop = asyncio.new_event_loop()
        future = loop.create_future()
        with contextlib.closing(loop):
            hung.wait()
        return seen, future.done()

    files = len(os.listdir("/proc/self/fd"))
    threads = threading.active_count()
    with Hung(hang) as hung:
        globals()["asyncio"] = asyncio
        frame = agent.frame(hung, "hang")
        for text, answer in (
                ("await asyncio.sleep(0, 'slept')", "'slept'"),
                ("await client.ping()", "'pong'"),
                ("await asyncio.gather(*[client.ping() for _ in '12'])", "['pong', 'pong']"),
                ("[n async for n in client]", "[0, 1, 2]"),
                ("[n async for n in client if await client.ping()]", "[0, 1, 2]"),
                ("async with client as c:\n  seen.append(await c.ping())\nseen", "['pong']"),
                ("async for n in client: seen.append(n)\nn, (lambda: seen)()",
                 "(2, ['pong', 0, 1, 2])"),
                ("task = asyncio.ensure_future(client.ping()); await asyncio.wait([task])\n"
                 "task.result()", "'pong'")):
            assert agent.result(text, frame) == answer, text
        refused = agent.refused("evaluate", expression="await future", frameId=frame)
        assert (refused.type, refused.id) == ("RuntimeError", "expression-failed")
        assert "the program's own event loop" in refused.text, refused
        assert agent.refused("evaluate", expression="await client.nothing()",
                             frameId=frame).type == "AttributeError"
        # What is left running is ended, also if it refuses, and nothing is said.
        agent.result("asyncio.ensure_future(asyncio.sleep(9)); await asyncio.sleep(0)", frame)
        agent.result("async def stubborn():\n  while True:\n    try: await asyncio.sleep(9)\n"
                     "    except asyncio.CancelledError: pass\n"
                     "asyncio.ensure_future(stubborn()); await asyncio.sleep(0); None", frame)
        assert agent.output() == []
        # A coroutine that nobody awaits is shown, and the warning is the client's.
        assert agent.result("client.ping()", frame).startswith("<coroutine object")
        assert "never awaited" in agent.output()[0][1], agent.output()
    assert hung.result == (["pong", 0, 1, 2], False)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == files + (0 if hung.result else 1)
    assert threading.active_count() == threads


# ---- tensors


class FakeTensor:
    """What the agent asks of a tensor; its values never come if it is on a GPU."""

    dtype, requires_grad = "torch.float32", False
    is_cuda = property(lambda self: self.device.type == "cuda")

    def __init__(self, device, shape):
        self.device = type("device", (), {"type": device.split(":")[0],
                                          "__repr__": lambda self: device})()
        self.shape = shape

    def tolist(self):
        if self.device.type != "cpu":
            raise AssertionError("it waited for the GPU")
        return [0.0] * self.shape[0]

    def __repr__(self):
        return "tensor(%s)" % self.tolist()

    def __format__(self, spec):
        return format(self.tolist()[0], spec)


def fake_torch(**cuda):
    """A module torch, in sys.modules; .set is the devices that were set."""
    torch = type(sys)("torch")
    torch.Tensor = type("Tensor", (FakeTensor,), {
        "__repr__": FakeTensor.__repr__, "__format__": FakeTensor.__format__})
    torch.Parameter = type("Parameter", (torch.Tensor,), {
        "__repr__": lambda self: "Parameter containing:\n" + super(torch.Parameter, self).__repr__()})
    torch.set = []
    contexts = cuda.get("contexts", [])
    torch.cuda = type("cuda", (), {"is_initialized": lambda: cuda.get("initialized", False)})
    torch._C = type("_C", (), {
        "_cuda_getDeviceCount": lambda: 8, "_cuda_setDevice": torch.set.append,
        "_cuda_hasPrimaryContext": lambda device: device in contexts})
    sys.modules["torch"] = torch
    return torch


def check_gpu_tensors_show_metadata():
    import collections
    agent = Agent()
    torch = fake_torch()
    original = torch.Tensor.__dict__["__repr__"]
    main = sys.modules["__main__"]
    main.gpu = torch.Tensor("cuda:3", (4, 2))
    main.cpu = torch.Tensor("cpu", (2,))
    main.weight = torch.Parameter("cuda:0", (9,))
    shown = "<Tensor shape=(4, 2) dtype=torch.float32 device=cuda:3 requires_grad=False>"
    main.ordered = collections.OrderedDict(a=main.gpu)
    main.Own = type("Own", (), {"__repr__": lambda self: "Own(%r)" % main.gpu})
    main.Formats = type("Formats", (), {"__repr__": lambda self: "loss {:.3}".format(main.gpu)})
    assert agent.result("gpu") == shown
    assert agent.result("cpu") == "tensor([0.0, 0.0])"
    assert agent.result("[gpu, cpu]") == "[%s, tensor([0.0, 0.0])]" % shown
    assert agent.result("{'a': (gpu,)}") == "{'a': (%s,)}" % shown
    assert agent.result("ordered").count(shown) == 1
    assert agent.result("Own()") == "Own(%s)" % shown
    assert agent.result("Formats()") == "loss " + shown
    assert "<Parameter shape=(9,)" in agent.result("weight")
    if PY >= (3, 7):
        agent.result("import dataclasses\n@dataclasses.dataclass\nclass Batch:\n  x: object\n")
        assert agent.result("Batch(gpu)") == "Batch(x=%s)" % shown
    assert agent.refused("evaluate", expression="raise ValueError(gpu)").text == (
        "ValueError: " + shown)
    agent.load("objects")
    assert agent.result("[gpu] * 3", hangdbg_pretty=20).count(shown) == 3
    # As typed: it is the user who asks for the values.
    for text in ("gpu.tolist()", "repr(gpu)", "print(gpu)", "str(gpu)"):
        assert agent.refused("evaluate", expression=text).type == "AssertionError", text
    assert agent.result("repr(cpu)") == repr("tensor([0.0, 0.0])")
    assert torch.Tensor.__dict__["__repr__"] is original


def check_gpu_tensors_of_other_threads():
    """A repr that blocks in one session: others go on, and the program's own
    threads see the usual repr."""
    agent = Agent()
    torch = fake_torch()
    original = torch.Tensor.__dict__["__repr__"]
    main = sys.modules["__main__"]
    main.cpu = torch.Tensor("cpu", (1,))
    main.gpu = torch.Tensor("cuda:1", (1,))
    inside, leave, left = [_thread.allocate_lock() for _ in range(3)]
    for lock in (inside, leave, left):
        lock.acquire()
    main.Blocks = type("Blocks", (), {
        "__repr__": lambda self: (inside.release(), leave.acquire(), "free %r" % main.gpu)[2]})
    answers = []

    def other():
        answers.extend(unframe(agent.handle(
            2, b'{"command":"evaluate","arguments":{"expression":"Blocks()"}}')))
        left.release()

    _thread.start_new_thread(other, ())
    inside.acquire()
    assert agent.result("gpu").startswith("<Tensor")
    assert torch.Tensor.__dict__["__repr__"] is not original
    assert repr(main.cpu) == "tensor([0.0])"
    try:
        repr(main.gpu)
    except AssertionError:
        pass
    else:
        raise AssertionError("the program's own repr shows metadata")
    leave.release()
    left.acquire()
    assert answers[0]["body"]["result"].startswith("free <Tensor shape=(1,)"), answers
    assert torch.Tensor.__dict__["__repr__"] is original


def check_device_of_the_rank():
    import os
    for contexts, rank, chosen in (
            ([], None, []), ([0], None, []), ([5], None, [5]), ([5], "3", [5]),
            ([0, 5], "5", [5]), ([0, 5], None, []), ([3, 5], None, [3]), ([0], "0", []),
            ([0, 2], "x", [])):
        torch = fake_torch(initialized=True, contexts=contexts)
        os.environ.pop("LOCAL_RANK", None)
        if rank:
            os.environ["LOCAL_RANK"] = rank
        agent = Agent()
        assert agent.result("1 + 1") == agent.result("2") == "2"
        assert torch.set == chosen, (contexts, rank, torch.set)
    torch = fake_torch(initialized=False, contexts=[4])
    agent = Agent()
    assert agent.result("1") == "1" and torch.set == []
    sys.modules["torch"] = type(sys)("torch")  # an import that has just begun
    assert Agent().result("1") == "1"


# ---- errors


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


# ---- output


def check_output():
    agent = Agent()
    import io
    sys.stdout, mine = io.StringIO(), sys.stdout
    original, original_stderr = sys.stdout, sys.stderr
    assert agent.result("print('a', flush=True); print('b')\nprint('c', file=__import__('sys')"
                        ".stderr); print('d', end=''); 5") == "5"
    assert agent.output() == [("stdout", "a\nb\n"), ("stderr", "c\n"), ("stdout", "d")]
    assert sys.stdout is original and sys.stderr is original_stderr
    assert original.getvalue() == ""
    refused = agent.refused("evaluate", expression="print('before'); 1/0")
    assert agent.output() == [("stdout", "before\n")] and refused.type == "ZeroDivisionError"
    assert agent.refused("evaluate", expression="__import__('sys').stdout.write(3)").type == (
        "TypeError")
    agent.result("__import__('sys').stdout.writelines(['x', 'y'])")
    assert agent.output() == [("stdout", "xy")]
    assert agent.result("__import__('sys').stdout.getvalue()") == "''"
    sys.stdout = mine


def check_output_is_bounded():
    agent = Agent()
    agent.result("for i in range(200): print('x' * 99999)")
    parts = [text for _, text in agent.output()]
    assert max(map(len, parts)) <= 64 * 1024
    assert 8 << 20 <= len("".join(parts)) < (8 << 20) + 100
    assert "".join(parts).endswith(
        "x\n[hangdbg: output cut after 8 MiB]\n"
        "[hangdbg: %d characters more are left out]\n" % (200 * 100000 - (8 << 20)))
    agent.result("print(1)")
    assert agent.output() == [("stdout", "1\n")]


def check_output_of_other_threads_passes():
    import io
    agent = Agent()
    sys.stdout, mine = io.StringIO(), sys.stdout

    def prints(hung):
        hung.wait()
        print("other thread")
        sys.stdout.flush()

    sys.modules["__main__"].hung = hung = Hung(prints)
    hung.__enter__()
    agent.result("hung.__exit__(), print('ours')")
    assert agent.output() == [("stdout", "ours\n")]
    assert sys.stdout.getvalue() == "other thread\n"
    sys.stdout = mine


def check_kept_stream_outlives_the_agent():
    import io
    agent = Agent()
    main = sys.modules["__main__"]
    sys.stdout, mine = io.StringIO(), sys.stdout
    original = sys.stdout
    agent.result("import sys; kept = sys.stdout; sys.stderr = kept")
    assert sys.stdout is original and sys.stderr is main.kept  # user's doing
    agent.names["forget"](1)
    agent.names.clear()
    main.kept.write("a")
    main.kept.writelines(["b", "c"])
    main.kept.flush()
    print("d", file=main.kept)
    assert main.kept.getvalue() == original.getvalue() == "abcd\n"
    sys.stdout, sys.stderr = mine, sys.__stderr__


def check_no_stdout():
    agent = Agent()
    mine = sys.stdout
    sys.stdout = None
    agent.result("print(1)")
    assert agent.output() == [("stdout", "1\n")]
    assert sys.stdout is None
    sys.stdout = mine


def check_two_sessions_evaluate_at_once():
    agent = Agent()
    import io
    sys.stdout, mine = io.StringIO(), sys.stdout
    original = sys.stdout
    inside, leave, left = [_thread.allocate_lock() for _ in range(3)]
    for lock in (inside, leave, left):
        lock.acquire()
    main = sys.modules["__main__"]
    main.hang = lambda: (inside.release(), leave.acquire())
    main.let_go = lambda: (leave.release(), left.acquire())

    def other():
        agent.handle(2, b'{"command":"evaluate","arguments":{"expression":"hang()"}}')
        left.release()

    _thread.start_new_thread(other, ())
    inside.acquire()
    agent.result("let_go()")  # ends after the other one, which began before
    assert sys.stdout is original, sys.stdout
    sys.stdout = mine


def check_client_gone_while_printing():
    def send(framed):
        raise RuntimeError("client gone")
    agent = Agent(_send=send)
    stdout = sys.stdout
    assert agent.refused("evaluate", expression="print(1)").id == "agent-failed"
    assert sys.stdout is stdout


# ---- harmless


def check_cancel():
    import ctypes
    import threading
    started = threading.Event()

    def run_cancellable(function):
        ident = ctypes.c_ulong(_thread.get_ident())

        def cancel():
            started.wait()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(agent.cancelled))

        canceller = threading.Thread(target=cancel)
        canceller.start()
        try:
            return function()
        finally:
            canceller.join()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, None)

    agent = Agent(_run_cancellable=run_cancellable)
    sys.modules["__main__"].started = started
    stdout = sys.stdout
    for loop in ("started.set()\nwhile True: pass",
                 "print('out')\nstarted.set()\nwhile True:\n  x = 1\n  try: x += 1\n"
                 "  except Exception: pass"):
        started.clear()
        refused = agent.refused("evaluate", expression=loop)
        assert (refused.id, refused.text) == ("cancelled", "cancelled")
        assert sys.stdout is stdout
    assert agent.output() == [("stdout", "out\n")]
    started.set()
    sys.modules["__main__"].Loop = type("Loop", (), {
        "__repr__": lambda self: [None for _ in iter(int, 1)]})
    assert agent.refused("evaluate", expression="Loop()").id == "cancelled"


def check_nothing_is_imported():
    before = dict(sys.modules)
    assert "threading" not in before and "json" not in before
    agent = Agent()
    for arguments in ('"expression":"1"', '"expression":"x = 1; x"', '"expression":"1/0"',
                      '"expression":"print(\\"\\ud83d\\ude00\\")"', '"expression":"("',
                      '"expression":"async def f(): pass\\nawait f()"'):
        agent.handle(1, ('{"command":"evaluate","arguments":{%s}}' % arguments).encode())
    for command in ("hangdbg/hello", "threads", "scopes", "hangdbg/arguments", "disconnect"):
        agent.handle(1, ('{"command":"%s"}' % command).encode())
    agent.names["need"]("tensors")  # else only where torch is imported
    encode = agent.names["encode"]
    for name in ("completions", "objects"):
        agent.handle(1, ('{"command":"hangdbg/load","arguments":{"name":"x","source":%s}}'
                         % encode(read(name + ".py"))).encode())
    agent.handle(1, b'{"command":"completions","arguments":{"text":"sys.","column":5}}')
    agent.handle(1, b'{"command":"evaluate","arguments":{"expression":"[1]","hangdbg/pretty":9}}')
    new = set(sys.modules) - set(before)
    assert new <= ({"_ast"} if PY == (3, 9) else set()), new
    assert all(sys.modules[name] is before[name] for name in before)
    assert agent.sent  # it did print to the client
    assert "parts" in agent.names and not any(agent.names["parts"].values())


def check_nothing_is_kept():
    import gc
    import threading
    import weakref

    class Value:
        pass

    main = sys.modules["__main__"]
    main.Value, main.made, main.kept = Value, [], Value()
    agent = Agent()
    with Hung(hang_baton) as hung:
        frame = agent.frame(hung, "hang")
        main.weakref = weakref

        def everything():
            agent.result("global_value.__class__", frame)
            agent.result("[hung, self, options]", frame)
            agent.result("[global_value for _ in 'ab'], (lambda: self)()", frame)
            agent.result("tmp = global_value; tmp2 = 1", frame)
            # From 3.14 on the frame itself keeps what an assignment replaced,
            # until it returns (Objects/frameobject.c, f_overwritten_fast_locals).
            agent.result("local = %s" % ("[2]" if PY >= (3, 14) else "[global_value]"), frame)
            agent.result("tmp = None; local = None", frame)
            agent.refused("evaluate", frameId=frame, expression="raise ValueError(global_value)")
            agent.refused("evaluate", frameId=frame, expression="(lambda v: 1/0)(global_value)")
            agent.refused("evaluate", frameId=frame, expression="v = = 1")
            agent.request("hangdbg/arguments", frameId=frame)
            agent.request("scopes", frameId=frame)
            agent.request("threads")
            agent.stack(hung.ident)
            agent.result("made.append(weakref.ref(Value()))")
            agent.result("print(made[-1])")

        globals()["global_value"] = value = Value()
        everything()  # caches, parts
        gc.collect()
        gc.disable()
        counts = [sys.getrefcount(value), sys.getrefcount(hung), len(gc.garbage)]
        active, modules = dict(threading._active), set(sys.modules)
        for _ in range(20):
            everything()
        assert [sys.getrefcount(value), sys.getrefcount(hung), len(gc.garbage)] == counts, (
            counts, sys.getrefcount(value), sys.getrefcount(hung))
        assert threading._active == active and set(sys.modules) == modules
        assert all(ref() is None for ref in main.made)
        assert len(main.made) == 21
        code_frames = [o for o in gc.get_objects() if type(o) is type(sys._getframe())
                       and o.f_code.co_filename in ("<hangdbg>", "<expression>")]
        assert not code_frames, code_frames
        gc.enable()


def check_reraised_exception_keeps_its_traceback():
    agent = Agent()
    main = sys.modules["__main__"]
    try:
        1 / 0
    except ZeroDivisionError as error:
        main.saved = error
    trace = main.saved.__traceback__
    for _ in range(3):
        assert agent.refused("evaluate", expression="raise saved").type == "ZeroDivisionError"
        assert main.saved.__traceback__ is trace


def check_locals_of_a_returned_frame_die():
    import gc
    import weakref

    class Value:
        pass

    refs = []

    def holder(hung):
        value = Value()
        refs.append(weakref.ref(value))
        hung.wait()

    agent = Agent()
    with Hung(holder) as hung:
        frame = agent.frame(hung, "holder")
        agent.result("value", frame)
        agent.result("value2 = value", frame)
        agent.request("hangdbg/arguments", frameId=frame)
        gc.disable()
    # A name of the user's own goes with the frame, at the next evaluation.
    agent.request("evaluate", expression="1")
    assert refs[0]() is None
    gc.enable()


def check_dummy_thread_is_removed():
    import threading
    agent = Agent()
    done = _thread.allocate_lock()
    done.acquire()
    before = dict(threading._active)
    answers = []

    def ask():
        for expression in (b"threading.current_thread().name", b"threading.current_thread()"):
            answers.extend(unframe(agent.handle(
                1, b'{"command":"evaluate","arguments":{"expression":"%s"}}' % expression)))
        done.release()

    sys.modules["__main__"].threading = threading
    _thread.start_new_thread(ask, ())
    done.acquire()
    assert all("Dummy" in answer["body"]["result"] for answer in answers), answers
    assert threading._active == before
    # Main is known to threading for a reason of its own.
    agent.result("threading.current_thread()")
    assert threading._active == before


def check_unload_leaves_nothing():
    import gc
    import weakref
    agent = Agent()
    agent.load("completions")
    agent.load("objects")
    with Hung(hang_baton) as hung:
        agent.result("x = self; print(x)", agent.frame(hung, "hang"))
    kinds = [weakref.ref(agent.names[name]) for name in ("Session", "Cancelled", "_Stream")]
    agent.names["forget"](1)
    agent.names.clear()
    del agent
    gc.collect()
    assert [kind() for kind in kinds] == [None] * 3
    assert not gc.garbage


def check_compiles_without_warning():
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Agent()
        for name in ("completions", "coroutines", "errors", "objects", "output", "statements",
                     "tensors", "variables"):
            assert "'''" not in read(name + ".py")
            assert not read(name + ".py").rstrip("\n").endswith("\\")
            compile(read(name + ".py"), name, "exec", 0, True)
    assert core_source().isascii() if PY >= (3, 7) else True


# ---- modules loaded on demand


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
        assert ask("evi + 1", 4)[0] == [("evil", "variable")]
        assert ("isinstance", "function") in ask("isin")[0]
        assert ("while", "keyword") in ask("whi")[0]
        assert len(ask("")[0]) > 100
        for text in (".", "].", "a[.", "[\"", "['x", "evil..", "evil.slot[99999999999999999999].",
                     "evil.slot[", "table[3][0].", "\u20ac.", "evil.slot[].", "((.", "1."):
            ask(text)
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
            ("Baton", "Class scenarios.Baton"), ("3", "<class 'int'>"),
            ("Baton()", "<class 'scenarios.Baton'>"), ("len", repr(type(len)))):
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
    place = {"path": __file__, "line": first, "endLine": first + 1}
    for expression in ("function", "wrapped", "function.__code__"):
        assert agent.request("hangdbg/source", expression=expression) == place
    hang = Baton.hang.__code__.co_firstlineno
    for expression in ("Baton.hang", "Baton().hang"):
        assert agent.request("hangdbg/source", expression=expression)["line"] == hang
    for expression in ("Baton", "Baton()"):
        body = agent.request("hangdbg/source", expression=expression)
        assert body["path"] == __file__ and body["endLine"] == hang + 8
        assert hang - 5 <= body["line"] < hang
    assert agent.request("hangdbg/source", expression="module")["path"] == _weakrefset.__file__
    refused = agent.refused("hangdbg/source", expression="3")
    assert refused.type == "TypeError" and "built in" in refused.text, refused
    assert agent.refused("hangdbg/source", expression="len").id == "expression-failed"


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


def check_load_refuses_bad_source():
    agent = Agent()
    assert agent.refused("hangdbg/load", name="x", source="x = = 1").id == "agent-failed"
    assert agent.refused("hangdbg/load", name="x").id == "bad-message"
    refused = agent.refused("hangdbg/load", name="x", source="1/0")
    assert refused.id == "agent-failed" and refused.type == "ZeroDivisionError"
