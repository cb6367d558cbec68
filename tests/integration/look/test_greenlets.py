"""hangdbg dump --tasks: greenlets as the program itself knows them, and where
each left off."""

import resource
import signal

from hangs import folder_with
from harness import hangdbg, in_targets, start
from test_core import crash


def greenlets_of(command, subject):
    done = hangdbg(command, subject, "--json", "--tasks")
    assert done.rc == 0 and done.err == "", done
    (process,) = done.json()["processes"]
    assert "greenlets_missing" not in process, process
    return {one["id"]: one for one in process["greenlets"]}


def places(greenlet):
    return [[frame["function"], frame["line"]] for frame in greenlet["frames"]]


def start_with(module, name, python):
    return start(name, python, env={"PYTHONPATH": folder_with(module, python)})


def assert_as_said(target, greenlets):
    said = target.ready["greenlets"]
    assert sorted(greenlets) == sorted(said)
    for name, one in greenlets.items():
        its = said[name]
        assert places(one) == its["frames"], one
        assert (one["type"], one["parent"], one["main"]) == (
            its["type"], its["parent"], its["main"])
        assert one["state"] == (
            "dead" if its["dead"] else "not begun" if not its["begun"]
            else "runs" if name in target.ready["running"] else "suspended"), one
        assert one["exact"] and one["complete"], one
        for frame in one["frames"]:
            assert frame["file"] == str(in_targets("greenlets.py")) or (
                "threading" in frame["file"]), frame
        if one["frames"]:
            assert one["name"] == one["frames"][-1]["qualname"], one
    assert sorted(one["name"] for one in greenlets.values() if one["state"] == "not begun") == [
        "at_last"]


def test_are_as_the_program_has_them(readable_python):
    target = start_with("greenlet", "greenlets", readable_python)
    greenlets = greenlets_of("dump", target.pid)
    assert_as_said(target, greenlets)
    threads = [one["thread"] for one in greenlets.values() if one["state"] == "suspended"]
    # Of the other thread one is suspended; its main one runs.
    assert sorted(set(threads)) == sorted({target.pid, target.ready["thread"]})
    assert threads.count(target.ready["thread"]) == 1
    target.finish()


def test_of_gevent(edge_python):
    target = start_with("gevent", "gevent_greenlets", edge_python)
    greenlets = greenlets_of("dump", target.pid)
    said = target.ready["greenlets"]
    assert len(said) == 500
    for name, frames in said.items():
        one = greenlets[name]
        assert (one["state"], places(one)) == ("suspended", frames), one
        assert one["exact"] and one["complete"], one
        parent = greenlets[one["parent"]]
        assert (parent["type"], parent["state"]) == ("Hub", "runs")
        assert one["name"] == ("the first" if name == target.ready["named"]
                               else one["frames"][-1]["function"])
    assert greenlets[target.ready["main"]]["main"]
    target.finish()


def looks_at(target, *flags):
    """30 dumps: what each says of the greenlets that the target always has."""
    for _ in range(30):
        done = hangdbg("dump", target.pid, "--json", "--tasks", *flags)
        assert done.rc == 0 and done.err == "", done
        (process,) = done.json()["processes"]
        found = {one["id"]: one for one in process["greenlets"]}
        workers = [found[name] for name in target.ready["workers"] if name in found]
        assert "greenlets_missing" in process or len(workers) == 8, process
        yield from workers


def test_that_switch_all_the_time(edge_python):
    target = start_with("greenlet", "hot_greenlets", edge_python)
    exact = 0
    for one in looks_at(target):
        assert one["state"] in ("suspended", "runs")
        if one["state"] == "suspended" and one["exact"]:
            assert one["complete"] and places(one) in target.ready["places"], one
            exact += 1
    assert exact > 120
    moved = 0
    for one in looks_at(target, "--nonblocking"):
        # On a busy machine its thread may wait for memory, and not run for a moment.
        if one["frames"] and one["exact"]:
            assert one["complete"] and places(one) in target.ready["places"], one
        moved += not one["exact"]
    assert moved > 60
    target.finish()


def test_are_shown_to_people(newest_python):
    target = start_with("greenlet", "greenlets", newest_python)
    shown = hangdbg("dump", target.pid, "--tasks", "--full-filenames").out.splitlines()
    at = shown.index('Greenlet "sorts" · suspended in thread %d · parent Main greenlet'
                     % target.pid)
    place = in_targets("greenlets.py")
    lines = [line for one in target.ready["greenlets"].values() for name, line in one["frames"]
             if name in ("key", "sorts")]
    assert shown[at + 1:at + 3] == [
        "    key (%s:%d)" % (place, lines[0]), "    sorts (%s:%d)" % (place, lines[1])]
    assert 'Greenlet "at_last" · not begun · parent Main greenlet' in shown
    assert "(1 dead greenlets)" in shown
    assert "suspended" not in hangdbg("dump", target.pid).out
    target.finish()


def test_of_a_core_file(newest_python, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the core goes
    target = start_with("greenlet", "greenlets", newest_python)
    resource.prlimit(target.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    core = crash(target.process, signal.SIGABRT, tmp_path)
    assert_as_said(target, greenlets_of("core", core))


def test_where_there_are_none(newest_python):
    target = start("file_baton", newest_python)
    assert greenlets_of("dump", target.pid) == {}
    target.finish()
