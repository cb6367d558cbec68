"""What is refused at the prompt as pdb refuses it, and places of breakpoints that are
named in other ways than by their file."""

import re

import pytest

from harness import hangdbg, in_targets, start, until
from test_breakpoints import attached, commands, ends_normally, line_of
from test_hold import ask

TARGET = in_targets("breaks.py")


def blank_line():
    lines = TARGET.read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if not line)


@pytest.mark.parametrize("command, words", [
    ("b 9999", "End of file"),
    ("b %d" % blank_line(), "Blank or comment"),
    ("b 12:3", "not a file: 12"),
    ("b 1x", "not a line number or a function: 1x"),
    ("b :3", "a file is missing before the colon"),
    ("b threading:x", "not a line number: x"),
    ("b .f", "not a line number or a function: .f"),
    ("b 99999999999999999999", "not a line number or a function"),
    ("l 99999999999999999999", "not line numbers"),
    ("threads x", "threads takes no argument: x"),
    ("q x", "q takes no argument: x"),
    ("display 1 +", "Unable to display 1 +"),
    ("unt 1", "line number is smaller than current line number"),
    ("hold;;j 9999", "n first"),
    ("raise 5", "must derive from BaseException"),
])
def test_is_refused(command, words, newest_python):
    target = start("breaks", newest_python)
    done = hangdbg("attach", target.pid, *commands(*command.split(";;")))
    assert words in done.err, done
    ends_normally(target)


def test_places_of_breakpoints(edge_python, tmp_path):
    """By a link to the file, a module's name, and a name with <locals>."""
    link = tmp_path / "link.py"
    link.symlink_to(TARGET)
    line = line_of("total += counter.count(number)")
    target = start("breaks", edge_python)
    done = hangdbg("attach", target.pid, *commands(
        "b %s:%d" % (link, line), "b threading:%d" % 30000, "b late.one:3",
        "b outer.<locals>.inner"))
    assert re.search(r"Breakpoint 1 at \S*breaks\.py:%d$" % line, done.out, re.M), done
    assert "End of file" in done.err and "threading.py has " in done.err, done
    assert "Breakpoint 2 at late/one.py:3  (no such code" in done.out, done
    assert "Breakpoint 3 at outer.inner  (no such code" in done.out, done
    ends_normally(target)


def test_a_step_in_a_blocked_call_says_so(edge_python, terminal):
    """And is given up by Ctrl-C and release: the thread does not stop afterwards."""
    target = start("breaks", edge_python)
    opened = terminal(target.pid)
    opened.expect_prompt()
    opened.type("n\r")
    opened.expect(r"has not reached its next line: it is blocked in \w+ in \S*breaks\.py\(")
    opened.type("\x03")
    opened.expect("interrupted")
    opened.expect_prompt()
    opened.ask("release", "continues; its step is given up")
    opened.detach()
    ends_normally(target)


def test_wrong_arguments_of_every_command(newest_python):
    """Each has one line that says what is wrong; no thread stays suspended, nothing is set."""
    target = start("breaks", newest_python)
    listed = hangdbg("attach", target.pid, "-c", "help").out
    names = [name for line in listed.splitlines()
             for name in re.match(r"([a-z!]+(?: \| [a-z]+)*)?", line).group().split(" | ") if name]
    assert len(names) > 60, names
    typed = ["%s %s" % (name, wrong) for name in names for wrong in ("(", "'", "- -", "\u00fc \u00fc")
             if (name, wrong) != ("alias", "\u00fc \u00fc") and (name, wrong) != ("alias", "- -")]
    done = hangdbg("attach", target.pid, *commands(*typed, "b", "display", "release"))
    lines = done.err.splitlines()
    errors = [line for line in lines if line.startswith("*** ")]
    assert len(errors) == len(typed) + 1 and "is not suspended" in errors[-1], "\n".join(lines)
    assert all(line.startswith(("*** ", "    try: ")) for line in lines), done
    assert done.out.count("is suspended") == done.out.count("resumed"), done
    assert "Breakpoint" not in done.out, done
    assert "No expression is being displayed" in done.out, done
    ends_normally(target)
