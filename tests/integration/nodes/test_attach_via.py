"""`attach --via`: the prompt of a rank on another host, with the terminal of this one."""

import fcntl
import glob
import os
import signal
import struct
import termios

import pytest

import kubectl
import launchers
from harness import start, track, until
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


def edits_and_interrupts(one, pid):
    """What a line editor has to do, wherever its terminal is; then the new size of that."""
    prompt = r"^\(hangdbg %d[^)]*\) $" % pid
    one.expect(prompt)
    one.type("p answ + 2\x1b[D\x1b[D\x1b[D\x1b[Der\r")  # four to the left
    one.expect(r"^43$")
    one.expect(prompt)
    one.type("\x1b[A\x7f3\r")  # the line before, its last character, another
    one.expect(r"^44$")
    one.expect(prompt)
    one.type("p 'dropped'\x03")  # Ctrl-C drops a line
    one.expect(r"\^C")
    one.expect(prompt)
    one.type("p 'kep\x01\x05t'\r")  # to its begin and to its end
    one.expect(r"^'kept'$")
    one.expect(prompt)
    one.type("p __import__('time').sleep(1000)\r")
    one.expect("sleep.*\n")
    one.type("\x03")  # and ends what runs
    one.expect(prompt)
    one.type("p answ\t\r")
    one.expect(r"^41$")
    one.expect(prompt)
    fcntl.ioctl(one.master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 55, 0, 0))
    until("the new size is there", lambda: sizes_of_prompts() == ["33 55"])
    one.type("p 'a' * 70, 'end'\x1b[D\x1b[D\x1b[D\x1b[DTHE\r")  # over two rows
    one.expect(r"'THEend'\)")
    one.expect(prompt)


def sizes_of_prompts():
    """Of the terminals of each `hangdbg attach` here that a node runs."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().split(b"\0")
            if words[:2] == [b"hangdbg", b"attach"]:
                with open(path.replace("cmdline", "fd/0"), "rb") as terminal:
                    rows = fcntl.ioctl(terminal, termios.TIOCGWINSZ, b"\0" * 8)
                found.append("%d %d" % struct.unpack("HHHH", rows)[:2])
        except OSError:
            pass
    return found


def is_as_it_was(one):
    """It has ended, and its terminal has the modes of before."""
    one.type("\x04")
    assert one.wait() == 0, one.text
    assert termios.tcgetattr(one.master) == one.modes


def test_a_prompt_in_a_pod(newest_python, tmp_path, monkeypatch):
    """kubectl exec --stdin --tty, by a stand-in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, value in kubectl.install(folder, ["web-1"]).items():
        monkeypatch.setenv(name, str(value))
    target = start("file_baton", newest_python, str(tmp_path / "lock"))
    one = Terminal(None, command=("attach", target.pid, "--via", "kubectl:apps/app=train@main"), size=(30, 100))
    try:
        one.expect("process %d on web-1" % target.pid)
        edits_and_interrupts(one, target.pid)
        is_as_it_was(one)
    finally:
        one.close()


def test_a_prompt_by_srun(newest_python, tmp_path, monkeypatch):
    """srun --pty, of a real Slurm."""
    job = launchers.Slurm(tmp_path, "plain", started=track)
    for name, value in {**job.environment(), "XDG_CACHE_HOME": str(tmp_path), "PATH": "%s:%s" % (
            job.root / "usr/bin", os.environ["PATH"])}.items():
        monkeypatch.setenv(name, str(value))
    target = start("file_baton", newest_python, str(tmp_path / "lock"))
    one = Terminal(None, command=("attach", target.pid, "--via", "srun:" + job.job), size=(30, 100))
    try:
        one.expect("process %d on " % target.pid)
        edits_and_interrupts(one, target.pid)
        is_as_it_was(one)
    finally:
        one.close()
        job.end()


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
