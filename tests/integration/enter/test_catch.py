"""The prompt's `catch`: whatever thread raises an exception of a class stops there."""

from harness import hangdbg, place, start
from test_breakpoints import leave
from test_hold import ask, commands, holding, typed

MODULE = """
import threading

threading.excepthook = lambda *_: None
made = []

class Late(ValueError): pass
class Later(Late): pass

def fail(kind):
    try:
        raise kind('no')
    except OSError:
        return 'caught'

def threads(*kinds):
    for kind in kinds:
        made.append(threading.Thread(target=fail, args=(kind,)))
        made[-1].start()
"""


def failing(target, tmp_path):
    """A prompt, beside whose thread others can be made that fail."""
    (tmp_path / "failing.py").write_text(MODULE)
    process = holding(target)
    ask(process, "release", "resumed")
    typed(process, "!import sys; sys.path.append(%r); import failing" % str(tmp_path))
    return process


def ends(process, target):
    ask(process, "thread main", "->")
    ask(process, "p {one.join() for one in failing.made}", "{None}")
    leave(process)
    target.noise = target.stderr()  # 3.7 has no excepthook to be quiet in
    assert target.finish()["exact"]


def test_where_it_is_raised(python, tmp_path):
    target = start("loop_beside", python)
    process = failing(target, tmp_path)
    ask(process, "catch failing.Late", "Breakpoint 1 at exception failing.Late")
    ask(process, "catch (KeyError, LookupError)", "Breakpoint 2 at exception (KeyError, Lookup")
    typed(process, "!failing.threads(OSError, failing.Later)")
    ask(process, "c", "stopped: breakpoint 1: failing.Later: no")
    ask(process, "p kind", "<class 'failing.Later'>")
    ask(process, "b", "catchpoint   keep yes   at exception failing.Late")
    ask(process, "disable 1", "Disabled breakpoint 1 at exception failing.Late")
    ask(process, "release", "resumed")
    ask(process, "thread main", "->")
    typed(process, "!failing.threads(failing.Late, KeyError)")
    ask(process, "c", "stopped: breakpoint 2: KeyError: 'no'")
    ask(process, "cl", "Deleted breakpoint 2 at exception (KeyError, LookupError)")
    ask(process, "c", "resumed")
    ends(process, target)


def test_where_nobody_catches_it(python, tmp_path):
    target = start("loop_beside", python)
    process = failing(target, tmp_path)
    ask(process, "catch uncaught", "Breakpoint 1 at uncaught exception of any class")
    for line in ("commands 1", "p 'seen'", "end"):
        typed(process, line)
    typed(process, "!failing.threads(OSError, ZeroDivisionError)")
    ask(process, "c", "stopped: breakpoint 1: ZeroDivisionError: no")
    ask(process, "p 'after'", "seen")
    ask(process, "cl 1", "Deleted")
    ask(process, "c", "resumed")
    ends(process, target)


def test_what_cannot_be(edge_python):
    target = start("loop_beside", edge_python)
    for command, answer in (
            ("catch", "catch needs a class of exceptions"), ("catch 1 +", "invalid syntax"),
            ("catch 3", "not a class of exceptions: 3"),
            ("catch int", "not a class of exceptions: int"),
            ("catch pkg.NotYet;; condition 1 x > 1", "it has no condition and no count"),
            ("catch pkg.NotYet;; ignore 1 2", "it has no condition and no count")):
        done = hangdbg("attach", target.pid, *place(target), *commands(*command.split(";; ")))
        assert answer in done.err, done
    done = hangdbg("attach", target.pid, *place(target), *commands(
        "catch pkg.NotYet", "b loop", "b", "cl"))
    assert "exception pkg.NotYet  (no class is known here by that name)" in done.out, done
    assert "Deleted breakpoint 2" in done.out and done.rc == 0, done
    target.finish()
