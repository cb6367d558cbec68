"""A session at a real terminal: prompt, commands, completion, keys, colours."""

import re

import pytest

from harness import hangdbg, start, until

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def target(edge_python, tmp_path):
    hung = start("file_baton", edge_python, str(tmp_path / "lock"))
    yield hung
    assert hung.finish()["answer"] == 41


@pytest.fixture
def session(target, terminal):
    opened = terminal(target.pid)
    opened.expect(r"attached to %d \(python 3\.\d+\.\d+\) in " % target.pid)
    opened.expect(r"^> \S*file_baton\.py\(\d+\)wait\(\)$")
    opened.expect(r"^-> ")
    opened.expect_prompt()
    return opened


def test_print_and_stack(session, target):
    session.ask("p self.lock_file_path", re.escape(repr(target.ready["path"])))
    session.type("w\r")
    # As pdb does: the oldest frame first, the newest last.
    for function in ("<module>", "load", "_jit_compile", "wait"):
        session.expect(r"file_baton\.py\(\d+\)%s\(" % re.escape(function))
    session.expect_prompt()
    session.ask("u", r"^> \S*file_baton\.py\(\d+\)_jit_compile\(")
    session.ask("p baton.wait_seconds", r"^0\.1$")
    session.ask("u", r"^> \S*file_baton\.py\(\d+\)load\(")
    session.ask("p sources", r"^\['fused\.cpp'\]$")
    session.ask("d", r"^> \S*file_baton\.py\(\d+\)_jit_compile\(")
    session.ask("d", r"^> \S*file_baton\.py\(\d+\)wait\(")
    session.detach()


def test_completion(session, target):
    session.type("p self.lock_f\t")
    session.expect(r"p self\.lock_file_path")
    session.type("\r")
    session.expect(re.escape(repr(target.ready["path"])))
    session.expect_prompt()
    session.type("p ans\t\r")
    session.expect(r"^41$")
    session.expect_prompt()
    session.detach()


def test_history(session, target):
    session.ask("p answer + 1", r"^42$")
    session.type("\x1b[A\r")  # the up key
    session.expect(r"^42$")
    session.expect_prompt()
    session.detach()


def test_history_is_kept(session, target, terminal):
    session.ask("p answer + 1", r"^42$")
    session.detach()
    again = terminal(target.pid)
    again.expect_prompt()
    again.type("\x1b[A")
    # Some history may hold the q or Ctrl-D in between; the print is the last.
    again.expect(r"p answer \+ 1")
    again.type("\r")
    again.expect(r"^42$")
    again.detach()


def test_ctrl_c_interrupts_an_expression(session, target, tmp_path):
    mark = tmp_path / "mark"
    session.type("open(%r, 'w').close() or [0 for _ in iter(int, 1)]\r" % str(mark))
    until("the expression running", mark.exists)
    session.type("\x03")
    session.expect_prompt(seconds=5)
    session.ask("p answer", r"^41$")
    session.detach()


def test_keys_typed_while_a_command_runs(session, target, tmp_path):
    mark = tmp_path / "mark"
    session.type("import time; open(%r, 'w').close(); time.sleep(0.2)\r" % str(mark))
    until("the command running", mark.exists)
    session.type("p answer\r")
    session.expect(r"^41$")
    mark.unlink()
    session.type("\x1b[A\x1b[A\r")  # once more
    until("the command running", mark.exists)
    session.detach()


def test_ctrl_c_at_the_prompt_stays(session, target):
    session.type("p nonsense that is not sent")
    session.expect("is not sent")
    session.type("\x03")
    session.expect_prompt(seconds=5)
    session.ask("p answer", r"^41$")
    session.detach()


def test_colours_on_a_terminal(session, target):
    session.ask("p answer", r"^41$")
    assert COLOUR.search(session.screen)
    session.detach()


def test_no_colours_if_not_wanted(target, terminal):
    for flags, env in ((["--color=never"], {}), ([], {"NO_COLOR": "1"})):
        session = terminal(target.pid, *flags, no_color=bool(env))
        session.expect_prompt()
        session.ask("p answer", r"^41$")
        assert not COLOUR.search(session.screen), repr(session.screen)
        session.detach()


