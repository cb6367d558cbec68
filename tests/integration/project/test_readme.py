"""What README.md, docs/coming-from.md and docs/recipes.md show is what hangdbg does (pages.py has the form of a
block), and what any page names exists."""

import os
import re
import shlex
import socket
import subprocess

import pytest

import pages
import torches
from harness import (DYING_WITH_US, ROOT, Target, die_with_us, hangdbg, kill_group, until)
from pages import BLOCK, LAUNCHER, PID, compare, copied, names_of

PAGES = ("README.md", "docs/coming-from.md", "docs/recipes.md")
RANKS = 4
HIDDEN = {"--injection-points"}  # of no help, since it is for tests


def blocks(*besides):
    return pages.blocks(PAGES, *besides)


# ---- the targets


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Hangs behind a stale lock file."""
    folder = copied(tmp_path, file_baton="build.py", common="common.py")
    monkeypatch.chdir(folder)
    python = "/usr/bin/python3"
    target = Target([python, "build.py", "fused.lock"])
    target.wait_hung()
    yield {r"\b%d\b" % target.pid: PID, **names_of(folder, python)}
    if target.alive():
        target.finish()


class Job:
    """Four ranks of train.py under torchrun."""

    def __init__(self, folder):
        self.python = torches.found()[-1][1]
        self.folder = copied(folder, train="train.py")
        self.lock = self.folder / "kernel.lock"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [*torches.torchrun(self.python, RANKS), "--master_port=%d" % port, "--no-python",
             *DYING_WITH_US, self.python, "-u", "train.py", str(self.lock)],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True, preexec_fn=die_with_us,
            env=dict(os.environ, OMP_NUM_THREADS="1"))
        self.names = {r"\b%d\b" % self.process.pid: LAUNCHER,
                      r"127\.0\.0\.1:%d" % port: "127.0.0.1:29500", **names_of(folder, self.python)}

    def started(self):
        first = self.process.stdout.readline()
        assert b"ready" in first, "%r, exit code %s" % (first, self.process.poll())
        for rank, pid in until("four ranks", self.ranks).items():
            self.names[r"\b%d\b" % pid] = str(int(LAUNCHER) + 1 + rank)
        return self

    def ranks(self):
        listed = hangdbg("ps", "--job", self.process.pid, "--json").json().get("processes", [])
        found = {one["rank"]: one["pid"] for one in listed if one["role"] == "rank"}
        return found if len(found) == RANKS else None

    def hang(self):
        self.lock.touch()

        def hung():
            said = hangdbg("diagnose", "--job", self.process.pid, "--json").json()
            return said.get("stalled") and said["cause"] == "stale-lock-file"
        until("the job hangs", hung)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    if not torches.found():
        pytest.skip("no Python here has torch")
    one = Job(tmp_path_factory.mktemp("train"))
    try:
        yield one.started()
    finally:
        kill_group(one.process)
        one.process.stdout.close()


# ---- the tests


@pytest.mark.parametrize("block", blocks("build"))
def test_of_a_process(block, build):
    compare(block, build)


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("running"))
def test_of_a_job_that_runs(block, job, monkeypatch):
    assert not job.lock.exists()
    monkeypatch.chdir(job.folder)
    compare(block, job.names)


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("hung"))
def test_of_a_job_that_hangs(block, job, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root sees that nobody has the lock file open")
    if not job.lock.exists():
        job.hang()
    monkeypatch.chdir(job.folder)
    compare(block, job.names)


def test_every_block_is_run():
    for page in PAGES:
        text = (ROOT / page).read_text()
        assert len(re.findall(r"^```console$", text, re.M)) == len(BLOCK.findall(text)), page


def rows():
    """The commands beside those of other tools, that name the target."""
    text = (ROOT / "docs/coming-from.md").read_text()
    cells = re.findall(r"\| `(hangdbg [^`]*)` \|$", text, re.M)
    return [cell.replace("\\|", "|") for cell in cells
            if PID in shlex.split(cell) and "HOST" not in cell]


@pytest.mark.parametrize("command", rows())
def test_beside_the_command_of_another_tool(command, build):
    """It can be typed as it is shown."""
    words = [next((pattern.strip(r"\b") for pattern, name in build.items() if name == word), word)
             for word in shlex.split(command)[1:]]
    if words[0] == "trace" and "--for" not in words:
        words += ["--for", "0.3"]
    if words[0] == "top":  # a live screen wants a terminal: test_top.py
        words += ["--once"]
    done = hangdbg(*words)
    assert done.rc == 0, done


def command_lines():
    """All that is shown as code in the pages, and begins with `hangdbg`."""
    found = set()
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text()
        for line in re.findall(r"^(?:    |\$ )(hangdbg .*)$", text, re.M):
            found.add((str(page.relative_to(ROOT)), re.split(r"  +| [|#&>] ", line)[0]))
        for line in re.findall(r"`(hangdbg [^`]*)`", text.replace("\n", " ")):
            found.add((str(page.relative_to(ROOT)), line))
    return sorted(found)


def test_options_that_pages_name_exist():
    helps = {}
    known = [line.split("\t")[0] for line in hangdbg("__complete", "").out.splitlines()]
    wrong = []
    for page, line in command_lines():
        words = line.split()[1:]
        if not words or not re.fullmatch("[a-z]+", words[0]):
            continue
        command = words[0]
        if command not in known:
            wrong.append("%s: %s" % (page, line))
            continue
        if command not in helps:
            helps[command] = hangdbg(command, "--help").out
        if command == "run":  # the script's own options
            continue
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", line.partition(" -- ")[0]):
            if option in HIDDEN:
                continue
            if not re.search(r"(?<![\w-])%s(?![\w-])" % option, helps[command]):
                wrong.append("%s: %s: %s" % (page, option, line))
    assert not wrong, "\n".join(wrong)
