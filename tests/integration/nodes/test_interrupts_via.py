"""Ctrl-C in the prompts over nodes: each has an answer, wherever between Enter and the node's evaluation
it comes, and is for the command that it was typed at."""

import time

import pytest

from harness import in_targets, until
from sshd_hosts import Nodes
from terminal import Terminal

ROUNDS = 40
ENDLESS = "[0 for _ in iter(int, 1)]"
SOURCE = in_targets("ranks_loop.py")
LINE = next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if "step += 1" in line)


@pytest.fixture
def nodes(tmp_path, newest_python, monkeypatch):
    """Two ranks on each of two hosts. They do not meet."""
    made = Nodes(tmp_path, ("n1", "n2"))
    try:
        for rank in range(4):
            made.start(made.names[rank // 2], newest_python, "ranks_loop.py", RANK=rank, WORLD_SIZE=4,
                       LOCAL_RANK=rank % 2, MASTER_ADDR="n1", MASTER_PORT=2950, TORCHELASTIC_RUN_ID="run7")
        until("all run", lambda: made.hangdbg(
            "ps", "--json", "--via", "ssh:n[1-2]").out.count('"role":"rank"') == 4)
        monkeypatch.setenv("PATH", made.path)
        yield made
    finally:
        made.down()


def moments(most):
    """Seconds: most of them short, the first none."""
    return [most * (at / ROUNDS) ** 2 for at in range(ROUNDS)]


@pytest.fixture
def prompt_of_all(nodes):
    one = Terminal(None, command=("break", "%s:%d" % (SOURCE, LINE), "--hold-until", "all", "--for", "600",
                                  "--timeout", "60", "--via", "ssh:n[1-2]"), size=(30, 100))
    one.prompt = r"^\(hangdbg r0 n1 HELD\) $"
    one.expect(r"^\(hangdbg r\d n\d HELD\) $")
    one.type("rank 0\r")
    one.expect(one.prompt)
    yield one
    one.type("q\r")
    assert one.wait() == 0, one.text
    one.close()


def test_an_evaluation_on_all_nodes_ends(prompt_of_all):
    one = prompt_of_all
    for seconds in moments(0.15):
        one.type("ranks all %s\r" % ENDLESS)
        time.sleep(seconds)
        one.type("\x03")
        one.expect(r"(\^C|interrupted)[^\n]*\n(.*\n)*?" + one.prompt)
        # And nothing that comes afterwards.
        one.type("ranks all p 'of', rank\r")
        for _ in range(4):
            one.expect(r"^\[n\d:\d\] \('of', \d\)$")
        one.expect(one.prompt)


def test_one_that_has_ended_on_some_nodes(prompt_of_all, tmp_path):
    """What is over there by then gets no Ctrl-C: neither does the next command."""
    one, mark = prompt_of_all, tmp_path / "mark"
    for _ in range(10):
        one.type("ranks all p rank and rank or (open('%s', 'w').close(), %s)\r" % (mark, ENDLESS))
        for rank in (2, 3):
            one.expect(r"^\[n2:%d\] %d$" % (rank, rank))
        until("it runs", mark.exists)
        one.type("\x03")
        one.expect(r"\[n1:0\] \*\*\* interrupted$")
        one.expect(r"\[n1:1\] \*\*\* interrupted$")  # its turn had not come
        one.expect(one.prompt)
        mark.unlink()
        one.type("ranks all p 'of', rank\r")
        for _ in range(4):
            one.expect(r"^\[n\d:\d\] \('of', \d\)$")
        one.expect(one.prompt)


def test_keys_behind_it_are_of_the_next_line(prompt_of_all):
    """Also if they come at once."""
    one = prompt_of_all
    for _ in range(20):
        one.type("p 'dropped'")
        one.expect(r"'dropped'")
        one.type("\x03p 'kept'\r")
        one.expect(r"^\[n1:0\] 'kept'$")
        one.expect(one.prompt)
    assert "[n1:0] 'dropped" not in one.text, one.text


def test_an_evaluation_by_attach_ends(nodes):
    one = Terminal(None, command=("attach", "--ranks", "3", "--via", "ssh:n[1-2]"), size=(30, 100))
    try:
        prompt = r"^\(hangdbg \d+ r3\) $"
        one.expect(prompt)
        for seconds in moments(0.05):
            one.type(ENDLESS + "\r")
            time.sleep(seconds)
            one.type("\x03")
            one.expect(r"(\^C|interrupted)[^\n]*\n(.*\n)*?" + prompt)
        one.type("p rank\r")
        one.expect("^3$")
        one.expect(prompt)
        one.detach()
    finally:
        one.close()
