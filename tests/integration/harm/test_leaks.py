"""hangdbg leaves no process behind, and nothing listens while it is attached."""

import ctypes
import os

import pytest

import processes
from harness import evaluate, hangdbg, start

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@pytest.fixture
def orphans_come_here():
    """Processes whose parent has ended become children of this one."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def test_no_process_is_left(newest_python, orphans_come_here):
    target = start("lock_main", newest_python)
    children = set(processes.children(os.getpid()))
    evaluate(target, "answer")
    hangdbg("attach", target.pid, "-c", "p answer")
    hangdbg("eval", target.pid, "while True: pass", "--timeout", "0.3")
    hangdbg("doctor", target.pid)
    assert set(processes.children(os.getpid())) == children
    assert processes.children(target.pid) == []
    target.finish()


def test_nothing_listens(newest_python, terminal):
    target = start("lock_main", newest_python)
    session = terminal(target.pid)
    session.expect_prompt()
    for pid in (target.pid, session.process.pid):
        assert processes.listening(processes.sockets(pid)) == set()
    session.detach()
    target.finish()


def test_listening_sockets_would_be_seen(tmp_path):
    import socket

    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        unix.bind(str(tmp_path / "socket"))
        tcp.listen()
        unix.listen()
        inodes = {os.fstat(one.fileno()).st_ino for one in (tcp, unix)}
        assert processes.listening(processes.sockets(os.getpid())) >= inodes


def test_no_file_is_left(newest_python, tmp_path):
    """Neither in the home nor among the temporary files; conftest sets both."""

    def files():
        return sorted(str(path) for path in tmp_path.rglob("*"))

    target = start("lock_main", newest_python)
    before = files()
    evaluate(target, "answer")
    assert files() == before
    target.finish()
