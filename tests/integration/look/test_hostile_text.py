"""What a program says of itself is shown, and cannot steer what shows it: no control
character gets to a terminal, nor into a pipe, whose other end may be a terminal."""

import re
import subprocess

import pytest

from harness import PROGRAM, hangdbg, start

MESSAGE = "\x1b]0;title\x07\x1b[31mred\x9b2J\x7fend"  # tests/targets/stacks/hostile_text.py
TEXT = MESSAGE + "\r"
SHOWN = r"\x1b]0;title\x07\x1b[31mred\u009b2J\x7fend"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

SHOWS_IT = {
    "repr": ["eval", "PID", "value"],
    "printed": ["eval", "PID", "print(TEXT)"],
    "printed to stderr": ["eval", "PID", "print(TEXT, file=__import__('sys').stderr)"],
    "raised": ["eval", "PID", "raise error"],
    "p": ["attach", "PID", "-c", "p value"],
    "pp": ["attach", "PID", "-c", "pp value"],
    "display": ["attach", "PID", "-c", "display value"],
    "statement": ["attach", "PID", "-c", "print(TEXT)"],
    "exception at the prompt": ["attach", "PID", "-c", "!raise error"],
    "threads of the prompt": ["attach", "PID", "-c", "threads"],
    "peek": ["peek", "PID", "error"],
    "dump": ["dump", "PID"],
    "merged dump": ["dump", "PID", "--merge"],
    "threads": ["threads", "PID"],
}
OTHERS = ["ps", "diagnose PID", "locks PID", "around PID", "tree PID", "net PID", "fds PID",
          "doctor PID", "dump PID --locals --source --native"]


def run(words, pid):
    """What comes out, as it comes."""
    done = subprocess.run(
        [str(PROGRAM)] + [str(pid) if word == "PID" else word for word in words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture
def target(newest_python):
    started = start("hostile_text", newest_python)
    yield started
    assert started.finish() == {"answer": 1}


@pytest.mark.parametrize("what", SHOWS_IT)
def test_it_is_shown(what, target):
    code, said = run(SHOWS_IT[what], target.pid)
    assert code in (0, 1) and not RAW.search(said), said
    assert r"\x1b" in said and (what == "peek" or SHOWN in said), said


def test_it_is_shown_nowhere_else(target):
    for words in OTHERS:
        code, said = run(words.split(), target.pid)
        assert code == 0 and said and not RAW.search(said), (words, said)


def test_lines_stay_lines(target):
    done = hangdbg("eval", target.pid, r"print('a\tb\nc')")
    assert (done.rc, done.out, done.err) == (0, "a\tb\nc\n", ""), done


def test_json_has_it_as_it_is(target):
    done = hangdbg("eval", target.pid, "print(TEXT) or value", "--json")
    assert done.rc == 0 and not RAW.search(done.out), done
    assert (done.json()["stdout"], done.json()["repr"]) == (TEXT + "\n", TEXT), done
    done = hangdbg("eval", target.pid, "raise error", "--json")
    assert done.rc == 1 and done.json()["error"]["message"] == MESSAGE, done
