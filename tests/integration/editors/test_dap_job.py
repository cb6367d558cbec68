"""An editor debugs ranks of a real torch job, each in a session of its own, and the
job survives it."""

import json
import os
import re
import signal
import time

import pytest

from dap_client import DapClient, Refused
from harness import PROGRAM, hangdbg, until
from test_clients import SCRIPTS, client, run
from torch_job import (  # noqa: F401
    FOR_EVER, IMPORT, LINE, PLACE, SOURCE, Job, any_torch_python, running_job, running_jobs,
    torch_python)

pytestmark = pytest.mark.slow
CAN = {"supportsStartDebuggingRequest": True}


class Editor:
    """The session of the job, and those of its ranks."""

    def __init__(self, job, ranks, lines=(LINE,), **wanted):
        self.parent = DapClient.stdio()
        self.parent.initialize(**CAN)
        number = self.parent.request("attach", job=str(job.pid), ranks=ranks, **wanted)
        self.parent.event("initialized")
        set_lines(self.parent, *lines)
        self.parent.call("configurationDone")
        assert self.parent.response(number)["success"]
        self.children = {}
        while len(self.children) < len(ranks.split(",")):
            self.open(lines)

    def open(self, lines):
        """As an editor does it: breakpoints are set before the session is configured."""
        question = self.parent.question("startDebugging")
        assert question["arguments"]["request"] == "attach"
        wanted = question["arguments"]["configuration"]
        name = wanted.pop("name")
        child = DapClient.stdio()
        child.initialize(**CAN)
        number = child.request("attach", **wanted)
        child.event("initialized")
        set_lines(child, *lines)
        child.call("configurationDone")
        assert child.response(number)["success"]
        self.parent.answer(question)
        self.children[int(name.split()[1])] = child

    def notes(self):
        """What the job's session has said so far."""
        return "".join(event["body"]["output"] for event in self.parent.received
                       if event.get("event") == "output")

    def said(self, text, seconds=10):
        end = time.monotonic() + seconds
        while not re.search(text, self.notes()):
            self.parent._receive(end)

    def pids(self):
        return [self.parent.process.pid] + [
            child.process.pid for child in self.children.values()]

    def leave(self):
        self.parent.disconnect()
        for child in self.children.values():
            child.event("terminated")
            child.disconnect()


def set_lines(editor, *lines):
    return editor.call("setBreakpoints", source={"path": str(SOURCE)},
                       breakpoints=[{"line": line} for line in lines])["breakpoints"]


def local(editor, stop, expression):
    frame = editor.call("stackTrace", threadId=stop["threadId"])["stackFrames"][0]
    return editor.call("evaluate", expression=expression, frameId=frame["id"])["result"]


def test_held_for_longer_than_the_timeout(torch_python, tmp_path):
    job = Job(torch_python, "plain", tmp_path, 600, 6).started()
    editor = Editor(job, "1,3", holdFor=60)
    stops = {rank: child.event("stopped", 20, reason="breakpoint")
             for rank, child in editor.children.items()}
    held = job.rounds()
    for rank, child in editor.children.items():
        assert local(child, stops[rank], "rank") == str(rank)
    editor.said("timeouts of 1 process group raised on rank 0-3 by 120 s")
    editor.said("breakpoints are live")
    editor.said(r"rank \d(,3)? stands; all go on in [56]\d s")
    assert job.timeout_of(0) == 6 + 2 * 60
    time.sleep(9)
    assert job.rounds() <= held + 1
    for rank, child in editor.children.items():
        set_lines(child)
        child.call("next", threadId=stops[rank]["threadId"])
    for rank, child in editor.children.items():
        stop = child.event("stopped", 20, reason="step")
        assert float(local(child, stop, "loss"))
        child.call("continue", threadId=stop["threadId"])
    job.goes_on()
    editor.leave()
    until("timeouts are back", lambda: job.timeout_of(0) == job.timeout_of(3) == 6)
    job.ends_right()


@pytest.mark.parametrize("end", ["parent", "child", "both", "asleep"])
def test_goes_on_without_us(running_job, end):
    """When a session is killed, at once; when nobody does anything, when the time is
    up. If the job's session is, those of its ranks are over."""
    job = running_job
    editor = Editor(job, "1", holdFor=4 if end == "asleep" else 100)
    child = editor.children[1]
    child.event("stopped", 20, reason="breakpoint")
    held = job.rounds()
    if end == "asleep":
        assert child.event("continued", 10)["threadId"]
        gone = {"verified": True}
        while gone["verified"]:  # it was said to be live before
            gone = child.event("breakpoint", reason="changed")["breakpoint"]
        assert "time for which ranks" in gone["message"]
    elif end == "child":
        os.kill(child.process.pid, signal.SIGKILL)
    else:
        for pid in editor.pids()[:2 if end == "both" else 1]:
            os.kill(pid, signal.SIGKILL)
    until("it goes on", lambda: job.rounds() > held + 2, 3)
    if end == "parent":
        child.event("terminated", 3)
        child.disconnect()
    if end in ("parent", "both"):
        until("timeouts are back", lambda: job.timeout_of(0) == job.timeout_of(1) == 20)
    job.goes_round()
    for session in (editor.parent, *editor.children.values()):
        session.process.kill()


