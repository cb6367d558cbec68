"""Fifty snippets, whole and in half, are pasted at the prompt, with the terminal's marks for a
paste and without: no thread is ever suspended, and the prompt always says something."""

import re
from pathlib import Path

import pytest

import processes
from harness import start, until
from snippets import SNIPPETS

PROMPT = r"^(\(hangdbg \d+[^)\n]*\)|\.\.\.) *"


@pytest.fixture
def session(newest_python, tmp_path, terminal):
    target = start("file_baton", newest_python, str(tmp_path / "lock"))
    opened = terminal(target.pid)
    opened.expect_prompt()
    opened.target = target
    yield opened
    opened.detach()
    assert target.finish()["answer"] == 41


def activity_of(target):
    return processes.thread_activity(target.pid, target.tid)


def waits_for_a_key(session):
    return not session.read(0.02) and Path(
        "/proc/%d/syscall" % session.process.pid).read_text().startswith("271 ")  # ppoll


@pytest.mark.parametrize("marked", [True, False])
def test_snippets(session, marked):
    for whole in SNIPPETS:
        for text in (whole, whole[:len(whole) // 2]):
            keys = text.replace("\r\n", "\r").replace("\n", "\r")
            session.type("\x1b[200~%s\x1b[201~" % keys if marked else keys)
            session.type("\r")
            until("all is read", lambda: waits_for_a_key(session))
            session.expect(PROMPT + r"(?!.*\n)")  # the last line is one
            session.type("\x03")  # drops what is not whole, or nothing
            session.expect(r"\^C\n")
            session.expect_prompt()
            assert "HELD" not in session.text and "is suspended" not in session.text, text
    session.ask("p 6 * 7", "^42$")
    assert len(re.findall(r"\*\*\* ", session.text)) >= 20  # of what is no Python


@pytest.mark.parametrize("keys", ["\tn\r", "\x1b[200~n\x1b[201~\r"], ids=["indented", "pasted"])
def test_an_empty_line_does_not_repeat_code(session, keys):
    session.type(keys)
    session.expect("NameError")
    session.expect_prompt()
    session.ask("", "")
    session.ask("p 6 * 7", "^42$")
    assert "HELD" not in session.text and "is suspended" not in session.text


def test_commands_that_come_at_once(session):
    """As a script sends them: they are done, also those that hold the thread."""
    session.type("p 6 * 7\rhold\rrelease\r")
    session.expect("^42$")
    session.expect("is suspended")
    session.expect("resumed")
    session.expect_prompt()
    session.ask("self.wait_seconds = 8", "")  # a step takes as long
    before = activity_of(session.target)
    until("the long sleep", lambda: activity_of(session.target).switches != before.switches)
    session.type("p 1\rn = 5\rn\r")  # the first is a command: n is one, too
    session.expect("^1$")
    session.expect("is suspended")
    until("the step has begun",
          lambda: activity_of(session.target).syscall not in ("futex", "running"))
    session.type("\x03")
    session.expect("interrupted")
    session.expect_prompt()
    session.ask("release", "step is given up")
