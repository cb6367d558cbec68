"""The prompt's `save` and `load`: breakpoints for another session, or another process."""

from harness import hangdbg, place, start
from test_breakpoints import COUNT, TARGET, attached, leave
from test_hold import ask, commands, typed


def test_breakpoints_of_another_session(python, tmp_path):
    path = tmp_path / "kept breaks"
    target = start("breaks", python)
    process = attached(target)
    ask(process, "b %s:%d, number %% 7 == 3" % (TARGET, COUNT), "Breakpoint 1 at")
    for line in ("commands", "silent", "p ['seen', number % 7]", "end"):
        typed(process, line)
    ask(process, "b twice", "Breakpoint 2 at twice")
    ask(process, "disable 2", "Disabled")
    ask(process, "catch uncaught", "Breakpoint 3 at")
    ask(process, "catch (KeyError, OSError)", "Breakpoint 4 at")
    ask(process, "tbreak numbers", "Breakpoint 5 at numbers")  # where nobody begins any more
    for line in ("commands 5", "p 'once'", "c"):
        typed(process, line)
    ask(process, "save %s" % path, "Saved 5 breakpoints in %s" % path)
    leave(process)
    saved = path.read_text()
    process = attached(target)
    ask(process, "load %s" % path, "Breakpoint 1 at")
    ask(process, "b", "stop only if number % 7 == 3")
    ask(process, "p 1", "(KeyError, OSError)")
    ask(process, "cl 4", "Deleted breakpoint 4 at")
    ask(process, "c", "['seen', 3]")
    leave(process)
    process = attached(target)
    ask(process, "load %s" % path, "Breakpoint 1 at")
    ask(process, "save %s" % path, "Saved 4 breakpoints")
    leave(process)
    assert path.read_text() == "".join(
        line for line in saved.splitlines(True) if not line.startswith("# disabled: b twice"))
    target.finish()


def test_what_cannot_be(edge_python, tmp_path):
    target = start("breaks", edge_python)
    (tmp_path / "again").write_text("b twice\nload again\n")
    (tmp_path / "wrong").write_text("# nothing\n\nb twice\ncondition 9 x\n")
    for command, answer in (
            ("save", "save needs a file"), ("load", "load needs a file"),
            ("save x", "no breakpoints"), ("b twice;; save /nowhere/x", "cannot write /nowhere/x"),
            ("load /nowhere/x", "cannot read /nowhere/x"),
            ("load %s" % (tmp_path / "again"), "has a `load` in it"),
            ("load %s" % (tmp_path / "wrong"), "not all of %s was done" % (tmp_path / "wrong"))):
        done = hangdbg("attach", target.pid, *place(target), *commands(*command.split(";; ")))
        assert answer in done.err and done.rc != 0, done
    target.finish()
