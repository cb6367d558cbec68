"""The command lines of the pages: what a reader may copy into a shell.

Those of a block of code are lines that begin with the name of a program, up to a second space in a
row, where a remark begins; those of a sentence begin with `hangdbg` or a script. Blocks that
pages.py runs, with their output, are left out: they are of test_readme.py and test_tutorials.py.
"""

import re

from harness import ROOT
from pages import BLOCK

PROGRAMS = (r"(?:[A-Z_]+=\S* )*(?:hangdbg|sudo|scripts/[\w-]+|build/\S+|bench/\S+|tests/\S+/run|pip|apt|"
            r"tar|code|docker|kubectl|srun|sha256sum|git|python3|gdb|ssh|mkdir|eval|ulimit|pre-commit|"
            r"ping|rm|kill)(?= |$)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
SHELL = ("", "console", "sh", "bash")  # other blocks are programs, or what files have in them


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(
        path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "decisions")]


def command_lines(page):
    """In the order of the page, each once."""
    text = BLOCK.sub("", page.read_text())
    code, prose = [], FENCE.sub("", text)
    for language, block in FENCE.findall(text):
        if language in SHELL:
            code += block.replace("\\\n", " ").splitlines()
    code += re.findall(r"(?<=\n)    (\S.*)", prose)
    prose = re.sub(r"^    .*$", "", prose, flags=re.M)
    lines = [found[0] for found in (
        re.match(r"(?:\$ )?(%s.*)$" % PROGRAMS, line.strip()) for line in code) if found]
    lines = [re.split(r"  +", re.sub(r"^\$ ", "", line))[0] for line in lines]
    lines += [line for line in re.findall(r"`((?:sudo )?(?:hangdbg|scripts/[\w-]+) [^`]*)`",
                                          prose.replace("\n", " "))]
    return list(dict.fromkeys(line.replace("\\|", "|").strip() for line in lines))


def all_lines():
    """By line, the pages that have it."""
    found = {}
    for page in pages():
        for line in command_lines(page):
            found.setdefault(line, []).append(str(page.relative_to(ROOT)))
    return found
