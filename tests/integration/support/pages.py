"""Blocks of the pages that are run: what they show is what hangdbg does.

A block is run beside the target that the comment above it names:

    <!-- beside: build -->           or another of the pages' fixtures; ", any order": of the lines
    ```console
    $ hangdbg peek 79655 self.lock_file_path
    '/home/ada/fused.lock'
    ```

79655 stands for the target's PID, 79601 for the job's launcher, and `auto` for that job.
Numbers, times and line breaks are not compared; the numbers of ranks are. The word `...`
matches any output; a command without hangdbg is not run. With HANGDBG_WRITE_DOCS=1 the
output without that word is written anew.

A program that a page shows is a file of the repository:

    <!-- file: tests/targets/tutorials/mean.py -->
    ```python
"""

import os
import re
import shlex
import shutil
import socket
import subprocess
import textwrap

import pytest

from harness import (DYING_WITH_US, PATIENCE, PROGRAM, ROOT, die_with_us, hangdbg, in_targets,
                     kill_group, track, until)

HOME = "/home/ada"  # as the pages call the folder of the targets
PID, LAUNCHER = "79655", "79601"
WRITE = bool(os.environ.get("HANGDBG_WRITE_DOCS"))
WIDTH = 100

BLOCK = re.compile(r"^<!-- beside: (\w+)(, any order)? -->\n```console\n(.*?)^```$", re.M | re.S)
SHOWN = re.compile(r"^<!-- file: (\S+) -->\n```(\w+)\n(.*?)^```$", re.M | re.S)
UNTOLD = re.compile(r"asleep in (?!\S*nanosleep)\S+(?! for)(?!\S)")
BUSY = re.compile(r"^around(?: rank \d+)?\n  machine: load .*\n(?!  )", re.M)  # by other tests
WAKES = re.compile(r"nanosleep\(.*, 0 µs more\)")  # right now: nor is it known where it sleeps
NO_TIME = re.compile(r"^ *\d+ .* (?:stuck|blocked) +- ", re.M)  # in the table of `ps`
UNIT = r"(?:µs|ms|s|min|h|days?|bytes|[kKMG]i?B)\b"
NUMBER = re.compile(r"((?:\brank |\branks |(?<!:)\[|node7:)[\d,-]+(?=[]:, ]))|0x[\da-f]+|\d[\d.,]*(?: ?%s)?"
                    % UNIT)


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


def blocks(pages, *besides):
    found = [Block(page, match) for page in pages
             for match in BLOCK.finditer((ROOT / page).read_text())]
    return [pytest.param(block, id="%s:%d" % (block.page, block.line))
            for block in found if block.beside in besides]


class Untold(Exception):
    """It does not say how long all sleep."""


def compare(block, names, programs=None, once=False):
    """Runs each command of a block and compares, or writes, what it prints. `names`: how
    the pages call what is in it, by regular expressions. `programs`: where others than
    hangdbg are, of which a command that has hangdbg in it is made. `once`: the command is not
    run again where it raises Untold."""
    text = ""
    for command, output in block.commands():
        if "hangdbg" not in command.split():
            text += "$ %s\n%s" % (command, output)
            continue
        printed = said(command, names, programs or {}) if once else until(
            "it says how long all sleep", lambda: said(command, names, programs or {}))
        if printed is None:
            raise Untold
        assert WRITE or alike(output, printed, block.any_order), "%s:%d $ %s\n%s" % (
            block.page, block.line, command, printed)
        if WRITE and "..." not in output.split() and not alike(output, printed, block.any_order):
            output = wrapped(printed)
        text += "$ %s\n%s" % (command, output)
    if WRITE and text != block.text:
        page = ROOT / block.page
        page.write_text(page.read_text().replace("```console\n%s```" % block.text,
                                                 "```console\n%s```" % text))


