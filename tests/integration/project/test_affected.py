"""scripts/affected-tests: what it names is there, and what it does not know is everything."""

import importlib.machinery
import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def script():
    path = str(ROOT / "scripts/affected-tests")
    loader = importlib.machinery.SourceFileLoader("affected_tests", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def test_every_test_that_is_named_exists(script):
    named = {test for _, tests in script.RULES for test in tests} - {"=", script.UNIT}
    assert not [test for test in named if not script.files_of(test)]


def test_every_rule_is_about_something(script):
    files = subprocess.run(["git", "-C", ROOT, "ls-files"], text=True, capture_output=True,
                           check=True).stdout.splitlines()
    assert not [rule for rule, _ in script.RULES
                if not any(re.match(rule, file) for file in files)]


@pytest.mark.parametrize("path, of_python, unit", [
    ("docs/injection.md",
     ["tests/integration/project/test_readme.py", "tests/integration/project/test_docs.py",
      "tests/integration/project/test_command_lines.py"], False),
    ("docs/decisions/0001-one-anonymous-region.md",
     ["tests/integration/project/test_docs.py"], False),
    ("agent/README.md", ["tests/integration/project/test_folders.py"], False),
    ("agent/streams.py", ["tests/agent", "tests/dap", "tests/integration"], False),
    ("base/text.h", ["tests/agent", "tests/dap", "tests/integration"], True),
    ("inspector/cpython/runtime/frame_chain.cpp",
     ["tests/agent", "tests/dap", "tests/integration"], True),
    ("tests/integration/look/test_fds.py", ["tests/integration/look/test_fds.py"], False),
    ("tests/integration/support/harness.py",
     ["tests/agent", "tests/dap", "tests/integration"], False),
    ("tests/unit/base/text_test.cpp", ["tests/integration/project/test_folders.py"], True),
])
def test_what_a_file_affects(script, path, of_python, unit):
    found = script.affected(path)
    assert ("unit" in found) == unit
    assert [test for test in found if test != "unit"] == of_python


def test_a_command_affects_its_own_tests(script):
    found = script.affected("client/views/trace/text.cpp")
    assert "tests/integration/look/test_trace_strace.py" in found
    assert "tests/integration/look/test_dump.py" not in found


def test_a_commit_that_is_not_there():
    ran = subprocess.run([ROOT / "scripts/affected-tests", "no-such-commit"],
                         text=True, capture_output=True)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert len(ran.stderr.splitlines()) == 1 and "no-such-commit" in ran.stderr
