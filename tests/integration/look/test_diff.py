"""hangdbg diff: what is different where it hangs, and what is not."""

import gzip
import json
import os

import pytest

from harness import ROOT, hangdbg, start
from test_jobs import ranks_of

DEEP = b"[" * 100000


def written(target, path, *words):
    done = hangdbg("report", target.pid, "-o", path, *words)
    assert done.rc == 0, done
    return path


def differences(done, group):
    return {one["name"]: (one["a"], one["b"])
            for one in done.json()["differences"] if one["group"] == group}


def test_where_it_runs_and_where_it_hangs(newest_python, tmp_path):
    here = start("sleep", newest_python, env={"OMP_NUM_THREADS": "1"})
    there = start("lock_main", newest_python, env={"OMP_NUM_THREADS": "4"})
    a, b = written(here, tmp_path / "a"), written(there, tmp_path / "b")
    done = hangdbg("diff", a, b, "--json")
    assert done.rc == 1 and not done.json()["equal"], done
    assert differences(done, "diagnosis")["cause"] == ("sleeps", "python-lock"), done
    assert "versions" not in {one["group"] for one in done.json()["differences"]}
    (stack,) = done.json()["stacks"]
    assert stack["thread"] == "main thread"
    assert here.function in [one["qualname"] for one in stack["a"]]
    assert there.function in [one["qualname"] for one in stack["b"]]
    done = hangdbg("diff", a, b)
    assert done.rc == 1 and done.err == "", done
    assert done.out.index("diagnosis\n") < done.out.index("stacks\n"), done
    assert here.function in done.out and there.function in done.out
    assert str(here.pid) in done.out.splitlines()[0] and "\x1b" not in done.out
    assert "\x1b[1m" in hangdbg("diff", a, b, "--color=always").out
    here.finish()
    there.finish()


def test_two_that_do_the_same(newest_python, tmp_path):
    """Their numbers, addresses and times are others."""
    first = start("lock_worker", newest_python)
    second = start("lock_worker", newest_python)
    a, b = written(first, tmp_path / "a"), written(second, tmp_path / "b")
    done = hangdbg("diff", a, b)
    assert done.rc == 0 and "nothing differs" in done.out, done
    assert hangdbg("diff", a, b, "--json").json()["equal"]
    first.finish()
    second.finish()


def test_another_version(some_python, newest_python, tmp_path):
    first, second = start("lock_main", some_python), start("lock_main", newest_python)
    a, b = written(first, tmp_path / "a"), written(second, tmp_path / "b")
    done = hangdbg("diff", a, b, "--json")
    versions = [hangdbg("dump", one.pid, "--json").json()["processes"][0]["python"]
                for one in (first, second)]
    found = differences(done, "versions")
    assert found == ({} if versions[0] == versions[1] else {"Python": tuple(versions)}), done
    assert done.json()["stacks"] == [], done
    first.finish()
    second.finish()


def test_dumps_alone(newest_python, tmp_path):
    target = start("lock_main", newest_python)
    (tmp_path / "a").write_text(hangdbg("dump", target.pid, "--json").out)
    b = written(target, tmp_path / "b")
    done = hangdbg("diff", tmp_path / "a", b)
    assert done.rc == 0 and "not compared: " in done.out, done
    target.finish()


def test_jobs(newest_python, tmp_path):
    name, ranks = ranks_of(3, newest_python)
    other, _ = ranks_of(3, newest_python, OMP_NUM_THREADS="7")
    for job, path in (name, "a"), (other, "b"):
        done = hangdbg("report", "--job", job, "-o", tmp_path / path)
        assert done.rc == 0, done
    done = hangdbg("diff", tmp_path / "a", tmp_path / "b")
    assert done.rc in (0, 1) and "job %s, 3 ranks" % name in done.out, done
    assert "stacks" not in done.out and "only in" not in done.out.splitlines()[2], done
    done = hangdbg("report", "--job", other, "--ranks", "1,2", "-o", tmp_path / "c", "--json")
    assert done.rc == 0, done
    done = hangdbg("diff", tmp_path / "a", tmp_path / "c", "--json")
    assert done.rc == 1 and done.json()["only_in_a"] == [0], done
    assert len(done.json()["a"]["pids"]) == 3 and ranks[0].pid in done.json()["a"]["pids"]


@pytest.mark.parametrize("what, said", [
    (None, "cannot be read"),
    (b"", "empty"),
    (b"not JSON", "not JSON at byte"),
    (b"{}", "neither a report nor"),
    (b'{"processes": []}', "contains no process"),
    (DEEP, "nested deeper"),
    (gzip.compress(b"no tar"), "without a tar archive"),
    (gzip.compress(b"no tar")[:10], "truncated or damaged gzip"),
    (b'{"processes": [{"pid": 1, "host": "\\u001b[31m", "threads": 5}]}', "threads"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_no_report(tmp_path, what, said):
    path = tmp_path / "bad \x1b[31m"
    if what is not None:
        path.write_bytes(what)
    good = tmp_path / "good"
    good.write_text('{"processes": [{"pid": 1, "host": "h", "threads": []}]}')
    for words in (path, good), (good, path):
        done = hangdbg("diff", *words)
        done.assert_refused(2, said, "hangdbg report PID")
        assert "\x1b" not in done.err
    hangdbg("diff", good).assert_refused(2)
    hangdbg("diff", "-", "-").assert_refused(2, "only one of the files")


def test_names_with_escapes(tmp_path):
    for name, function in ("a", "\x1b[31mred"), ("b", "other\n"):
        frame = {"qualname": function, "file": "x\x1b.py", "line": 1}
        (tmp_path / name).write_text(json.dumps({"processes": [
            {"pid": 1, "host": "\x1b", "threads": [
                {"tid": 1, "name": "\x1b", "state": "", "frames": [frame]}]}]}))
    done = hangdbg("diff", tmp_path / "a", tmp_path / "b")
    assert done.rc == 1 and "\x1b" not in done.out and "\\x1b[31mred" in done.out, done
