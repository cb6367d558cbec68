"""Each folder says what it is for, in a README.md: what it uses is what its files include, and what
it names exists.

HANGDBG_WRITE_DOCS=1 writes the names after "Uses:" anew.
"""

import collections
import fnmatch
import functools
import re
import subprocess
import textwrap

import pytest

from harness import ROOT
from pages import WRITE

SOURCES = (".h", ".c", ".cpp", ".S")
MOST_LINES = 25
# Lists of what is in the folder, rather than a word on it.
LONG = {"docs/decisions", "vscode"}
# What is packed as it lies there, or is data; the README of the folder above has them.
DATA = ("docs/pictures", "python/hangdbg", "tests/fuzz/seeds/*", "tests/gpu/rehearsal/*",
        "tests/integration/project/screens", "vscode/media")
USES = re.compile(r"^Uses: (.*?)(?=\.?\nBegin with:|\.?\n\n|\.?\n$)", re.M | re.S)


@functools.lru_cache(None)
def files():
    """That are in the repository, or are to come in."""
    return [name for name in subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], text=True,
        capture_output=True, check=True).stdout.splitlines() if (ROOT / name).exists()]


def folder_of(path):
    return path.rpartition("/")[0]


@functools.lru_cache(None)
def folders():
    """All, without what belongs to the repository itself (.ci, .github)."""
    found = {folder_of(name) for name in files() if "/" in name and name[0] != "."}
    found |= {folder_of(name) for name in found if "/" in name}
    return sorted(name for name in found
                  if not any(fnmatch.fnmatch(name, pattern) for pattern in DATA))


@functools.lru_cache(None)
def order():
    text = (ROOT / "tests/unit/layers_test.cpp").read_text()
    return re.findall(r'"(.*?)"', text[text.index("kRooms = {"):text.index("};")])


@functools.lru_cache(None)
def includes():
    """By folder, the folders of the headers that its files include."""
    found = collections.defaultdict(set)
    for name in files():
        if name.endswith(SOURCES):
            for header in re.findall(r'^ *# *include "([^"]+)"', (ROOT / name).read_text(), re.M):
                if "/" in header:
                    found[folder_of(name)].add(folder_of(header))
    return found


def used_by(folder):
    """What its own files include, or, where it only has rooms, those of all its rooms, from others."""
    if folder in includes():
        return includes()[folder] - {folder}
    inside = folder + "/"
    return {there for room, all_of in includes().items() if room.startswith(inside)
            for there in all_of if not there.startswith(inside)}


def covers(name, folder):
    return folder == name or folder.startswith(name + "/")


def names_for(folder):
    """As few as say it: other folders as a whole, the rooms of its own one by one if they are few."""
    top = folder.partition("/")[0]
    own = {there for there in used_by(folder) if covers(top, there)}
    others = {there.partition("/")[0] for there in used_by(folder)} - {top}

    def height(name):
        rooms = [room for room in order() if room == name] or [
            room for room in order() if covers(name, room)]
        return order().index(rooms[0]) if rooms else len(order())
    return sorted(others, key=height) + (
        sorted(own, key=height) if len(own) <= 6 else ["%s/…" % top])


def write_uses(folder, text):
    """Only the names; what is said after a semicolon stays."""
    old = USES.search(text)[1]
    words = ", ".join("`%s`" % name for name in names_for(folder)) or "nothing of ours"
    new = "Uses: " + words + "".join("; " + part for part in " ".join(old.split()).split("; ")[1:])
    return USES.sub(lambda _: textwrap.fill(new, 96, break_long_words=False,
                                            break_on_hyphens=False), text, count=1)


@pytest.mark.parametrize("folder", folders())
def test_a_folder_says_what_it_is_for(folder):
    page = ROOT / folder / "README.md"
    assert page.exists(), "%s has no README.md" % folder
    lines = page.read_text().splitlines()
    assert re.match(r"# \S", lines[0]) and len(lines) >= 4, folder
    assert folder in LONG or folder.startswith("docs") or len(lines) <= MOST_LINES, folder


@pytest.mark.parametrize("folder", [
    name for name in folders() if used_by(name) and (
        name.startswith("tests/unit/") or any(covers(name, room) for room in order()))])
def test_what_it_uses_is_what_it_includes(folder):
    """Of the program's own folders and its unit tests. `X/…` is more than six rooms of X."""
    page = ROOT / folder / "README.md"
    text = page.read_text()
    assert USES.search(text), "no line that begins with Uses:"
    if WRITE:
        text = write_uses(folder, text)
        page.write_text(text)
    said = re.findall(r"`([^`]+)`", USES.search(text)[1].split("; ")[0])
    assert said == names_for(folder), "HANGDBG_WRITE_DOCS=1 writes them"


@pytest.mark.parametrize("folder", folders())
def test_what_it_names_exists(folder):
    """Paths, after "Begin with:", from the folder or from the root."""
    text = (ROOT / folder / "README.md").read_text()
    begin = re.search(r"^Begin with: (.*?)(?=\n\n|\Z)", text, re.M | re.S)
    for name in re.findall(r"`([^`\s]+\.[a-zA-Z_]+|[\w./-]+/)`", begin[1]) if begin else ():
        assert any(list(place.glob(name)) for place in (ROOT / folder, ROOT)), name