def said(command, names, programs):
    """What the command prints, in the names of the pages. None while a thread that sleeps got
    on just now, which it does when another test looks at it, or is about to."""
    printed = BUSY.sub("", run(command, names, programs))
    for pattern, name in names.items():
        printed = re.sub(pattern, name, printed)
    return None if any(why.search(printed) for why in (UNTOLD, WAKES, NO_TIME)) else printed


def run(command, names, programs):
    real = {name: re.sub(r"\\(.)", r"\1", pattern.replace(r"\b", ""))
            for pattern, name in names.items()}
    words = [real.get(word, word) for word in shlex.split(command)]
    words = [real[LAUNCHER] if word == "auto" and LAUNCHER in real else word for word in words]
    words = [str({"hangdbg": PROGRAM, **programs}.get(word, word)) for word in words]
    process = track(subprocess.Popen(
        [*DYING_WITH_US, *words], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True))
    return process.communicate(timeout=PATIENCE)[0]


def alike(shown, printed, any_order=False):
    if any_order:
        # A line that was too long goes on in the next.
        shown, printed = ("\n".join(sorted(text.replace("\n  ", " ").splitlines()))
                          for text in (shown, printed))
    pattern = "".join(
        r"(?:\S+ )*" if word == "..." else re.escape(word) + " " for word in masked(shown).split())
    words = "".join(word + " " for word in masked(printed).split())
    return re.fullmatch(pattern, words) is not None


def masked(text):
    text = NUMBER.sub(lambda number: number[1] or "#", " ".join(text.split()))
    return re.sub(r"(?<!\S)#(?: #)+(?!\S)", "#", text)


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
        shutil.copy(in_targets(name.replace("__", "/") + ".py"), folder / there)
    return folder


def names_of(folder, *python):
    return {re.escape(str(folder)): HOME, **{re.escape(str(path)): "python3" for path in python},
            r"\b%s\b" % re.escape(socket.gethostname()): "node7"}


def links(said):
    """Which waiter waits in what, of what `diagnose --json` says."""
    of_ranks = [link for rank in said.get("ranks", []) for link in rank["diagnosis"]["chain"]]
    launcher = said.get("launcher")
    return said.get("chain", []) + of_ranks + ([launcher] if launcher else [])


def told(link):
    """Whether it is said for how long it sleeps: not yet in the first second, and never of one
    that looks again and again."""
    state = link["doing"]
    return not state.startswith("asleep") or " for " in state or "nanosleep" in state


class Stage:
    """A Python program in a folder of its own, from its start to the end of a page's tests.
    Its interpreter is called python3 wherever that is, since a long command is shown in part."""

    def __init__(self, folder, python, words, **environment):
        self.folder = folder
        self.names = names_of(folder, python)
        self.log = open(folder / "output.txt", "wb")
        self.process = subprocess.Popen(
            ["python3", *map(str, words)], executable=python, cwd=folder,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True,
            preexec_fn=die_with_us, env=dict(
                os.environ, PYTHONDONTWRITEBYTECODE="1", **environment,
                PATH=os.path.dirname(python) + ":" + os.environ["PATH"]))
        self.pid = self.process.pid

    def call(self, pid, name):
        """What the pages call a process."""
        self.names[r"\b%d\b" % pid] = str(name)

    def said(self):
        return (self.folder / "output.txt").read_text(errors="replace")

    def wait_until(self, what, condition):
        try:
            return until(what, condition)
        except AssertionError as late:
            raise AssertionError("%s\n%s" % (late, self.said())) from None

    def wait_hung(self, cause, *words):
        """Until `diagnose` says so of what the words name, and for how long each waits."""
        def hung():
            said = hangdbg("diagnose", *words, "--json").json()
            return said.get("stalled") and said["cause"] == cause and all(map(told, links(said)))
        self.wait_until(cause, hung)

    def children(self):
        found = []
        for task in os.listdir("/proc/%d/task" % self.pid):
            with open("/proc/%d/task/%s/children" % (self.pid, task)) as listed:
                found += map(int, listed.read().split())
        return sorted(found)

    def end(self):
        kill_group(self.process)
        self.log.close()
