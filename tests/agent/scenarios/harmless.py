"""Cancelling, and what is left of the agent afterwards: nothing."""

import sys
import _thread

import baton
from baton import hang_baton
from harness import PY, Agent, Hung, core_source, read, unframe


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
    started.clear()
    sys.modules["__main__"].Loop = type("Loop", (), {
        "__repr__": lambda self: [None for _ in iter(int, started.set() or 1)]})
    assert agent.refused("evaluate", expression="Loop()").id == "cancelled"


def check_nothing_is_imported():
    before = dict(sys.modules)
    assert "threading" not in before and "json" not in before
    agent = Agent()
    for arguments in ('"expression":"1"', '"expression":"x = 1; x"', '"expression":"1/0"',
                      '"expression":"print(\\"\\ud83d\\ude00\\")"', '"expression":"("',
                      '"expression":"async def f(): pass\\nawait f()"'):
        agent.handle(1, ('{"command":"evaluate","arguments":{%s}}' % arguments).encode())
    for command in ("hangdbg/hello", "threads", "scopes", "variables", "setVariable",
                    "setExpression", "hangdbg/arguments", "disconnect"):
        agent.handle(1, ('{"command":"%s"}' % command).encode())
    agent.names["need"]("tensors")  # else only where torch is imported
    encode = agent.names["encode"]
    for name in ("completions", "engine", "objects", "stepping"):
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
            for scope in agent.request("scopes", frameId=frame)["scopes"]:
                agent.request("variables", variablesReference=scope["variablesReference"])
            agent.request("threads")
            agent.stack(hung.ident)
            agent.result("made.append(weakref.ref(Value()))")
            agent.result("print(made[-1])")

        vars(baton)["global_value"] = value = Value()
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
    kinds = [weakref.ref(agent.names[name]) for name in ("Session", "Cancelled")]
    agent.names["forget"](1)
    agent.names.clear()
    del agent
    gc.collect()
    assert [kind() for kind in kinds] == [None] * 2
    assert not gc.garbage


def check_a_stream_outlives_us():
    """What the program has kept of an evaluation goes to where it went before."""
    import gc
    import io
    main = sys.modules["__main__"].__dict__
    real, main["kept"] = sys.stdout, []
    made = []
    try:
        for turn in range(3):
            sys.stdout = io.StringIO() if turn == 2 else real
            agent = Agent()
            agent.result("__import__('sys').stdout.write('x') and kept.append(__import__('sys').stdout)")
            agent.names["forget"](1)
            agent.names.clear()
            del agent
            gc.collect()
            made.append(sys.stdout)
    finally:
        sys.stdout = real
    assert made[:2] == [real, real]
    first, second, third = main.pop("kept")
    assert first is second and third is not first
    third.write("late")
    third.writelines(["r", "!"])
    third.flush()
    assert made[2].getvalue() == "later!"
    assert first.encoding == real.encoding
    # It holds what the program has done with no longer than the program.
    del made[2]
    gc.collect()
    third.write("nowhere")


def check_compiles_without_warning():
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Agent()
        for name in ("assignments", "attributes", "children", "completions", "coroutines",
                     "errors", "objects", "output", "safe_repr", "statements", "tensors",
                     "variables"):
            assert "'''" not in read(name + ".py")
            assert not read(name + ".py").rstrip("\n").endswith("\\")
            compile(read(name + ".py"), name, "exec", 0, True)
    assert core_source().isascii() if PY >= (3, 7) else True


def check_a_hook_of_breakpoint_outlives_us():
    agent = Agent(_limit=lambda limit: None)
    for part in "engine", "stops", "breakpoints", "waits":
        agent.load(part)
    before, called = sys.breakpointhook, []
    agent.names.update(watch=lambda codes=(): None, was_watching=lambda: False)
    agent.request("hangdbg/takeWaiting")
    hook = sys.breakpointhook
    assert hook is not before
    hook.before = lambda *arguments, **words: called.append((arguments, words))
    stand = hook.stand

    def as_the_agent_goes(*arguments):
        hook.stand = sys.breakpointhook = None
        agent.names.clear()
        return stand(*arguments)

    hook.stand = as_the_agent_goes
    hook(1, two=3)
    hook()
    assert called == [((1,), {"two": 3}), ((), {})], called
    sys.breakpointhook = before
