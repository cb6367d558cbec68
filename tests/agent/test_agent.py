"""The agent's Python, under every CPython found: each check_ function in
scenarios/*.py in a process of its own (driver.py), with the bootstrap's builtins
faked (harness.py)."""

import ast
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import interpreters  # noqa: E402
from validation import validated  # noqa: E402

# The agent is the same whatever the libc is, and the fakes need ctypes.
FOUND = [it for it in interpreters.newest_of_each_minor(interpreters.found())
         if it.variant != interpreters.MUSL]
SKIP = 77  # exit status of a scenario that this interpreter cannot show


def _scenarios():
    return [pytest.param(path.stem, node.name, id=node.name)
            for path in sorted((HERE / "scenarios").glob("*.py"))
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")]


def test_an_interpreter_was_found():
    assert FOUND, "no CPython found: set HANGDBG_PYTHONS"


def test_no_name_is_defined_twice():
    """All files of the agent are one namespace in the target; of tracing.py and
    monitoring.py it gets one."""
    places = {}
    for path in sorted((HERE.parents[1] / "agent").glob("*.py")):
        if path.name == "starters.py":  # runs in names of its own
            continue
        for node in ast.parse(path.read_text()).body:
            names = [node.name] if hasattr(node, "name") else [
                target.id for target in getattr(node, "targets", ())
                if isinstance(target, ast.Name)]
            for name in names:
                places.setdefault(name, []).append(path.name)
    assert "handle" in places
    assert {name: files for name, files in places.items() if len(files) > 1
            and files != ["monitoring.py", "tracing.py"]} == {}


@pytest.mark.parametrize("name", interpreters.WANTED.values())
def test_interpreter_is_there(name):
    reason = interpreters.missing().get(name)
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("file, scenario", _scenarios())
@pytest.mark.parametrize("interpreter", FOUND, ids=interpreters.label)
def test_agent(interpreter, file, scenario):
    _run(interpreter, file, scenario)


@pytest.mark.parametrize("file, scenario", _scenarios())
def test_messages_are_as_specified(file, scenario, tmp_path):
    """One interpreter shows it for all. Two things never come as far as an editor:
    a thread's id in Python, which here stands for the kernel's; and an answer to what
    was no request."""
    messages = tmp_path / "messages"
    messages.touch()
    _run(FOUND[-1], file, scenario, HANGDBG_MESSAGES=str(messages))
    for line in messages.read_text().splitlines():
        message = json.loads(line)
        if message.get("command") != "threads" and message.get("request_seq") != 0:
            validated(message)


def _run(interpreter, file, scenario, **environment):
    done = subprocess.run(
        [interpreter.path, "-I", "-S", str(HERE / "driver.py"), file, scenario], timeout=60,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, **environment))
    output = done.stdout.decode(errors="replace")
    if done.returncode == SKIP:
        pytest.skip("%s: %s" % (interpreters.label(interpreter), output.strip()))
    assert done.returncode == 0, output
    assert output == "", "it printed: " + output


def test_parts_share_no_name():
    """They share their globals: two of a name would be one. (monitoring.py or tracing.py is
    there, never both.)"""
    owners = {}
    for path in sorted((HERE.parent.parent / "agent").glob("*.py")):
        if path.name == "starters.py":
            continue
        for node in ast.parse(path.read_text()).body:
            targets = getattr(node, "targets", [])
            names = [node.name] if hasattr(node, "name") else [
                target.id for target in targets if isinstance(target, ast.Name)]
            for name in names:
                owners.setdefault(name, set()).add(path.stem)
    shared = {name: parts for name, parts in owners.items()
              if len(parts) > 1 and parts != {"monitoring", "tracing"}}
    assert not shared, shared
