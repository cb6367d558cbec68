"""The hang of the README: the real torch behind a stale lock file."""

import re

import pytest

import torches
from harness import Target, evaluate, hangdbg, in_targets

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

IMPORT = 120.0  # seconds for `import torch` from a cold disk

TORCHES = [
    pytest.param(path, id="torch-" + version) for version, path in torches.found()
] or [pytest.param(None, marks=pytest.mark.skip("no interpreter here can import torch"))]


@pytest.fixture(params=TORCHES)
def target(request, tmp_path):
    hung = Target(
        [request.param, in_targets("torch_file_baton.py"), tmp_path / "extensions"],
        env={"TORCH_EXTENSIONS_DIR": str(tmp_path / "extensions")},
        ready_seconds=IMPORT,
    )
    hung.wait_hung()
    return hung


def ends_normally(target, before):
    target.assert_as_before(before)
    assert target.finish(30)["loaded"] is True


def test_it_hangs_and_goes_on_when_nobody_looks(target):
    assert target.alive()
    assert target.finish(30)["loaded"] is True


def test_eval(target):
    before = target.snapshot()
    done = hangdbg("eval", target.pid, "self.lock_file_path", "--json")
    assert done.rc == 0, done
    found = done.json()
    assert found["repr"] == repr(target.ready["path"])
    assert found["frame"]["function"] == "wait"
    assert found["frame"]["file"].endswith("torch/utils/file_baton.py")
    assert evaluate(target, "__import__('torch').zeros(2)") == "tensor([0., 0.])"
    ends_normally(target, before)


def test_attach(target, terminal):
    before = target.snapshot()
    session = terminal(target.pid)
    session.expect(r"file_baton\.py\(\d+\)wait\(\)$")
    session.expect_prompt()
    session.ask("p self.lock_file_path", "^" + re.escape(repr(target.ready["path"])))
    session.ask("u;; p name", "^'fused'$")
    session.detach()
    ends_normally(target, before)
