"""The table of what libraries wait for, read from diagnosis/waits/library_waits_*.inc, and
what is in a library's source of what its rows name."""

import ast
import functools
import importlib.metadata
import re
from collections import namedtuple
from pathlib import Path

from harness import ROOT

CACHE = ROOT / ".cache" / "libraries"
PYTHON = CACHE / "bin" / "python3"

Row = namedtuple("Row", "library file function versions kind sentence via when")


@functools.cache
def rows():
    found = []
    for path in sorted((ROOT / "diagnosis" / "waits").glob("library_waits_*.inc")):
        text = re.sub(r"^//.*$", "", path.read_text(), flags=re.MULTILINE)
        text = re.sub(r'"\s*\n\s*"', "", text)  # pieces of one
        fields = []
        for said, kind, end in re.findall(r'"([^"]*)"|\b([A-Z]\w+)\b|(\}),', text):
            if end:
                found.append(Row(*fields, *[""] * (len(Row._fields) - len(fields))))
                fields = []
            else:
                fields.append(said or kind)
    return found


def expressions(row):
    """Those of which one has to be there, together."""
    found = [one.split("|") for one in re.findall(r"\{([^}]*)\}", row.sentence)]
    return found + ([[row.when.split(": ")[0]]] if row.when else [])


@functools.cache
def installed():
    """By library as the table has it: where its version lies."""
    folders = list(map(str, CACHE.glob("lib/python3.*/site-packages")))
    found = {normal(one.metadata["Name"] or ""): one
             for one in importlib.metadata.distributions(path=folders)}
    return {row.library: found[normal(row.library)] for row in rows()
            if normal(row.library) in found}


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def is_in_range(version, versions):
    """"4.1.0" in "3.9-8.1"; to as many parts as the range has."""
    first, _, last = versions.partition("-")

    def cut(text, like):
        return [int(part) for part in re.findall(r"\d+", text)][:len(like.split("."))]
    return (cut(version, first) >= cut(first, first)
            and cut(version, last or first) <= cut(last or first, last or first))


@functools.cache
def functions(path):
    """By name: the functions in a file, wherever they are in it."""
    found = {}
    # This may be an older Python than the one whose library it is (PEP 810).
    text = re.sub(r"^(\s*)lazy (?=import |from )", r"\1", path.read_text(), flags=re.MULTILINE)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.setdefault(node.name, []).append(node)
    return found


@functools.cache
def words(root, package):
    """All names in a package."""
    folder = root / package
    files = folder.rglob("*.py") if folder.is_dir() else filter(Path.exists, [folder])
    return {word for path in files
            for word in re.findall(r"[A-Za-z_]\w*", path.read_text(errors="replace"))}


def variables(function):
    """The names that may be a function's own."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
             *filter(None, [arguments.vararg, arguments.kwarg])]
    return {one.arg for one in named} | {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


def is_there(row, root):
    """What of the row is not in the library that lies there; "" if all of it is."""
    path = root / row.file[1:]
    if not path.exists():
        return "no %s" % row.file
    found = functions(path).get(row.function)
    if not found:
        return "no %s in %s" % (row.function, row.file)
    known = set().union(*map(variables, found))
    packages = {one.split("/")[1] for one in [row.file, *row.via.split()]}
    for choice in expressions(row):
        wrong = [why for why in (unknown(one, known, root, packages) for one in choice) if why]
        if len(wrong) == len(choice):
            return wrong[0]
    return ""


def unknown(expression, known, root, packages):
    name, *attributes = re.findall(r"(?<!')\b[A-Za-z_]\w*", expression)
    if name not in known:
        return "%s: no variable %s" % (expression, name)
    there = {"__qualname__"}.union(*(words(root, one) for one in packages))
    for attribute in attributes:
        if attribute not in there:
            return "%s: no attribute %s" % (expression, attribute)
    return ""


# ---- docs

BEGIN, END = "<!-- tests/integration/verdicts/test_library_waits.py writes this -->", "<!-- up to here -->"
KINDS = {"Work": "work", "Connections": "connections", "Messages": "messages",
         "Timer": "a time", "Input": "input", "Reply": "replies", "Lock": "locks",
         "Slot": "slots of a pool", "Child": "children", "Thread": "other threads",
         "Peers": "peers", "Pause": "the next try"}


def docs_table():
    """A line each library."""
    lines = ["| library | seen in | functions | that wait for |", "|---|---|---|---|"]
    for library in sorted({row.library for row in rows()}, key=str.lower):
        its = [row for row in rows() if row.library == library]
        versions = sorted({end for row in its for end in row.versions.split("-")},
                          key=lambda text: [int(part) for part in text.split(".")])
        kinds = [words for kind, words in KINDS.items() if kind in {row.kind for row in its}]
        lines.append("| %s | %s | %d | %s |" % (
            library, " to ".join(dict.fromkeys([versions[0], versions[-1]])),
            len({(row.file, row.function) for row in its}), ", ".join(kinds)))
    return "\n".join(lines)
