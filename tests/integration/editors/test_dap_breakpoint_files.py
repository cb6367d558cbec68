"""Where an editor's breakpoints can be: lines, mapped paths, files that only the target
sees."""

import harness
from harness import TARGETS, in_targets, start
from test_dap_breakpoints import (  # noqa: F401
    FILE, editor, go_on, hit, line_at, line_of, set_breakpoints, top)
from test_namespaces import needs_root
from test_namespaces import start as start_behind


def test_where_one_can_be(edge_python, editor):
    target = start("loop_beside", edge_python)
    editor.attach(target.pid)
    first, last = line_of("turns = 0"), line_of("time.sleep(0.001)")
    found = editor.call("breakpointLocations", source={"path": FILE}, line=first,
                        endLine=last)["breakpoints"]
    assert [place["line"] for place in found] == list(range(first, last + 1))
    between, = set_breakpoints(editor, dict(line=line_of("def loop(results):") - 1))
    assert not between["verified"] or between["line"] != line_of("def loop(results):") - 1
    editor.disconnect()
    target.finish()


def test_mapped_paths_and_lines_from_0(newest_python, editor):
    target = start("loop_beside", newest_python)
    editor.call("initialize", adapterID="hangdbg", linesStartAt1=False)
    editor.call("attach", processId=target.pid, pathMappings=[
        {"localRoot": "/home/ada/src", "remoteRoot": str(in_targets("loop_beside.py").parent)}])
    line = line_of("turns += 1") - 1
    path = "/home/ada/src/loop_beside.py"
    turn, = set_breakpoints(editor, dict(line=line), path=path)
    assert (turn["source"]["path"], turn["line"]) == (path, line)
    editor.call("configurationDone")
    worker = hit(editor, turn)
    frame = top(editor, worker)
    assert (frame["source"]["path"], frame["line"]) == (path, line)
    set_breakpoints(editor, dict(line=line, logMessage="here"), path=path)
    go_on(editor, worker)
    said = editor.event("output", output="here\n")
    assert (said["source"]["path"], said["line"]) == (path, line)
    editor.disconnect()
    assert target.finish()["exact"]


@needs_root
def test_in_a_file_that_only_the_target_sees(newest_python, editor):
    target = start_behind(
        "unshare", "--mount", "sh", "-c", 'mount --bind "$0" /mnt && exec "$@"', TARGETS,
        targets="/mnt/sessions", name="loop_beside", python=newest_python)
    frames = editor.call("stackTrace",
                         threadId=editor.attach(target.pid)["threadId"])["stackFrames"]
    source = frames[0]["source"]
    assert source["sourceReference"] > 0
    turn, = editor.call(
        "setBreakpoints", source={"sourceReference": source["sourceReference"]},
        breakpoints=[dict(line=line_of("turns += 1"))])["breakpoints"]
    assert turn["verified"] and turn["source"] == source
    worker = hit(editor, turn)
    assert top(editor, worker)["source"] == source
    editor.disconnect()
    assert target.finish()["exact"]


@needs_root
def test_threads_go_by_our_numbers(newest_python, editor):
    target = start_behind("unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                          name="loop_beside", python=newest_python)
    editor.attach(target.pid)
    worker = hit(editor, *set_breakpoints(editor, dict(line=line_of("turns += 1"))))
    assert worker in harness.processes.threads(target.pid) and worker != target.pid
    assert line_at(editor, worker) == "turns += 1"
    editor.disconnect()
    assert target.finish()["exact"]
