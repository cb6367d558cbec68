"""Requests and responses, and the JSON that they are made of."""

import sys

from harness import Agent, unframe


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
                    "executable": sys.executable, "waits": False}, body


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


def check_reasons_where_a_hook_forbids_more():
    """A part that may not be run is not the reason; and who raised it is told."""
    agent = Agent()

    def forbidden(part):
        raise RuntimeError("no to exec")
    agent.names["need"] = forbidden
    refused = agent.refused("evaluate", expression="1/0")
    assert refused.id == "expression-failed", refused.id
    assert refused.text == "ZeroDivisionError: division by zero"
    refused = agent.refused("evaluate", expression="x = 1")
    assert refused.id == "expression-failed" and refused.text.startswith(
        "RuntimeError: no to exec (raised by forbidden, "), refused.text


def check_handle_survives_exhaustion():
    agent = Agent()
    def no_memory(message):
        raise MemoryError
    agent.names["encode_framed"] = no_memory
    response, = unframe(agent.handle(1, b'{"command":"threads"}'))
    assert response["body"]["hangdbg"]["id"] == "agent-failed"
