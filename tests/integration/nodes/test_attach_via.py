"""`attach --via`: the prompt of a rank on another host, with the terminal of this one."""

import fcntl
import os
import signal
import struct
import termios

import pytest

from harness import until
from sshd_hosts import Nodes
from terminal import Terminal


@pytest.fixture
def nodes(tmp_path):
    made = Nodes(tmp_path, ("n1", "n2"))
    yield made
    made.down()


def start_ranks(nodes, python):
    pids = {}
    for rank, name in enumerate(nodes.names):
        pids[rank] = nodes.start(name, python, "lock_main.py", RANK=rank, WORLD_SIZE=2,
                                 MASTER_ADDR="n1", MASTER_PORT=2950, TORCHELASTIC_RUN_ID="run7")
    until("both ranks wait", lambda: nodes.hangdbg(
        "ps", "--via", "ssh:n[1-2]").out.count("wait_for_lock") == 2)
    return pids


def prompts(nodes, name):
    """The sizes of their terminals."""
    return nodes.ssh(name, "for p in /proc/[0-9]*; do grep -qa ^hangdbg.attach $p/cmdline && "
                     "stty size <$p/fd/0; done 2>/dev/null; true").splitlines()


def test_a_prompt_on_another_host(nodes, newest_python, monkeypatch):
    pids = start_ranks(nodes, newest_python)
    monkeypatch.setenv("PATH", nodes.path)
    one = Terminal(None, command=("attach", "--ranks", "1", "--via", "ssh:n[1-2]"), size=(30, 100))
    try:
        one.expect("process %d on n2" % pids[1])
        one.expect(r"^\(hangdbg %d r1\) $" % pids[1])
        one.type("p __import__('os').uname().nodename, answer\r")
        one.expect(r"\('n2', 41\)")
        assert prompts(nodes, "n2") == ["30 100"]
        one.type("rank 0\r")
        one.expect(r"try: hangdbg attach --ranks 0 --via 'ssh:n\[1-2\]'")
        fcntl.ioctl(one.master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
        until("it has the new size", lambda: prompts(nodes, "n2") == ["33 111"])
        # Ctrl-C ends what runs there, and not the prompt.
        one.type("p __import__('time').sleep(1000)\r")
        one.expect("sleep")
        one.type("\x03")
        one.expect(r"^\(hangdbg %d r1\) $" % pids[1])
        # Whoever asks is killed: nothing of ours stays, and the rank goes on.
        os.kill(one.process.pid, signal.SIGKILL)
        until("the prompt is gone", lambda: not prompts(nodes, "n2"))
    finally:
        one.close()
    done = nodes.hangdbg("attach", pids[0], "--via", "ssh:n1", "-c", "p answer + 1")
    assert done.rc == 0 and "42" in done.out, done


def test_what_cannot_be_attached_to(nodes, newest_python):
    start_ranks(nodes, newest_python)
    nodes.hangdbg("attach", "--ranks", "7", "--via", "ssh:n[1-2]").assert_refused(
        2, "rank 7 is on none of these nodes", "hangdbg ps --via 'ssh:n[1-2]'")
    nodes.hangdbg("attach", "5", "--via", "ssh:n[1-2]").assert_refused(
        2, "a PID with --via needs the one node that has it", "--via ssh:n1")
    nodes.hangdbg("attach", "--via", "ssh:n[1-2]").assert_refused(
        2, "--via needs --ranks", "--ranks 0")
    nodes.hangdbg("attach", "--ranks", "0", "--via", "pdsh:n[1-2]").assert_refused(
        2, "this launcher gives no terminal", "--via ssh:n1")
