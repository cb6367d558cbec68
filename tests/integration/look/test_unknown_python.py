"""Interpreters of a version that hangdbg has never seen: what can be proved is shown, and
is what the interpreter says of itself; what cannot is refused or not known."""

import os
import random
import signal
import sys

import pytest

import interpreters
from harness import Target, faulthandler_stacks, hangdbg, start
from unknown_python import Copy

FOUND = [it for it in interpreters.newest_of_each_minor(
    interpreters.found() + interpreters.refused()) if int(it.minor.split(".")[1]) >= 13]


@pytest.fixture(params=[pytest.param(it.path, id=interpreters.name(it)) for it in FOUND])
def copy(request, tmp_path):
    made = Copy(request.param, tmp_path / "unknown")
    if not made.has_table():
        pytest.skip("its table is in a library")
    return made


def stacks_it_says(target, file):
    """By its own faulthandler: {(function, file, line), ...} of each thread."""
    os.kill(target.pid, signal.SIGUSR2)
    return faulthandler_stacks(file)


def started(copy, hang, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import faulthandler, signal\n"
        "faulthandler.register(signal.SIGUSR2, open(%r, 'w'))" % str(tmp_path / "said"))
    return start(hang, copy.write(),
                 env={**copy.environment(), "PYTHONPATH": str(tmp_path)})


def assert_dumped(target, tmp_path):
    done = hangdbg("dump", target.pid, "--json")
    assert done.rc == 0, done
    (process,) = done.json()["processes"]
    assert process["python"].startswith("3.16.0"), process
    assert "3.16.0 is not known to this hangdbg" in process["note"]
    assert {thread["tid"] for thread in process["threads"]} == set(
        map(int, os.listdir("/proc/%d/task" % target.pid)))
    stacks = stacks_it_says(target, tmp_path / "said")
    for thread in process["threads"]:
        frames = [[f["function"], f["file"], f["line"]] for f in thread["frames"]]
        assert thread["error"] is None and thread["exact"], thread
        assert frames in stacks, (frames, stacks)
    return process


@pytest.mark.parametrize("hang", ["lock_main", "lock_worker", "join", "recv", "sleep"])
def test_stacks_are_what_the_interpreter_says(copy, hang, tmp_path):
    target = started(copy.call_it(), hang, tmp_path)
    assert_dumped(target, tmp_path)
    shown = hangdbg("dump", target.pid)
    assert shown.rc == 0 and "not known to this hangdbg" in shown.out, shown
    target.finish()


# A group's number of the first word, which is a size, in 3.13 and in 3.14.
GROUPS = {"runtime": (3, 3), "interpreter": (6, 6), "thread": (19, 22), "frame": (28, 31),
          "code": (34, 39)}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("after", [1, 2, 5])
def test_new_words_change_nothing_or_are_refused(copy, group, after, tmp_path):
    if copy.minor > 14:
        pytest.skip("its groups are elsewhere")
    place = GROUPS[group][copy.minor - 13] + after
    copy.call_it().insert(place, 24, 32, 48)
    target = started(copy, "lock_worker", tmp_path)
    done = hangdbg("dump", target.pid, "--json")
    if done.rc == 0:
        assert_dumped(target, tmp_path)
    else:
        (process,) = done.json()["processes"]
        assert done.rc == 4 and "does not fit its memory" in process["error"]["message"], done
        assert process["threads"] == []
    target.finish()


@pytest.mark.parametrize("known", [False, True])
def test_a_table_of_garbage_is_refused(copy, known, tmp_path):
    if not known:
        copy.call_it()
    target = started(copy.spoil(random.Random(31)), "lock_worker", tmp_path)
    for command in [("dump",), ("dump", "--native"), ("dump", "--tasks"), ("peek",)]:
        words = [command[0], target.pid, *command[1:], *(["os"] if command[0] == "peek" else [])]
        hangdbg(*words).assert_refused(4, "does not fit its memory")
    listed = hangdbg("ps", target.pid, "--json")
    assert listed.rc == 0, listed
    (process,) = listed.json()["processes"]
    assert process["state"] == "unknown", process
    assert "whether any of them hangs cannot be told" in hangdbg("ps", target.pid).err
    told = hangdbg("diagnose", target.pid, "--json")
    assert told.rc == 0, told
    assert told.json()["state"] == "unknown", told
    shown = hangdbg("diagnose", target.pid)
    assert "not known" in shown.out and "does not hang" not in shown.out, shown
    assert "does not fit its memory" in shown.out, shown
    for command in ("eval", "attach"):
        done = hangdbg(command, target.pid, *(["1"] if command == "eval" else []))
        done.assert_refused(4, "does not fit its memory")
    target.finish()


