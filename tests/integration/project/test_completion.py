"""Completion by Tab, in real shells at a real terminal (tmux); and the manual page."""

import os
import shutil
import subprocess

import pytest

from harness import PROGRAM, hangdbg, start, track, until
from test_jobs import ranks_of

LOADED = {
    "bash": (["bash", "--norc", "--noprofile"], 'eval "$(hangdbg completion bash)"'),
    "zsh": (["zsh", "-f"],
            'autoload -Uz compinit && compinit -D -u && eval "$(hangdbg completion zsh)"'),
    "fish": (["fish", "--no-config", "--private"], "hangdbg completion fish | source"),
}


class Shell:
    """One in a terminal of its own, which can hangdbg's completion."""

    def __init__(self, name, folder):
        for program in ("tmux", name):
            if shutil.which(program) is None:
                pytest.skip("no %s here" % program)
        words, load = LOADED[name]
        self.tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        path = "%s:/usr/bin:/bin" % PROGRAM.parent
        self.server = track(subprocess.Popen(
            [*self.tmux, "-D"], stdin=subprocess.DEVNULL))
        until("tmux runs", lambda: self._run("new-session", "-d", "-x", "160", "-y", "50",
                                             "env", "-i", "PATH=" + path, "TERM=screen",
                                             "HOME=" + str(folder), "PS1=$ ", *words))
        self.type(load + "\n" + "echo load''ed\n", "loaded")
        self.clear()

    def clear(self):
        self.type("\x15clear; echo clea''red\n", "cleared")

    def type(self, keys, shown):
        """And waits until that is on the screen."""
        assert self._run("send-keys", "-l", "--", keys)
        try:
            until("it is on the screen", lambda: shown in self.screen())
        except AssertionError:
            raise AssertionError("no %r after %r:\n%s" % (
                shown, keys, self.screen().rstrip())) from None

    def screen(self):
        done = subprocess.run([*self.tmux, "capture-pane", "-p", "-N"], stdout=subprocess.PIPE)
        return done.stdout.decode()

    def close(self):
        self._run("kill-server")

    def _run(self, *words):
        return subprocess.run([*self.tmux, *words], stderr=subprocess.DEVNULL).returncode == 0


@pytest.fixture(params=sorted(LOADED))
def shell(request, tmp_path):
    shell = Shell(request.param, tmp_path)
    yield shell
    shell.close()


def test_words(shell):
    shell.type("hangdbg att\t", "hangdbg attach ")
    shell.type("--fra\t", "hangdbg attach --frame ")
    shell.type("ow\t", "--frame own ")
    shell.type("--color=al\t", "--color=always ")
    shell.clear()
    shell.type("hangdbg \t\t", "doctor")
    shell.clear()
    # In the middle of a line, behind another command.
    shell.type("cd .; hangdbg com\t", "hangdbg completion ")
    shell.type("fi\t", "hangdbg completion fish ")


def test_files_are_the_shells_own(shell, tmp_path):
    (tmp_path / "core.79655").touch()
    shell.type("cd %s\n" % tmp_path, str(tmp_path))
    shell.type("hangdbg core cor\t", "hangdbg core core.79655")


def test_processes_and_threads(shell, newest_python):
    target = start("lock_worker", newest_python)
    pid = str(target.pid)
    shell.type("hangdbg dump -p \t\t\t", "lock_worker")  # the first may complete what all begin with
    shell.clear()
    shell.type("hangdbg attach %s --thread mai\t" % pid, "--thread main ")
    shell.clear()
    tid = str(target.tid)
    shell.type("hangdbg attach %s --thread %s\t\t" % (pid, tid[:-1]), tid)


def test_jobs_and_ranks(shell, newest_python):
    name, ranks = ranks_of(2, newest_python)
    shell.type("hangdbg dump --job %s\t" % name[:-2], name + " ")
    shell.type("--ranks \t\t", str(ranks[1].pid))
    shell.clear()
    shell.type("hangdbg dump --job=%s\t" % name[:-2], "--job=%s " % name)


def test_a_name_that_a_shell_would_run(newest_python):
    ranks_of(2, newest_python, TORCHELASTIC_RUN_ID="$(reboot)")
    words = [line.split("\t")[0] for line in hangdbg("__complete", "ps", "--job", "").out.splitlines()]
    assert "auto" in words
    assert not any("reboot" in word for word in words) and str(os.getpid()) in words


def test_manual_at_a_terminal(shell, tmp_path):
    if shutil.which("man") is None:
        pytest.skip("no man here")
    (tmp_path / "hangdbg.1").write_text(hangdbg("--manual").out)
    shell.type("man -l %s\n" % (tmp_path / "hangdbg.1"), "HANGDBG(1)")
    shell.type("/PYTHONBREAKPOINT\n", "PYTHONBREAKPOINT=hangdbg.breakpoint")
    shell.type("q", "man -l")


def test_of_what_is_no_shell():
    hangdbg("completion", "tcsh").assert_refused(2, "tcsh", "hangdbg completion --help")


def test_manual(tmp_path):
    """It has every command and every option of its help, and troff has no complaint."""
    page = tmp_path / "hangdbg.1"
    page.write_text(hangdbg("--manual").out)
    text = page.read_text().replace("\\-", "-")
    commands = [line.split("\t")[0] for line in hangdbg("__complete", "").out.splitlines()]
    assert len(commands) > 14
    for command in commands:
        assert ".SS hangdbg %s\n" % command in text
        for line in hangdbg("__complete", command, "-").out.splitlines():
            assert line.split("\t")[0] in text, (command, line)
    if shutil.which("man") is None or shutil.which("groff") is None:
        pytest.skip("no man and groff here")
    done = subprocess.run(["man", "--warnings", "-l", page], env={
        "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "hangdbg attach --job auto --ranks 3" in done.stdout.decode()
