"""What README.md and docs/coming-from.md show is what hangdbg does.

A block is run beside the target that the comment above it names:

    <!-- beside: build -->           or: hung, running; "any order": of the output's lines
    ```console
    $ hangdbg peek 79655 self.lock_file_path
    '/home/ada/fused.lock'
    ```

79655 stands for the target's PID, 79601 for the job's launcher, and `auto` for that job.
Numbers, times and line breaks are not compared; the numbers of ranks are. The word `...`
stands for any output. With HANGDBG_WRITE_DOCS=1 the output without that word is written
anew.
"""

import os
import re
import shlex
import shutil
import socket
import subprocess
import textwrap

import pytest

import torches
from harness import (DYING_WITH_US, PATIENCE, PROGRAM, ROOT, TARGETS, Target, die_with_us, hangdbg,
                     kill_group, track, until)

PAGES = ("README.md", "docs/coming-from.md")
HOME = "/home/ada"  # as the pages call the folder of the targets
PID, LAUNCHER = "79655", "79601"
RANKS = 4
WRITE = bool(os.environ.get("HANGDBG_WRITE_DOCS"))
WIDTH = 100
HIDDEN = {"--injection-points"}  # of no help, since it is for tests

BLOCK = re.compile(r"^<!-- beside: (\w+)(, any order)? -->\n```console\n(.*?)^```$", re.M | re.S)
UNIT = r"(?:µs|ms|s|min|h|days?|bytes|[kKMG]i?B)\b"
NUMBER = re.compile(r"((?:\brank |\branks |\[|node7:)[\d,-]+(?=[]:, ]))|\d[\d.,]*(?: ?%s)?" % UNIT)


# ---- what the pages show


class Block:
    def __init__(self, page, match):
        self.page = page
        self.beside, self.any_order, self.text = match[1], bool(match[2]), match[3]
        self.line = match.string.count("\n", 0, match.start(3)) + 1

    def commands(self):
        """[(the words after $, the output)]"""
        return [(command, output) for command, output in re.findall(
            r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", self.text, re.M)]


def blocks(*besides):
    found = [Block(page, match) for page in PAGES
             for match in BLOCK.finditer((ROOT / page).read_text())]
    return [pytest.param(block, id="%s:%d" % (block.page, block.line))
            for block in found if block.beside in besides]


def compare(block, names):
    """Runs each command of a block and compares, or writes, what it prints. `names`: how
    the pages call what is in it, by regular expressions."""
    text = ""
    for command, output in block.commands():
        if not command.startswith("hangdbg"):
            text += "$ %s\n%s" % (command, output)
            continue
        printed = run(command, names)
        for pattern, name in names.items():
            printed = re.sub(pattern, name, printed)
        assert WRITE or alike(output, printed, block.any_order), "%s:%d $ %s\n%s" % (
            block.page, block.line, command, printed)
        if WRITE and "..." not in output.split() and not alike(output, printed, block.any_order):
            output = wrapped(printed)
        text += "$ %s\n%s" % (command, output)
    if WRITE and text != block.text:
        page = ROOT / block.page
        page.write_text(page.read_text().replace("```console\n%s```" % block.text,
                                                 "```console\n%s```" % text))


def run(command, names):
    real = {name: pattern.replace(r"\b", "") for pattern, name in names.items()}
    words = [real.get(word, word) for word in shlex.split(command)[1:]]
    words = [real[LAUNCHER] if word == "auto" else word for word in words]
    process = track(subprocess.Popen(
        [*DYING_WITH_US, str(PROGRAM), *words], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True))
    return process.communicate(timeout=PATIENCE)[0]


def alike(shown, printed, any_order=False):
    if any_order:
        shown, printed = ("\n".join(sorted(text.splitlines())) for text in (shown, printed))
    pattern = "".join(
        r"(?:\S+ )*" if word == "..." else re.escape(word) + " " for word in masked(shown).split())
    words = "".join(word + " " for word in masked(printed).split())
    return re.fullmatch(pattern, words) is not None


def masked(text):
    text = NUMBER.sub(lambda number: number[1] or "#", text)
    return re.sub(r"#(?: #)+", "#", text)


def wrapped(text):
    """Lines of at most WIDTH columns; how they are broken is not compared."""
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += [line] if len(line) <= WIDTH else textwrap.wrap(
            line, WIDTH, subsequent_indent=indent, break_long_words=False,
            break_on_hyphens=False, drop_whitespace=True)
    return "\n".join(lines) + "\n"


# ---- the targets


def copied(folder, **names):
    for name, there in names.items():
        shutil.copy(TARGETS / (name + ".py"), folder / there)
    return folder


def names_of(folder, *python):
    return {re.escape(str(folder)): HOME, **{re.escape(str(path)): "python3" for path in python},
            r"\b%s\b" % re.escape(socket.gethostname()): "node7"}


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
            return said.get("hung") and said["cause"] == "stale-lock-file"
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
    done = hangdbg(*words)
    assert done.rc == 0, done


def command_lines():
    """All that is shown as code in the pages, and begins with `hangdbg`."""
    found = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = page.read_text()
        for line in re.findall(r"^(?:    |\$ )(hangdbg .*)$", text, re.M):
            found.add((page.name, re.split(r"  +| [|#&>] ", line)[0]))
        for line in re.findall(r"`(hangdbg [^`]*)`", text.replace("\n", " ")):
            found.add((page.name, line))
    return sorted(found)


def test_options_that_pages_name_exist():
    helps = {}
    known = re.findall(r"^  ([a-z]+) {2,}", hangdbg("--help").out.partition("Subcommands")[2], re.M)
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
