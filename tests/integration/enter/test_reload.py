"""The prompt's `reload`: functions get the code that is in their file now."""

import re

import pytest

import interpreters
from dap_client import DapClient
from harness import hangdbg, place, start, until
from test_breakpoints import leave
from test_hold import ask, commands, holding, typed

BEFORE = '''
import functools
import time


def plain(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper


class Box:
    def __init__(self):
        self.last = None

    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        self.last = value

    @staticmethod
    def add(one, other):
        return one - other


@plain
def count(box):
    return box.add(1, 2)


def outer(number):
    def inner():
        return number
    return inner


def spin(box, over):
    while not over:
        box.last = count(box)
        time.sleep(0.001)
'''
AFTER = BEFORE.replace("one - other", "one + other").replace(
    "return 1", "return 2").replace("def count(box):\n", "def count(box):\n    # moves\n")


def spinning(target, path):
    """A prompt beside a thread that runs what is in that file."""
    path.write_text(BEFORE)
    process = holding(target)
    ask(process, "release", "resumed")
    typed(process, "!import sys; sys.path.append(%r); import spinner" % str(path.parent))
    typed(process, "!box, over = spinner.Box(), []")
    typed(process, "!threading.Thread(target=spinner.spin, args=(box, over), name='spin').start()")
    ask(process, "p box", "Box")
    return process


def is_free_threaded(python):
    return interpreters.variant(python) == interpreters.FREE_THREADED


def last(process):
    return int(ask(process, "p [box.last]", "[").strip("[]\n"))


def test_new_code(python, tmp_path):
    path = tmp_path / "spinner.py"
    target = start("loop_beside", python)
    process = spinning(target, path)
    until("a turn", lambda: ask(process, "p [box.last]", "[") == "[-1]\n")
    if is_free_threaded(python):
        done = hangdbg("attach", target.pid, *place(target), *commands("reload spinner"))
        assert "without a GIL other threads may call a function" in done.err, done
        typed(process, "!over.append(1)")
        leave(process)
        target.finish()
        return
    ask(process, "reload spinner", "spinner.py: no function has other code\n")
    path.write_text(AFTER)
    said = ask(process, "reload spinner", "spinner.py: new code in")
    names = set(re.search("new code in (.*), other lines in [0-9]+ more", said)[1].split(", "))
    assert names == {"Box.add", "Box.size"}, said
    ask(process, "p 2", "is still in the old code of spin")
    until("a turn in the new code", lambda: last(process) == 3)
    ask(process, "p [box.size, spinner.count.__wrapped__.__code__.co_firstlineno]", "[2, 3")
    # The lines are those of the file, and so are breakpoints.
    line = AFTER.splitlines().index("    return box.add(1, 2)") + 1
    ask(process, "b spinner:%d" % line, "Breakpoint 1 at %s:%d" % (path, line))
    ask(process, "c", "-> return box.add(1, 2)")
    path.write_text(AFTER.replace("box.add(1, 2)", "box.add(3, 4)\n\n\ndef more():\n    pass"))
    ask(process, "reload", "spinner.py: new code in count")
    ask(process, "p 3", "is still in the old code of count")
    ask(process, "cl", "Deleted")
    ask(process, "c", "resumed")
    ask(process, "thread main", "->")
    until("a turn in the newest code", lambda: last(process) == 7)
    typed(process, "!over.append(1)")
    leave(process)
    target.finish()


def test_what_cannot_be(edge_python, tmp_path):
    if is_free_threaded(edge_python):
        pytest.skip("it reloads nothing, see above")
    path = tmp_path / "spinner.py"
    target = start("loop_beside", edge_python)
    process = spinning(target, path)
    for text, answer in (("def spin(:\n", "SyntaxError"), ("x = '\udcff'", "is not in UTF-8"),
                         ("", "is empty, or cannot be read")):
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        done = hangdbg("attach", target.pid, *place(target), *commands("reload spinner"))
        assert answer in done.err and done.rc != 0, done
    path.write_text(BEFORE.replace("def spin", "def spun").replace(
        "class Box:", "class Other:\n    def add(self):\n        pass\n\n\nclass Box:"))
    done = hangdbg("attach", target.pid, *place(target), *commands("reload spinner"))
    assert "spin keeps its code: it is not in the file any more" in done.out, done
    assert "not defined by that: Other.add, spun" in done.out, done
    done = hangdbg("attach", target.pid, *place(target), *commands("reload nosuch"))
    assert "no function of nosuch.py is in a module" in done.err, done
    typed(process, "!over.append(1)")
    leave(process)
    target.finish()


def test_in_an_editors_console(newest_python, tmp_path):
    path = tmp_path / "spinner.py"
    target = start("loop_beside", newest_python)
    process = spinning(target, path)
    path.write_text(AFTER)
    with DapClient.stdio() as editor:
        hung = editor.attach(target.pid)["threadId"]
        frame = editor.call("stackTrace", threadId=hung, levels=1)["stackFrames"][0]["id"]
        said = editor.call("evaluate", expression="reload %s" % path, frameId=frame,
                           context="repl")["result"]
        assert said.startswith("%s: new code in Box.size, Box.add" % path) or (
            said.startswith("%s: new code in Box.add, Box.size" % path)), said
        editor.disconnect()
    until("a turn in the new code", lambda: last(process) == 3)
    typed(process, "!over.append(1)")
    leave(process)
    target.finish()
