"""hangdbg fds: what each descriptor leads to, and the owner of the other end."""

import os
import re
import socket

import pytest

from harness import as_nobody, behind, hangdbg, start
from test_namespaces import needs_root


@pytest.fixture
def target(some_python, tmp_path):
    return start("descriptors", some_python, tmp_path)


def listed(pid):
    done = hangdbg("fds", pid, "--json")
    assert done.rc == 0 and done.err == "", done
    found = done.json()
    assert (found["pid"], found["complete"]) == (pid, True)
    return {one["fd"]: one for one in found["descriptors"]}


def test_json(target, tmp_path):
    fds, child = target.ready["fds"], target.ready["child"]
    found = listed(target.pid)
    assert set(found) == {int(name) for name in os.listdir("/proc/%d/fd" % target.pid)}

    def at(name):
        return found[fds[name]]
    assert at("reader")["other_ends"] == [{"pid": target.pid, "fd": fds["writer"]}]
    assert at("writer")["other_ends"] == [{"pid": target.pid, "fd": fds["reader"]}]
    assert (at("orphan")["kind"], at("orphan")["mode"], at("orphan")["other_ends"]) == (
        "pipe", "r", [])
    assert at("ours")["other_ends"] == [{"pid": child, "fd": 0}]
    assert at("locked")["name"] == str(tmp_path / "lock")
    assert at("locked")["locks"] == [{"type": "FLOCK", "write": True, "start": 0, "end": None}]
    assert at("gone")["deleted"] and at("gone")["locks"] == [
        {"type": "POSIX", "write": True, "start": 5, "end": 14}]
    assert at("server")["tcp"]["state"] == "LISTEN"
    here = "127.0.0.1:%d" % target.ready["port"]
    assert at("client")["tcp"]["remote"] == at("accepted")["tcp"]["local"] == here
    assert (at("accepted")["tcp"]["state"], at("accepted")["tcp"]["unread"]) == ("ESTABLISHED", 10)
    assert at("epoll")["watches"] == [fds["reader"]]
    target.finish()


def test_text(target, tmp_path):
    fds, child = target.ready["fds"], target.ready["child"]
    done = hangdbg("fds", target.pid)
    lines = {int(line.split()[0]): line.split(None, 2)[2] for line in done.out.splitlines()[1:]}
    assert done.out.startswith("Process %d · %d descriptors\n" % (target.pid, len(lines))), done
    assert re.match(r"pipe:\[\d+\], nobody writes to it$", lines[fds["orphan"]]), done
    assert lines[fds["ours"]].endswith(", read by %d (sleep) fd 0" % child), done
    assert lines[fds["locked"]] == "%s/lock, FLOCK write lock" % tmp_path, done
    assert lines[fds["gone"]].endswith(", deleted, POSIX write lock on a part of it"), done
    assert lines[fds["accepted"]].endswith(" ESTABLISHED, 10 bytes unread"), done
    assert lines[fds["epoll"]] == "epoll of %d" % fds["reader"], done
    target.finish()


def test_nothing_changes_in_it(target):
    before = target.snapshot()
    assert hangdbg("fds", target.pid).rc == 0
    target.assert_as_before(before, arenas=0)
    target.finish()


def test_a_name_with_escapes(some_python, tmp_path):
    folder = tmp_path / "red \x1b[31m\n"
    folder.mkdir()
    target = start("descriptors", some_python, folder)
    done = hangdbg("fds", target.pid)
    assert "\x1b" not in done.out and "red \\x1b[31m\\n/lock, FLOCK" in done.out, done
    assert listed(target.pid)[target.ready["fds"]["locked"]]["name"] == str(folder / "lock")
    target.finish()


@needs_root
def test_who_may_not_look(target, public):
    done = behind(*as_nobody(public + "/hangdbg"))("fds", target.pid)
    done.assert_refused(3, "fd", "sudo hangdbg fds %d" % target.pid)
    target.finish()


def test_of_what_is_no_process():
    hangdbg("fds", 2 ** 22 - 1).assert_refused(2, "no process", "hangdbg ps")
    hangdbg("fds", "one").assert_refused(2, "is not a PID", "hangdbg ps")


def test_a_thousand():
    """Of this process, as of any."""
    with_both = [socket.socketpair() for _ in range(500)]
    try:
        done = hangdbg("fds", os.getpid())
        assert done.rc == 0 and len(done.out.splitlines()) > 1000
        assert done.seconds < 5, done
    finally:
        for pair in with_both:
            for one in pair:
                one.close()
