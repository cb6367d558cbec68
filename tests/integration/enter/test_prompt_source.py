"""Source that is in no file, and a thread that is no more."""

import subprocess

from dap_client import DapClient, Refused
from harness import PROGRAM, die_with_us, hangdbg, track

CELL = """\
import linecache
source = "def cell():\\n    x = 41\\n    input()\\n    return x\\n"
name = "/nowhere/ipykernel_7/12.py"
linecache.cache[name] = len(source), None, source.splitlines(True), name
exec(compile(source, name, "exec"))
print("ready", flush=True)
cell()
"""


def in_a_cell(python, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(CELL)
    process = track(subprocess.Popen([python, str(path)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True, preexec_fn=die_with_us))
    assert process.stdout.readline() == "ready\n"
    return process


def test_the_cell_of_a_notebook(edge_python, tmp_path):
    process = in_a_cell(edge_python, tmp_path)
    done = hangdbg("attach", process.pid, "--frame", "cell", "-c", "l", "-c", "ll", "-c",
                   "source cell")
    assert "\n-> input()\n" in done.out, done
    assert done.out.count("x = 41") == 3 and done.out.count("return x") == 3, done
    process.communicate("")


def test_in_an_editor(newest_python, tmp_path):
    process = in_a_cell(newest_python, tmp_path)
    with DapClient.stdio() as editor:
        thread = editor.attach(process.pid)["threadId"]
        frame, = [frame for frame in editor.call("stackTrace", threadId=thread)["stackFrames"]
                  if frame["name"] == "cell"]
        reference = frame["source"]["sourceReference"]
        assert "x = 41" in editor.call("source", sourceReference=reference)["content"]
        for text, why in (("nosuch.name", "name 'nosuch' is not defined"),
                          ("x + 1", "only names")):
            try:
                editor.call("evaluate", expression=text, frameId=frame["id"], context="hover")
            except Refused as refused:
                assert why in refused.text, refused
            else:
                raise AssertionError(text)
        editor.disconnect()
    process.communicate("")


THREADS = """\
import sys, threading
def work():
    sys.stdin.readline()
worker = threading.Thread(target=work, name="worker")
worker.start()
print("ready", flush=True)
worker.join()
print("gone", flush=True)
sys.stdin.readline()
"""


def test_a_thread_that_has_ended(edge_python, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(THREADS)
    process = track(subprocess.Popen([edge_python, str(path)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True, preexec_fn=die_with_us))
    assert process.stdout.readline() == "ready\n"
    session = track(subprocess.Popen(
        [str(PROGRAM), "attach", str(process.pid), "--thread", "worker"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_us))
    session.stdin.write("p 'here'\n")
    session.stdin.flush()
    while "here" not in session.stdout.readline():
        assert session.poll() is None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "gone\n"
    out, err = session.communicate("p 1\nthread main\np 40 + 2\n")
    assert '"worker" has ended' in err and "try: threads" in err, err
    assert "42" in out, out
    process.communicate("")
