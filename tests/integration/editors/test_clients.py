"""Debugger clients that nobody here wrote (scripts/get-clients gets them). Each attaches
to a process that hangs in lock.acquire(), reads a local three frames up, sets a
breakpoint in the loop of another thread, hits it, steps, goes on and leaves; then the
process ends its work as if nobody had been there."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, PROGRAM, die_with_us, start, track
from test_dap_breakpoints import FILE, line_of
from test_serve import Server

CLIENTS = Path(__file__).resolve().parents[3] / ".cache" / "clients"
SCRIPTS = Path(__file__).resolve().parents[2] / "clients"

pytestmark = pytest.mark.slow


class Story:
    """What a client is to do, and the process that it does it to."""

    def __init__(self, python, port=None):
        self.target = start("loop_beside", python)
        self.before = self.target.snapshot()
        self.told = {
            "program": str(PROGRAM), "port": port, "pid": self.target.pid,
            "thread": self.target.tid, "worker": "loop-0", "file": FILE,
            "line": line_of("check(turns, text)"), "nextLine": line_of("time.sleep(0.001)"),
            "local": {"name": "name", "value": "'outermost'"}}

    def played_by(self, *command, **environment):
        """What the client prints."""
        out = run(*command, HANGDBG_STORY=json.dumps(self.told), **environment)
        self.ends_as_before()
        return out

    def ends_as_before(self):
        self.target.assert_as_before(self.before, arenas=4)
        result = self.target.finish()
        assert result["exact"] and result["bonuses"] == [0], result


def run(*command, seconds=2 * PATIENCE, **environment):
    """What it prints; it ends well."""
    process = track(subprocess.Popen(
        [str(word) for word in command], text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        preexec_fn=die_with_us, env=dict(os.environ, **environment)))
    out, _ = process.communicate(timeout=seconds)
    assert process.returncode == 0, out
    return out


def client(name, program, absent="scripts/get-clients has not been run"):
    """Its folder."""
    if not (CLIENTS / name).exists():
        why = CLIENTS / (name + ".why")
        pytest.skip("%s: %s" % (name, why.read_text().strip() if why.exists() else absent))
    if not shutil.which(program):
        pytest.skip("%s: no %s here" % (name, program))
    return CLIENTS / name


@pytest.fixture(params=["stdio", "tcp"])
def port(request):
    """Of `hangdbg serve`; None: the client starts `hangdbg dap`."""
    if request.param == "stdio":
        return None
    return int(Server("tcp:127.0.0.1:0").address.rpartition(":")[2])


def test_testsupport(port, newest_python):
    folder = client("testsupport", "node") / "node_modules"
    out = Story(newest_python, port).played_by(
        "node", folder / "mocha/bin/mocha.js", SCRIPTS / "testsupport.js",
        NODE_PATH=str(folder))
    assert "4 passing" in out, out


def test_dap_mode(port, newest_python):
    client("dap-mode", "emacs")
    out = Story(newest_python, port).played_by(
        "emacs", "--batch", "--load", SCRIPTS / "dap-mode.el")
    assert "played to its end" in out.splitlines(), out


def test_nvim_dap(port, newest_python):
    folder = client("nvim-dap", "nvim", "in no suite of Debian, nor in npm or PyPI")
    out = Story(newest_python, port).played_by(
        "nvim", "--headless", "-u", "NONE", "-i", "NONE", "--cmd",
        "set noswapfile runtimepath+=%s" % folder, "-c", "luafile %s" % (SCRIPTS / "nvim-dap.lua"))
    assert "played to its end" in out.splitlines(), out
