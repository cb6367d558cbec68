"""What each command prints with --json is what docs/schemas says, which docs/json.md shows."""

import json
import os
import signal

import pytest

import launchers
import pages
import stages
from harness import ROOT, hangdbg, start, start_hangdbg

jsonschema = pytest.importorskip("jsonschema")

SCHEMAS = ROOT / "docs" / "schemas"
NOBODY = 2 ** 22 - 1


def validate(command, *words, lines=False, codes=(0,), name=None):
    """Runs it, checks each document, and returns the last one."""
    done = hangdbg(command, *words, "--json")
    assert done.rc in codes, done
    schema = json.loads((SCHEMAS / ((name or command) + ".json")).read_text())
    checker = jsonschema.Draft202012Validator(schema)
    for text in done.out.splitlines() if lines else [done.out]:
        found = json.loads(text)
        wrong = sorted(checker.iter_errors(found), key=lambda error: error.json_path)
        assert not wrong, "%s\n%s" % (text, "\n".join(map(explained, wrong)))
    return found


def explained(error):
    """The alternative that comes closest is the one that was meant."""
    best = jsonschema.exceptions.best_match([error])
    while best.context:
        best = min(best.context, key=lambda one: (len(one.path) == 0, -len(one.path)))
    return "%s: %s" % (best.json_path, best.message)


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_a_schema_is_one(path):
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(
        {"error": {"type": "usage", "message": "it is wrong", "hint": "hangdbg --help"}})
    assert not jsonschema.Draft202012Validator(schema).is_valid({"other": 1})
    assert "<!-- schema: %s -->" % path.stem in (ROOT / "docs" / "json.md").read_text()


@pytest.fixture
def hung(newest_python, tmp_path):
    return start("file_baton", newest_python, str(tmp_path / "lock"))


@pytest.mark.parametrize("words", [
    ["ps"], ["diagnose"], ["dump"], ["dump", "--locals", "--native-all", "--tasks"],
    ["dump", "--merge"], ["fds"], ["threads"], ["locks"], ["net", "--options"], ["tree"], ["around"],
    ["doctor"], ["dist"]], ids=" ".join)
def test_of_a_process(words, hung):
    codes = (0, 1) if words[0] == "dist" else (0,)  # it has no torch
    validate(words[0], hung.pid, *words[1:], codes=codes)


@pytest.mark.parametrize("expression", ["answer", "1 / 0", "no such", "answer = 42"])
def test_of_an_expression(expression, hung):
    validate("eval", hung.pid, expression, codes=(0, 1))
    validate("peek", hung.pid, expression.replace("= 42", ""), codes=(0, 1, 2))


@pytest.mark.parametrize("target", ["asyncio_tasks", "gil_held", "lock_worker"])
def test_of_others(target, newest_python):
    one = start(target, newest_python)
    for command in ("ps", "diagnose", "threads", "locks"):
        validate(command, one.pid)
    validate("dump", one.pid, "--tasks", "--locals")


def test_of_several(newest_python, tmp_path):
    pids = [start("file_baton", newest_python, str(tmp_path / name)).pid for name in "ab"]
    for command in ("ps", "diagnose", "dump", "threads", "locks", "net", "tree"):
        validate(command, *pids)
    for command in ("diagnose", "dump", "threads", "locks", "net", "tree"):
        validate(command, pids[0], NOBODY, codes=(0, 1, 2))
    found = validate("dump", *pids, "--merge")
    assert found["tree"]["pids"] == sorted(pids)
    for name, pid in zip("ab", pids):
        (tmp_path / (name + ".json")).write_text(hangdbg("dump", pid, "--json").out)
    validate("merge", tmp_path / "a.json", tmp_path / "b.json")
    validate("diff", tmp_path / "a.json", tmp_path / "b.json", codes=(0, 1))


def test_of_other_nodes(hung):
    via = ["--via", "cmd:n[1-2],none sh -c '[ $1 != none ] && eval \"$2\"' sh {host} {command}"]
    found = validate("threads", hung.pid, *via, name="via", codes=(1,))
    assert [one["error"] is None for one in found["nodes"]] == [True, True, False]
    found = validate("net", "--probe", "127.0.0.1:9", *via, name="net-probe", codes=(1,))
    assert found["findings"] and found["nodes"][2]["error"]
    assert "error" in validate("net", "--probe", "nowhere", name="net-probe", codes=(2,))


def test_of_a_report(hung, tmp_path):
    found = validate("report", hung.pid, "-o", tmp_path / "a.tar.gz")
    assert found["files"]
    os.kill(hung.pid, signal.SIGSTOP)
    validate("report", hung.pid, "-o", tmp_path / "b.tar.gz")
    os.kill(hung.pid, signal.SIGCONT)
    found = validate("diff", tmp_path / "a.tar.gz", tmp_path / "b.tar.gz", codes=(1,))
    assert found["differences"]


@pytest.mark.parametrize("words", [["-n", "3", "--python"], ["-n", "3", "-c"]], ids=" ".join)
def test_of_a_trace(words, hung):
    validate("trace", hung.pid, *words, lines="-c" not in words)


def test_of_a_recording(hung, tmp_path):
    found = validate("record", hung.pid, "-d", "1", "-i", "-o", tmp_path / "profile.html")
    assert found["functions"]


def test_of_recordings_that_are_compared(newest_python, tmp_path):
    for name in ("a.jsonl", "b.txt"):
        hangdbg("record", "-i", "-o", tmp_path / name, "--", newest_python, "-c", "import time; time.sleep(0.5)")
    found = validate("record", "--diff", tmp_path / "a.jsonl", tmp_path / "b.txt")
    assert found["functions"]


def test_of_top(hung):
    found = validate("top", hung.pid, "-i", "--delay", "1")
    assert found["functions"] and found["lines"] and found["threads"] and found["processes"]


@pytest.mark.parametrize("command", ["ps", "diagnose", "dump", "eval", "peek", "dist", "record", "report", "top"])
def test_of_no_job(command):
    words = ["1"] if command in ("eval", "peek") else []
    assert "error" in validate(command, "--job", "no such job", *words, codes=(2,))


def test_of_a_core_file(tmp_path):
    stage = stages.Core(tmp_path)
    try:
        stage.begin()
        validate("core", tmp_path / ("core." + pages.PID), "--locals", "--native")
        validate("peek", tmp_path / ("core." + pages.PID), "done", "--frame", "own")
    finally:
        stage.end()


@pytest.mark.slow
def test_of_a_job(tmp_path):
    stage = stages.Epoch(tmp_path)
    try:
        stage.begin()
        job = ["--job", stage.pid]
        for words in (["ps"], ["diagnose"], ["dump", "--merge", "--locals"], ["dump"], ["dist"],
                      ["dist", "--ask"], ["eval", "--frame", "<module>", "len(mine)"],
                      ["peek", "--frame", "train", "step"]):
            validate(words[0], *job, *words[1:], codes=(0, 1, 2))
        validate("report", *job, "-o", tmp_path / "a.tar.gz")
        validate("tree", stage.pid)
        validate("break", "epoch.py:17", *job, "-c", "p step", "--wait", "0.1", lines=True,
                 codes=(0, 1, 4))
    finally:
        stage.end()


def test_of_a_server():
    """It prints one document when it listens, and goes on."""
    server = start_hangdbg("serve", "--listen", "tcp:127.0.0.1:" + launchers.free_port(), "--json")
    found = json.loads(server.stdout.readline())
    schema = json.loads((SCHEMAS / "serve.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