VALUES = """
import collections, json, os, sys, threading, time
class Point:
    def __init__(self): self.x, self.y = 1, "two"
def shows(argument):
    number, negative, large = 7, -(1 << 70), 1 << 100
    ratio, text, wide, raw = 1.5, "text", "Zeit: \\u0416\\U0001f600", b"raw\\x00"
    items, pair, names = [1, [2, "three"]], (1, None), {"a": 1, 2: [True, False]}
    several, none, point = {3}, None, Point()
    function, module, method = shows, os, len
    inner = lambda: number
    ready(); time.sleep(600)
def ready():
    print(json.dumps({"pid": os.getpid(), "tid": threading.get_native_id(),
                      "function": "shows"}), flush=True)
shows({"deep": [1, {"er": 2}]})
"""
SAID = {"number": "7", "negative": str(-(1 << 70)), "large": str(1 << 100), "ratio": "1.5",
        "text": "'text'", "wide": "'Zeit: \u0416\U0001f600'", "raw": "b'raw\\x00'",
        "items": "[1, [2, 'three']]", "pair": "(1, None)", "names": "{'a': 1, 2: [True, False]}",
        "several": "{3}", "none": "None", "point.x": "1", "point.y": "'two'",
        "argument": "{'deep': [1, {'er': 2}]}", "argument['deep'][1]['er']": "2",
        "method": "<built-in function len>", "sys.maxsize": str(sys.maxsize),
        "__name__": "'__main__'"}


# Read as the newest version with a row has them: of an older one they may not be so.
OF_THE_NEWEST = ("point.x", "point.y")
# `dump` shows values less deep than `peek`.
IN_DUMP = {name: said for name, said in SAID.items() if name != "argument"}


def test_values_are_proved_or_not_told(copy, tmp_path):
    newest = max(int(it.minor.split(".")[1]) for it in FOUND)
    (tmp_path / "values.py").write_text(VALUES)
    target = Target([copy.call_it().write(), tmp_path / "values.py"], copy.environment())
    for expression, said in SAID.items():
        done = hangdbg("peek", target.pid, "--frame", "shows", expression)
        if done.rc != 0 and expression in OF_THE_NEWEST and copy.minor < newest:
            done.assert_refused(4, "is not known")
            continue
        assert done.rc == 0 and done.out == said + "\n", (expression, done)
        assert "not known to this hangdbg" in done.err, done
    (process,) = hangdbg("dump", target.pid, "--locals", "--json").json()["processes"]
    frame = next(f for thread in process["threads"] for f in thread["frames"]
                 if f["function"] == "shows")
    values = {name: one["repr"] for name, one in frame["locals"].items()}
    for name, said in IN_DUMP.items():
        if name in values:
            assert values[name] == said, name


def test_is_not_entered_and_told_how_to_read_it(copy, tmp_path):
    target = started(copy.call_it(), "lock_worker", tmp_path)
    before = target.snapshot()
    for command in (("eval", "1"), ("attach",)):
        done = hangdbg(command[0], target.pid, *command[1:])
        done.assert_refused(4, "is not known to this hangdbg", "hangdbg dump %d" % target.pid)
    target.assert_as_before(before)
    target.finish()


@pytest.mark.parametrize("hang", ["lock_main", "recv", "select_call", "event_wait", "timed_lock",
                                  "blocked_import", "os_read", "asyncio_idle"])
def test_all_that_looks_at_it_gets_on(copy, hang, tmp_path):
    """Rules that know stacks go on to locks, tasks and bytecode; here there are none."""
    target = started(copy.call_it(), hang, tmp_path)
    for command in ("diagnose", "threads", "locks", "fds", "net", "tree"):
        done = hangdbg(command, target.pid)
        assert done.rc == 0, (command, done)
    for flags in ((), ("--native",), ("--tasks",), ("--locals",), ("--merge",)):
        done = hangdbg("dump", target.pid, *flags)
        assert done.rc == 0 and "not known to this hangdbg" in done.out + done.err, (flags, done)
    target.finish()


def test_is_listed_and_diagnosed(copy, tmp_path):
    target = started(copy.call_it(), "lock_worker", tmp_path)
    (process,) = hangdbg("ps", target.pid, "--json").json()["processes"]
    assert process["python"].startswith("3.16.0") and process["error"] is None, process
    assert "3.16.0 is not known" in hangdbg("ps", target.pid).err
    told = hangdbg("diagnose", target.pid)
    assert told.rc == 0 and "3.16.0 is not known" in told.out, told
    target.finish()


HARD = """
import json, os, threading, time
def ready():
    print(json.dumps({"pid": os.getpid(), "tid": threading.get_native_id(),
                      "function": "f0"}), flush=True)
    time.sleep(600)
def numbers(most):
    for number in range(most):
        yield sorted(range(number % 9), key=lambda one: -one)
def hot():
    while True:
        sum(len(one) for one in numbers(50))
for _ in range(2):
    threading.Thread(target=hot, daemon=True).start()
calls = {"f9": ready}
for i in reversed(range(9)):
    exec("def f%d(): f%d()" % (i, i + 1), calls)
calls["f0"]()
"""


def test_code_of_one_line_and_threads_that_run(copy, tmp_path):
    """Functions that a program makes begin in line 1, all of them, in a "<string>"; and what
    changes while it is read is read again."""
    (tmp_path / "hard.py").write_text(HARD)
    target = Target([copy.call_it().write(), tmp_path / "hard.py"], copy.environment())
    for _ in range(10):
        done = hangdbg("dump", target.pid, "--json")
        assert done.rc == 0, done
        (process,) = done.json()["processes"]
        main = next(t for t in process["threads"] if t["tid"] == target.pid)
        assert [f["function"] for f in main["frames"]] == [
            "ready", *("f%d" % i for i in reversed(range(9))), "<module>"], main
        assert {f["line"] for f in main["frames"][1:-1]} == {1}, main