def test_no_colours_in_a_pipe(target):
    done = hangdbg("attach", target.pid, "-c", "w", "-c", "p answer")
    assert "\x1b" not in done.out + done.err, done
    done = hangdbg("attach", target.pid, "--color=always", "-c", "w")
    assert COLOUR.search(done.out), done


def test_pasted_code_holds_no_thread(session, target):
    """`    return v` in a function that is pasted is not pdb's return, nor is `c` in it."""
    for line in ("    return self.x + 1", "return self.x", "    c", "\tn", "  hold"):
        session.type(line + "\r")
        session.expect(r"^\*\*\* ")
        session.expect_prompt()
    session.ask("  p self.wait_seconds", r"^0\.1$")
    assert "HELD" not in session.text and "is suspended" not in session.text, session.text
    session.detach()


def paste(session, text):
    session.type("\x1b[200~%s\x1b[201~" % text.replace("\n", "\r"))


def test_a_paste_holds_no_thread(session, target):
    """Where the terminal says what is pasted, neither word nor empty line of it is a
    command that holds one: it is one statement of Python. What is typed afterwards is."""
    for name in ("n", "c", "r", "hold", "until", "s"):
        paste(session, "%s\nc\nhold\n\n  \nn" % name)
        session.type("\r")
        session.expect(r"^\*\*\* NameError: name '%s' is not defined" % name)
        session.expect_prompt()
    assert session.text.count("***") == 6, session.text
    assert "HELD" not in session.text and "is suspended" not in session.text, session.text
    session.type("\x1b[200~p 6 *\x1b[201~ 7\r")
    session.expect(r"^42$")
    session.expect_prompt()
    session.ask("hold", "is suspended")
    session.ask("release", "resumed")
    session.detach()


TYPED = (
    (["[6,", "7][1] * 6"], r"^42$"),
    (["p '''a", "b'''"], r"^'a\\nb'$"),
    (["1 + \\", "1"], "^2$"),
    (["for one in (5, 6):", "    if one > 5:", "        print('is', one)", ""], "^is 6$"),
    (["def plus(v):  # [", "    '''one", "", "    more'''", "    return v + 41", "",
      "plus(1)"], "^42$"),
    (["interact", "l = [n", "for n in (20, 21)]", "while l:", "    print(l.pop())", ""],
     "^21\n20$"),
)


def test_statements_of_several_lines(session, target):
    """Brackets, strings, backslashes and blocks go on; Ctrl-C and Ctrl-D drop them."""
    for lines, answer in TYPED:
        for line in lines:
            session.type(line + "\r")
        session.expect(answer)
    for key in ("\x03", "\r\x04"):
        session.type("def f():\r    return [")
        session.expect(r"^\.\.\. +return \[")
        session.type(key)
        session.expect("^>>> ")
    session.type("exit()\r")
    session.expect_prompt()
    session.type("x = [\r")
    session.expect(r"^\.\.\. ")
    session.type("\x03")
    session.expect_prompt()
    session.ask("6 * 7", "^42$")
    session.detach()


PASTES = {
    "def f(v):\n    w = v\n\n    return w + 1\n\nf(4)": "^5$",
    "    x = 1\n    if x:\n        print('in')": "^in$",
    "class A:\n    n = 1\n    def c(self):\n        return self.n\nA().c()\n": "^1$",
    "try:\n    c\nexcept NameError:\n    print('none')\nelse:\n    n": "^none$",
    "p 41\np 6 * 8\n": "^41\n48$",
}


def test_pastes(session, target):
    """A paste is one statement, or commands; half of one says something, too."""
    for text, answer in PASTES.items():
        paste(session, text)
        session.type("\r")
        session.expect(answer)
        session.expect_prompt()
        for size in range(1, len(text), 7):
            half = text[:size]
            paste(session, half)
            for _ in range(half.count("\n")):
                session.expect(r"^\.\.\. ")
            session.type("\r")
            session.expect(r"^(\.\.\. |\(hangdbg)")
            session.type("\x03")  # drops it, or nothing
            session.expect(r"\^C\n")
            session.expect_prompt()
    session.ask("6 * 7", "^42$")
    assert "HELD" not in session.text and "is suspended" not in session.text, session.text
    session.detach()
