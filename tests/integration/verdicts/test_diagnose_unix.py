"""hangdbg diagnose: who waits on a Unix socket, and the owner of its other end."""

from diagnosed import diagnosed, named_first, not_hung
from harness import start, until
from test_preflight import raw

PAIR = """
import os, socket, sys, time
one, other = socket.socketpair()
child = os.fork()
"""


def begin(python, code):
    process = raw(python, "-c", code)
    (child,) = until("its child", lambda: children(process.pid))
    return process.pid, child


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(word) for word in file.read().split()]


def test_each_waits_for_the_other(newest_python):
    pid, child = begin(newest_python, PAIR + """
mine = one if child else other
(other if child else one).close()
mine.recv(1)
""")
    named_first("Unix sockets, both read", pid, "deadlock", "likely",
                "2 processes wait for each other: .*process %d .*Unix socket" % child)


def test_the_child_sleeps(newest_python):
    pid, child = begin(newest_python, PAIR + """
if child:
    other.close()
    one.recv(1)
one.close()
time.sleep(1000)
""")
    said = diagnosed(pid)
    first = said["chain"][0]
    assert first["cause"] == "peer-silent", said
    assert "what process %d " % child in first["summary"], said
    assert said["chain"][1]["pid"] == child and said["chain"][1]["cause"] == "sleeps", said


def test_the_child_does_not_read(newest_python):
    pid, child = begin(newest_python, PAIR + """
if child:
    other.close()
    one.sendall(b"x" * 10000000)
one.close()
time.sleep(1000)
""")
    first = until("it is full", lambda: [
        said["chain"][0] for said in [diagnosed(pid)]
        if said["chain"][0]["cause"] == "peer-does-not-read"])[0]
    assert "until process %d " % child in first["summary"], first


def test_a_pair_of_its_own(newest_python):
    target = start("recv", newest_python)
    named_first("a Unix socket to itself", target.pid, "peer-silent", "possible",
                "whose other end this process itself has")
    target.finish()


def test_an_event_loop_that_wakes_itself_is_well(newest_python):
    target = start("asyncio_idle", newest_python)
    not_hung("an event loop with its self-pipe", target.pid)
    target.finish()
