"""Expressions that await."""

import sys

from harness import Agent, Hung


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
