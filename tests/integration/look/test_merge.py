"""`hangdbg merge`: the dumps of many machines as one tree, compared with texts that a
person has read (tests/golden)."""

import json
from pathlib import Path

import pytest

from harness import hangdbg

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
TRAIN, DATA = "/srv/train/train.py", "/srv/train/data.py"
REDUCE = "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"


def frame(function, file, line):
    return {"function": function.split(".")[-1], "qualname": function, "file": file,
            "line": line, "kind": "python"}


# Innermost first, as dumps have them.
OUTER = [frame("main", TRAIN, 90), frame("<module>", TRAIN, 101)]
REDUCES = [frame("all_reduce", REDUCE, 3252), frame("Trainer.step", TRAIN, 57), *OUTER]
LOADS = [frame("Loader.read", DATA, 12), frame("Trainer.batch", TRAIN, 33),
         frame("Trainer.step", TRAIN, 44), *OUTER]
MISMATCH = [REDUCES[0], frame("Trainer.step", TRAIN, 58), *OUTER]
WORKER = [frame("_worker_loop", DATA, 80), frame("_bootstrap", TRAIN, 3)]


def rank(number, frames, world, host, state="asleep in futex for 3 min 2 s", **more):
    pid = 1000 + number
    return dict({"pid": pid, "rank": number, "world_size": world, "job": "run-7",
                 "host": host, "python": "3.11.7", "cmdline": [], "threads": [
                     {"tid": pid, "name": "MainThread", "state": state, "waiting_s": 182.0,
                      "frames": frames}], "error": None}, **more)


def files(folder, by_host):
    """One a host; text is written as it is."""
    paths = []
    for host, processes in sorted(by_host.items()):
        paths.append(folder / ("trace-%s.json" % host))
        paths[-1].write_text(processes if isinstance(processes, str) else json.dumps(
            {"processes": processes}))
    return paths


def two_nodes():
    return {host: [rank(n, LOADS if n == 5 else REDUCES, 8, host)
                   for n in range(first, first + 4)]
            for host, first in (("node1", 0), ("node2", 4))}


def mismatch_and_stopped():
    ranks = [rank(n, MISMATCH if n == 2 else REDUCES, 8, "node1") for n in range(6)]
    ranks[3] = rank(3, REDUCES, 8, "node1", "stopped (SIGSTOP or Ctrl-Z)")
    for number, pid, state in ((1, 2001, "running"), (4, 2004, "stopped (SIGSTOP or Ctrl-Z)")):
        child = rank(number, WORKER, 8, "node1", state, pid=pid, child=True)
        child["threads"][0]["tid"] = pid
        ranks.append(child)
    return {"node1": ranks, "node2": "", "node3": '{"processes": [{"pid"'}


def many_nodes():
    by_host = {}
    for n in range(1024):
        host = "node%02d" % (n // 16)
        if n // 16 != 40:  # of which nothing has come
            by_host.setdefault(host, []).append(
                rank(n, LOADS if n in (77, 800) else REDUCES, 1024, host))
    return by_host


def processes():
    return {host: [{"pid": pid, "host": host, "threads": [
        {"tid": pid, "state": "", "waiting_s": 9.5, "frames": LOADS if pid == 7 else REDUCES}]}
        for pid in (7, 8) if (host, pid) != ("b", 7)] for host in "abc"}


CASES = [(two_nodes, 0), (mismatch_and_stopped, 1), (many_nodes, 0), (processes, 0)]


@pytest.mark.parametrize("make, rc", CASES, ids=[make.__name__ for make, _ in CASES])
def test_golden(make, rc, tmp_path):
    done = hangdbg("merge", *files(tmp_path, make()))
    assert done.rc == rc, done
    shown = done.out.replace(str(tmp_path) + "/", "")
    path = GOLDEN / ("merge-%s.txt" % make.__name__.replace("_", "-"))
    assert shown == path.read_text(), shown


def test_json(tmp_path):
    merged = hangdbg("merge", "--json", *files(tmp_path, two_nodes())).json()
    assert merged["tree"]["ranks"] == list(range(8)) and merged["missing"] == []
    (odd,) = merged["odd"]
    assert odd["ranks"] == [5] and "Loader.read (%s:12)" % DATA in odd["why"]
    assert [one["ranks"] for one in merged["classes"]] == [[0, 1, 2, 3, 4, 6, 7], [5]]
    assert merged["hosts"] == {"node1": [0, 1, 2, 3], "node2": [4, 5, 6, 7]}


def test_bad_input(tmp_path):
    hangdbg("merge").assert_refused(2, "FILE")
    hangdbg("merge", tmp_path / "none").assert_refused(2, "nothing to merge", "cannot be read")
    for text, reason in (("", "empty file"), ("[", "JSON"), ("[]", "processes"),
                         ('{"processes": [3]}', "processes"), ("\\x00\\xff", "JSON")):
        (path,) = files(tmp_path, {"a": text})
        done = hangdbg("merge", path)
        done.assert_refused(2, "nothing to merge")
    one, other = rank(0, LOADS, 2, "a"), dict(rank(1, LOADS, 2, "a"), job="run-8")
    paths = files(tmp_path, {"a": [one], "b": [other]})
    hangdbg("merge", *paths).assert_refused(2, "2 jobs in these files: run-7, run-8")
    assert "rank 1 of 2 is in none" in hangdbg("merge", "--job", "run-7", *paths).out
    hangdbg("merge", "--job", "x", *paths).assert_refused(2, "no job named x in these files")


def test_numbers_that_cannot_be(tmp_path):
    """They cost no time and no memory, and are not taken for others."""
    ranks = [dict(rank(0, LOADS, 99999999999, "a"), rank=number)
             for number in (0, 2147483647, 4294967297, -3)]
    (path,) = files(tmp_path, {"a": ranks})
    merged = hangdbg("merge", "--json", path)
    assert merged.rc == 1 and merged.json()["tree"]["ranks"] == [0], merged.err
    assert len(merged.json()["missing"]) == 10000 and merged.seconds < 5
    assert hangdbg("merge", path).out.count("cannot be rank") == 3


def test_pids(tmp_path):
    merged = hangdbg("merge", "--json", *files(tmp_path, processes())).json()
    assert merged["tree"]["pids"] == [7, 8, 8, 7, 8], merged["tree"]["pids"]


def test_a_stack_without_end(tmp_path):
    """Who shows it goes down it by recursion."""
    deep = [frame("f%d" % (n % 7), DATA, n) for n in range(20000)]
    done = hangdbg("merge", *files(tmp_path, {"a": [rank(0, deep, 1, "a")]}))
    assert done.rc == 0 and "(19600 frames deeper)" in done.out, done
