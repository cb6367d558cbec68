"""Threads, stacks and variables."""

import sys
import _thread

import baton
from baton import Baton, hang_baton
from harness import PY, Agent, Hung, unframe


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
        assert frame["source"] == {"name": "baton.py", "path": baton.__file__}
        assert code.co_firstlineno < frame["line"] < code.co_firstlineno + 12
        assert frame["column"] == 0
        assert frame["hangdbg"] == {
            "qualname": "Baton.hang" if PY >= (3, 11) else "hang", "module": "baton",
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
        scope = agent.request("scopes", frameId=agent.frame(hung, "hang"))["scopes"][0]
        first = Baton.hang.__code__.co_firstlineno
        assert scope == {
            "name": "Locals", "presentationHint": "locals", "variablesReference": 1,
            "expensive": False, "namedVariables": 9, "line": first, "endLine": first + 8,
            "source": {"name": "baton.py", "path": baton.__file__}}, scope


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
        assert values["self"][1].startswith("<baton.Baton object at 0x")
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
        assert ("Evil'>" if value is Evil else "Evil([])") in safe_repr(value)
    Other = Meta("Other", (object,), {"__repr__": hostile, "__getattribute__": hostile})
    assert "Other object at 0x" in safe_repr([object.__new__(Other)])
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
