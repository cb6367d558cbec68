"""With --json stdout holds one JSON document, the answer or the error: whatever is wrong,
a program that reads it meets nothing else, and the exit code is the same."""

import json
import re

import pytest

from harness import hangdbg, start

NOBODY = 2 ** 22 - 1
NO_JOB = ["--job", "no such job"]

FAILURES = {  # the words, the exit code, what is in the message or in the hint
    "report": (["report", NOBODY], 2, "no process"),
    "report of nothing": (["report", "one"], 2, "hangdbg ps"),
    "trace": (["trace", NOBODY], 2, "no process"),
    "trace of no call": (["trace", "1", "-e", "nosuch"], 2, "nosuch"),
    "record": (["record", NOBODY], 2, "no process"),
    "top": (["top", NOBODY], 2, "no process"),
    "diagnose": (["diagnose", NOBODY], 2, "no process"),
    "diagnose a job": (["diagnose", *NO_JOB], 2, "no such job"),
    "merge": (["merge", "/no/file"], 2, "/no/file"),
    "diff": (["diff", "/no/file", "/no/other"], 2, "/no/file"),
    "diff of one": (["diff", "-", "-"], 2, "standard input"),
    "ps": (["ps", *NO_JOB], 2, "no such job"),
    "dump": (["dump", *NO_JOB], 2, "no such job"),
    "dump of nothing": (["dump", "one"], 2, "hangdbg ps"),
    "eval": (["eval", *NO_JOB, "1"], 2, "no such job"),
    "peek": (["peek", *NO_JOB, "x"], 2, "no such job"),
    "dist": (["dist", *NO_JOB], 2, "no such job"),
    "doctor": (["doctor", "one"], 2, "is not a PID"),
    "around": (["around", NOBODY], 2, "no process"),
    "fds": (["fds", NOBODY], 2, "no process"),
    "threads": (["threads", NOBODY], 2, "no process"),
    "locks": (["locks", NOBODY], 2, "no process"),
    "net": (["net", NOBODY], 2, "no process"),
    "tree": (["tree", NOBODY], 2, "no process"),
    "break": (["break", "a.py:1", "-c", "w", *NO_JOB], 2, "no such job"),
    "serve": (["serve", "--listen", "nowhere"], 2, "nowhere"),
}
# Of those that have an answer about each process the error is in that.
IN_ITS_PLACE = {
    "dump": lambda found: found["processes"][0]["error"],
    "core": lambda found: found["processes"][0]["error"],
    "dist": lambda found: found["ranks"][0]["error"],
    "eval": lambda found: found["error"],
    "peek": lambda found: found["error"],
}
WORDS = {"eval": [NOBODY, "1"], "peek": [NOBODY, "x"], "core": ["/no/file"]}


@pytest.mark.parametrize("what", FAILURES)
def test_a_failure(what):
    words, code, reason = FAILURES[what]
    error = hangdbg(*words, "--json").assert_refused_as_json(code, reason)
    assert error["type"] in ("usage", "no-such-process"), error
    in_words = hangdbg(*words)
    assert in_words.rc == code and in_words.out == "" and reason in in_words.err, in_words


@pytest.mark.parametrize("command", IN_ITS_PLACE)
def test_a_failure_in_the_place_of_what_is_not_known(command):
    words = [command, *WORDS.get(command, [NOBODY])]
    done = hangdbg(*words, "--json")
    error = IN_ITS_PLACE[command](done.json())
    assert done.err == "" and error["message"], done
    assert done.rc == hangdbg(*words).rc != 0, done


def commands_with_json():
    """From the helps."""
    known = re.findall(r"^  ([a-z]+) +[A-Z]", hangdbg("--help").out, re.M)
    assert {"report", "trace", "ps"} <= set(known), known
    return [one for one in known if "--json" in hangdbg(one, "--help").out]


def test_wrong_usage_of_each_command():
    commands = commands_with_json()
    assert len(commands) > 18, commands
    for command in commands:
        for words in (["--json", "--no-such"], ["--no-such", "-j"], ["--timeout", "--json"],
                      ["--timeout", "soon", "--json"], ["--json", "--color", "red"]):
            done = hangdbg(command, *words)
            error = done.assert_refused_as_json(2)
            assert error["type"] == "usage" and command in error["hint"], done


def test_what_is_not_asked_for_as_json():
    """Behind -- it is a word like others."""
    for words in (["eval", "1", "--no-such", "--", "--json"], ["peek", "one", "--", "--json"],
                  ["attach", "--no-such"], ["run"]):
        hangdbg(*words).assert_refused(2)


def test_an_error_beside_an_answer(newest_python, tmp_path):
    """The document is the answer; what else went wrong is for a person to read."""
    target = start("lock_main", newest_python)
    done = hangdbg("dump", target.pid, "--merge", "--svg", tmp_path / "no" / "a.svg", "--json")
    assert done.rc != 0 and "a.svg" in done.err, done
    assert "tree" in json.loads(done.out), done
    target.finish()


def test_merge_tells_of_a_dump_that_failed(tmp_path):
    """As many machines' are collected, one line each."""
    failed = tmp_path / "failed.json"
    failed.write_text(hangdbg("dump", *NO_JOB, "--json").out)
    error = hangdbg("merge", failed, "--json").assert_refused_as_json(2, "no such job")
    assert str(failed) in error["message"]
