"""What the terminal helps with: completion of arguments, a pager, colours of what is typed."""

import re

import pytest

from harness import hangdbg, start


@pytest.fixture
def target(newest_python, tmp_path):
    hung = start("file_baton", newest_python, str(tmp_path / "lock"))
    yield hung
    assert hung.finish()["answer"] == 41


def test_a_screenful_at_a_time(target, terminal):
    session = terminal(target.pid, size=(24, 100))
    session.expect_prompt()
    session.type("h\r")
    session.expect("--More--")
    assert session.text.count("\n", session.text.rindex("h\n")) <= 24, session.text
    session.type(" ")
    session.expect("--More--")
    session.type("\r")  # a line
    session.expect("--More--")
    session.type("q")
    session.expect_prompt()
    session.type("h\r")
    session.expect("--More--")
    session.type("\x03")
    session.expect_prompt()
    session.ask("p 40 + 2", "^42$")
    session.ask("w", r"file_baton\.py\(\d+\)wait")  # fits
    session.detach()


def test_the_users_pager(target, terminal):
    session = terminal(target.pid, size=(24, 100), pager="sed s/^/paged:/")
    session.expect_prompt()
    session.ask("h", "^paged:.*breakpoint")
    session.type("pp list(range(1000))\r")
    session.expect("^paged: 999")
    session.expect_prompt()
    session.ask("p 40 + 2", "^42$")  # as it is
    session.detach()
    without = terminal(target.pid, size=(24, 100), pager="no-such-program-here")
    without.expect_prompt()
    without.type("h\r")
    without.expect("--More--")
    without.type("q")
    without.expect_prompt()
    without.detach()


def test_no_pager_in_a_pipe(target):
    done = hangdbg("attach", target.pid, "-c", "h", "-c", "pp list(range(1000))")
    assert "More" not in done.out and " 999]" in done.out, done


# What is typed before Tab, and what is shown then.
COMPLETED = [
    ("thread ma", "thread main"),
    ("info thr", "info threads"),
    ("help tbr", "help tbreak"),
    ("b file_bat", r"b file_baton\.py:"),
    ("b file_baton.py:1\t", r"file_baton\.py:12"),
    ("b self.wai", r"b self\.wait"),
    ("tbreak os", "tbreak os"),
    ("condition 1 self.wai", r"condition 1 self\.wait"),
    ("disable ", "disable 1"),
    ("ignore ", "ignore 1"),
    ("commands ", "commands 1"),
    ("p self.lock_f", r"p self\.lock_file_path"),
    ("pp self.lock_f", r"pp self\.lock_file_path"),
    ("whatis self.lock_f", r"whatis self\.lock_file_path"),
    ("display self.lock_f", r"display self\.lock_file_path"),
    ("raise Timeou", "raise TimeoutError"),
    ("u \t", "1 +2"),
    ("j \t", r"\d+ +\d+"),
    ("undisplay ", "undisplay answer"),
]


def test_arguments(target, terminal):
    session = terminal(target.pid)
    session.expect_prompt()
    session.ask("b os.path.join", "Breakpoint 1")
    session.ask("display answer", "41")
    for typed, shown in COMPLETED:
        session.type(typed + "\t")
        session.expect(shown)
        session.type("\x15\r")  # none of it
        session.expect_prompt()
    session.type("interact\r")
    session.expect(">>>")
    session.type("self.lock_f\t")
    session.expect(r"self\.lock_file_path")
    session.type("\x15\x04")
    session.expect_prompt()
    session.detach()


def test_what_is_typed_has_colours(target, terminal):
    session = terminal(target.pid)
    session.expect_prompt()
    session.type("[n for n in range(3)] or 'for'")
    session.expect("or 'for'")
    session.expect("or 'for'")  # once more, in colours
    session.type("\r")
    session.expect(r"^\[0, 1, 2\]$")
    session.expect_prompt()
    assert "\x1b[35mfor\x1b[0m" in session.screen and "\x1b[32m'for'\x1b[0m" in session.screen
    session.type("ll\r")
    session.expect(r"->\s+time\.sleep")
    session.expect_prompt()
    assert re.search(r"\x1b\[35mwhile\x1b\[0m os\.path", session.screen), session.screen
    session.detach()


def test_the_users_own_commands(target, terminal, tmp_path, monkeypatch):
    """Of a file in his home that nobody else may write."""
    file = tmp_path / "hangdbg" / "prompt"
    file.parent.mkdir()
    file.write_text("# mine\nalias two p %1 * 2\n\np answer + 1\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for mode, answer in ((0o644, "^42$"), (0o666, "prompt is not read: another user may write it")):
        file.chmod(mode)
        session = terminal(target.pid)
        session.expect(answer)
        session.expect_prompt()
        session.ask("two 4", "^8$" if mode == 0o644 else "SyntaxError")
        session.detach()
    assert "42" not in hangdbg("attach", target.pid, "-c", "w 1").out