@pytest.fixture
def late(torch_python, tmp_path):
    """Rank 2 is late by many seconds: the others wait for it, with the timeout of before;
    then they go round until they may end."""
    job = Job(torch_python, "once", tmp_path, FOR_EVER, 60)
    until("they wait", lambda: "in all_reduce" in hangdbg(
        "dump", "--job", job.pid, "--merge").out, IMPORT)
    return job


def test_a_collective_that_began_before(late):
    """It is named, and no breakpoint is live before it is over."""
    editor = Editor(late, "0,2")
    child = editor.children[0]
    editor.said(r"rank 0,1,3 waits in collective \d+ of group 0 for rank 2; it began with "
                r"the timeout of 60 s")
    (waiting,) = set_lines(child, LINE)
    assert not waiting["verified"] and "not yet" in waiting["message"]
    # Nor is a thread held that runs: the others would wait for it.
    thread = editor.children[2].call("threads")["threads"][0]["id"]
    editor.children[2].call("pause", threadId=thread)
    paused = editor.children[2].event("stopped", reason="pause")
    assert "observed, it goes on: not yet" in paused["description"], paused
    late.may("go on")
    stops = [one.event("stopped", 40, reason="breakpoint") for one in editor.children.values()]
    assert len({local(one, stop, "step") for one, stop in zip(
        editor.children.values(), stops)}) == 1, "they are in other rounds"
    editor.leave()
    late.may("end")
    assert late.process.wait(IMPORT) == 0


def test_left_while_it_waits(late):
    """The session ends in good manners, and so do those of its ranks."""
    editor = Editor(late, "0")
    editor.said("waits in collective")
    editor.leave()
    assert late.timeout_of(0) == 60
    late.may("go on")
    late.may("end")
    assert late.process.wait(IMPORT) == 0


def test_the_loop_goes_round_by_a_smaller_group(torch_python, tmp_path):
    """Ranks meet there; which group that is nobody says."""
    job = Job(torch_python, "pair", tmp_path, 2000, 60).started()
    editor = Editor(job, "0,1")
    stops = [one.event("stopped", 40, reason="breakpoint") for one in editor.children.values()]
    assert len({local(one, stop, "step") for one, stop in zip(
        editor.children.values(), stops)}) == 1, "they are in other rounds"
    editor.leave()
    done = hangdbg("break", PLACE, "--job", job.pid, "--ranks", "0,1", "--hold-until", "0,1",
                   "-c", "p step")
    assert done.rc == 0, done
    steps = re.findall(r":(\d)\] (\d+)$", done.out, re.M)
    assert [rank for rank, _ in steps] == ["0", "1"] and len({n for _, n in steps}) == 1, done


def test_a_step_under_way_when_the_job_is_left(running_job):
    """It stops nobody any more."""
    job = running_job
    editor = Editor(job, "1")
    child = editor.children[1]
    stop = child.event("stopped", 20, reason="breakpoint")
    set_lines(child)
    child.call("next", threadId=stop["threadId"])
    stop = child.event("stopped", reason="step")
    frame = child.call("stackTrace", threadId=stop["threadId"])["stackFrames"][0]
    child.call("evaluate", frameId=frame["id"], context="repl", expression=(
        "weight.sum = lambda: (time.sleep(3), type(weight).sum(weight))[1]"))
    child.call("next", threadId=stop["threadId"])  # takes 3 s
    os.kill(editor.parent.process.pid, signal.SIGKILL)
    child.event("terminated", 10)
    job.goes_round()
    child.disconnect()  # all that it was told has been read then
    assert not [event for event in child.events if event["event"] == "stopped"
                and event["body"]["reason"] == "step"]


@pytest.mark.timeout(600)
def test_with_the_client_of_vs_code(torch_python, tmp_path):
    """What its adapters are tested with: ranks 1 and 3 stand for a minute, where the job
    dies after 20 s in which one rank waits for another."""
    folder = client("testsupport", "node") / "node_modules"
    job = Job(torch_python, "plain", tmp_path, 600, 20).started()
    out = run("node", folder / "mocha/bin/mocha.js", SCRIPTS / "testsupport_job.js",
              NODE_PATH=str(folder), seconds=400, HANGDBG_STORY=json.dumps({
                  "program": str(PROGRAM), "job": str(job.pid), "ranks": "1,3",
                  "file": str(SOURCE), "line": LINE, "held": 60}))
    assert "5 passing" in out, out
    job.goes_on()
    job.ends_right()


@pytest.mark.parametrize("can, wanted, said", [
    (CAN, {"job": "no such job"}, "no job here is called no such job"),
    (CAN, {"job": "x", "ranks": "y"}, "no set of ranks"),
    (CAN, {"job": "x", "holdFor": 0}, "holdFor wants a number of seconds"),
    ({}, {"job": "x"}, "opens no sessions"),
])
def test_what_is_wrong_is_said(can, wanted, said):
    with DapClient.stdio() as editor:
        editor.initialize(**can)
        with pytest.raises(Refused, match=said):
            editor.call("attach", **wanted)
