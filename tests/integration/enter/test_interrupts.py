"""Ctrl-C at every stage of the prompt: each one that is typed has an answer, without a
further key.

It comes at random moments of what is being done. One race is too narrow for that: a key,
and Ctrl-C before it has been read, which takes it out of the terminal's queue; there
strace holds hangdbg's read up."""

import os
import pty
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from harness import PATIENCE, PROGRAM, die_with_us, start, track, until

ROUNDS = 40
PPOLL, WRITE = "271", "1"  # x86-64
SECONDS = {"nothing": 0, "little": 0.003, "more": 0.04}


@pytest.fixture
def target(newest_python, tmp_path):
    hung = start("file_baton", newest_python, str(tmp_path / "lock"))
    yield hung
    assert hung.finish()["answer"] == 41


@pytest.fixture
def session(target, terminal):
    opened = terminal(target.pid, size=(24, 100))
    opened.expect_prompt()
    return opened


def interrupted(session, prompt=None):
    """Types Ctrl-C; it is answered, and a prompt comes of itself."""
    prompt = prompt or r"\(hangdbg %d[^)]*\) " % session.pid
    session.type("\x03")
    session.expect(r"(\^C|interrupted)[^\n]*\n(.*\n)*%s$" % prompt)


STAGES = {
    "prompt": ("\r", "little"),
    "while it is typed": ("p answer + sel", "little"),
    "paste": ("\x1b[200~for one in (1, 2):\r    print(one)\r", "little"),
    "unmarked paste": ("for one in (1, 2):\r    print(one)\r    x = [\r", "little"),
    "block": ("for one in (1, 2):\r    print(one)\r", "little"),
    "bracket": ("x = [1,\r", "little"),
    "search": ("\x12answ", "little"),
    "evaluation's start": ("p answer + 1\r", "little"),
    "evaluation": ("import time; time.sleep(0.02)\r", "more"),
    "its end": ("[0 for _ in range(100000)] and 1\r", "more"),
    "error": ("p nosuch\r", "little"),
    "stack": ("w\r", "little"),
    "threads": ("threads\r", "more"),
    "two commands": ("p answer;; w;; p answer\r", "more"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_every_ctrl_c_has_an_answer(session, stage):
    keys, most = STAGES[stage]
    moments = random.Random(stage)
    for _ in range(ROUNDS):
        session.type(keys)
        time.sleep(SECONDS[most] * moments.random() ** 2)
        interrupted(session)
    session.ask("p answer", "^41$")
    session.detach()


def moments(rounds, most):
    """Seconds: most of them short, the first none."""
    return [most * (at / rounds) ** 2 for at in range(rounds)]


def test_an_endless_evaluation_ends(session):
    """Wherever between Enter and the evaluation it came."""
    for seconds in moments(3 * ROUNDS, 0.02):
        session.type("[0 for _ in iter(int, 1)]\r")
        time.sleep(seconds)
        interrupted(session)
    session.ask("p answer", "^41$")
    session.detach()


def test_in_interact(session):
    moments = random.Random(1)
    session.type("interact\r")
    session.expect("^>>> ")
    for keys in ("", "answer +", "answer\r", "for one in (1, 2):\r    one\r", "x = (\r",
                 "import time; time.sleep(0.01)\r", "nosuch\r") * (ROUNDS // 5):
        session.type(keys)
        time.sleep(SECONDS["more"] * moments.random() ** 3)
        interrupted(session, ">>> ")
    session.type("exit()\r")
    session.expect_prompt()
    session.ask("p answer", "^41$")
    session.detach()


def test_one_is_one(session, tmp_path):
    """It ends what runs, and nothing that comes afterwards."""
    mark = tmp_path / "mark"
    for begin, prompt in (("", None), ("interact\r", ">>> ")):
        session.type(begin + "open(%r, 'w').close() or [0 for _ in iter(int, 1)]\r" % str(mark))
        until("it runs", mark.exists)
        mark.unlink()
        before = len(session.text)
        interrupted(session, prompt)
        session.type("answer + 1\r")
        session.expect(r"^42$")
        assert session.text.count("interrupted", before) == 1, session.text
        assert session.text.count("^C", before) <= 1, session.text  # the terminal's own
    session.type("exit()\r")
    session.expect_prompt()
    session.detach()


def test_in_a_completion(session):
    moments = random.Random(1)
    for keys in ("p self.\t", "p self.wait_s\t", "p os.path.\t", "b \t") * (ROUNDS // 2):
        session.type(keys)
        time.sleep(SECONDS["little"] * moments.random() ** 2)
        interrupted(session)
    session.ask("p answer", "^41$")
    session.detach()


@pytest.mark.parametrize("pager", ["", "sed s/^/:/"])
def test_in_a_pager(target, terminal, pager):
    session = terminal(target.pid, size=(24, 100), pager=pager)
    session.expect_prompt()
    moments = random.Random(pager)
    for _ in range(ROUNDS):
        session.type("help\r")
        time.sleep(SECONDS["little"] * moments.random() ** 2)
        session.type("\x03")
        session.expect(r"\(hangdbg %d\) $" % target.pid)
        interrupted(session)
    session.ask("p answer", "^41$")
    session.detach()


PAGER = """\
#!/bin/sh
trap 'echo came' INT
: > %(ready)s
while ! [ -e %(mark)s ]; do sleep 0.1 || :; done
wc -c > %(count)s
"""


def test_a_pager_has_all_of_the_text(target, terminal, tmp_path):
    """Also what was being written to it as Ctrl-C came, which is the pager's."""
    mark, count, pager, begun = (tmp_path / name for name in ("mark", "count", "pager", "ready"))
    pager.write_text(PAGER % {"mark": mark, "count": count, "ready": begun})
    pager.chmod(0o700)
    session = terminal(target.pid, size=(24, 100), pager=str(pager))
    session.expect_prompt()
    session.type("pp list(range(60000))\r")
    until("the pager has begun", begun.exists)
    until("it writes to a full pipe", lambda: open(
        "/proc/%d/syscall" % session.process.pid).read().split()[0] == WRITE)
    session.type("\x03")
    session.expect("came")
    mark.touch()
    session.expect_prompt()
    assert int(count.read_text()) > sum(len(str(number)) + 2 for number in range(60000))
    session.ask("p answer", "^41$")
    session.detach()


def test_another_size_leaves_the_pager_open(session):
    session.type("help\r")
    session.expect("--More--")
    session.process.send_signal(signal.SIGWINCH)
    session.type(" ")
    session.expect("--More--")
    session.type("q")
    session.expect_prompt()
    session.detach()


def test_all_is_written(session):
    """Also what was being written when it came: nothing is said to have failed at the end."""
    moments = random.Random(1)
    for _ in range(5):
        session.type("interact\rprint('x' * 300000)\r")
        session.expect("x{100}")
        time.sleep(SECONDS["more"] * moments.random())
        interrupted(session, ">>> ")
        session.type("exit()\r")
        session.expect_prompt()
    session.detach()
    assert "cannot write" not in session.text


def reads_a_key(pid):
    """strace has stopped it at the beginning of a read of its terminal."""
    with open("/proc/%d/syscall" % pid) as call:
        now = call.read().split()
    with open("/proc/%d/stat" % pid) as stat:
        state = stat.read().rsplit(")", 1)[1].split()[0]
    return state == "t" and now[:2] == ["0", "0x0"]


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
@pytest.mark.parametrize("stage", ["prompt", "pager", "block"])
def test_behind_a_key_that_is_not_read_yet(session, stage):
    session.type({"prompt": "", "pager": "help\r", "block": "x = [\r"}[stage])
    session.expect({"prompt": "", "pager": "--More--", "block": r"^\.\.\. "}[stage])
    pid = session.process.pid
    tracer = track(subprocess.Popen(
        ["strace", "-qq", "-o", "/dev/null", "-p", str(pid),
         "-P", os.readlink("/proc/%d/fd/0" % pid), "-e", "trace=read",
         "-e", "inject=read:delay_enter=300ms"], preexec_fn=die_with_us))
    until("it is traced", lambda: re.search(
        r"TracerPid:\t[1-9]", open("/proc/%d/status" % pid).read()))
    session.type("x")
    until("the key is being read", lambda: reads_a_key(pid))
    session.type("\x03")
    session.expect(r"\^C\n\(hangdbg \d+\) $" if stage != "pager" else r"\(hangdbg \d+\) $")
    tracer.terminate()
    tracer.wait()
    session.ask("p answer", "^41$")
    session.detach()


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
def test_without_an_editor(target, kind):
    """Lines from a pipe, or from a terminal while the answers go elsewhere."""
    ours, its = pty.openpty() if kind == "terminal" else reversed(os.pipe())
    process = track(subprocess.Popen(
        [str(PROGRAM), "attach", str(target.pid)], stdin=its, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=die_with_us))
    os.close(its)
    os.write(ours, b"p answer\n")
    while process.stdout.readline() != "41\n":
        assert process.poll() is None
    until("it waits", lambda: open("/proc/%d/syscall" % process.pid).read().split()[0] == PPOLL)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130, process.stderr.read()
    os.close(ours)
