"""`hangdbg help`, and what is said of a command line that is mistyped."""

import re

import pytest

from harness import PROGRAM, hangdbg
from terminal import Terminal

GROUPS = ("See what hangs", "Look without running code in the process", "Ask and debug",
          "Jobs and ranks", "Record and hand on", "Editors and servers", "More")


def commands():
    return [line.split("\t")[0] for line in hangdbg("__complete", "").out.splitlines()]


def test_groups():
    """Every command is in one of them, in this order."""
    text = hangdbg("--help").out
    assert re.findall(r"^(\S.*):$", text, re.M) == ["Examples", *GROUPS, "Options"], text
    listed = re.findall(r"^  ([a-z]+) +[A-Z]", text, re.M)
    assert sorted(listed) == sorted(commands()), text


def test_the_same_by_every_way():
    assert hangdbg("help").out == hangdbg("--help").out == hangdbg("-h").out
    for command in commands():
        done = hangdbg("help", command)
        assert (done.rc, done.out) == (0, hangdbg(command, "--help").out), done
    assert hangdbg("version").out == hangdbg("--version").out


@pytest.mark.parametrize("command", commands() if PROGRAM.exists() else [])
def test_help_of_a_command(command):
    """Examples first, and no line is wider than 80 columns."""
    text = hangdbg("help", command).out
    assert re.match(r"[A-Z].*\.\n\nUsage: hangdbg %s\b" % command, text), text
    titles = re.findall(r"^(\S.*):$", text, re.M)
    if command != "version":
        assert titles[0] == "Examples", titles
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("columns", [50, 80, 132, 200])
def test_wrapped_to_the_terminal(columns):
    for words in (["--help"], ["help", "dump"], ["run", "--help"]):
        terminal = Terminal(None, command=words, size=(24, columns), no_color=True)
        assert terminal.wait() == 0, terminal.text
        text = terminal.screen.replace("\r\n", "\n")
        terminal.close()
        wide = [line for line in text.splitlines() if len(line) > columns]
        # What is to be copied is not broken.
        assert [line for line in wide if not line.startswith(("  hangdbg ", "  srun "))] == [], text
        assert "Usage: " in text and text.endswith("\n"), text


def test_an_older_name():
    assert hangdbg("around", "--help").out == hangdbg("host", "--help").out
    assert "around" not in commands()


@pytest.mark.parametrize("typed, cause, hint", [
    ("atach 79655 -c w", "unknown command: atach", "hangdbg attach 79655 -c w"),
    ("dmup 79655 --locals", "unknown command: dmup", "hangdbg dump 79655 --locals"),
    ("diag 79655", "unknown command: diag", "hangdbg diagnose 79655"),
    ("help atach", "unknown command: atach", "hangdbg help attach"),
    ("frobnicate", "unknown command: frobnicate", "hangdbg help"),
    ("bt 79655", "unknown command: bt", "hangdbg dump 79655"),
    ("list", "unknown command: list", "hangdbg ps"),
    ("strace 79655 -c", "unknown command: strace", "hangdbg trace 79655 -c"),
    ("-p 79655", "option -p needs a command before it", "hangdbg diagnose -p 79655"),
    ("79655", "no command is given for process 79655", "hangdbg diagnose 79655"),
    ("dump --chidren 79655", "unknown option: --chidren", "hangdbg dump --children 79655"),
    ("dump 79655 --local=1", "unknown option: --local", "hangdbg dump 79655 --locals=1"),
    ("ps --jsno", "unknown option: --jsno", "hangdbg ps --json"),
    ("ps --frobnicate", "unknown option: --frobnicate", "hangdbg ps --help"),
    ("--tree", "option --tree needs a command before it", "hangdbg ps --tree"),
    ("--locals dump", "option --locals needs a command before it", "hangdbg dump --locals"),
    ("eval 79655 len (x)", "unexpected argument: (x)", "hangdbg eval 79655 'len (x)'"),
    ("peek 79655 a + b --frame 1", "unexpected argument: +", "hangdbg peek 79655 'a + b' --frame 1"),
    ("core a b c", "unexpected argument: c", "hangdbg core --help"),
    ("core /nowhere/core", "cannot open /nowhere/core: No such file or directory", "ls /nowhere"),
    ("diff a", "FILE: 2 are needed", "hangdbg diff --help"),
    ("break", "missing argument: PLACE", "hangdbg break --help"),
    ("serve", "missing option: --listen WHERE", "hangdbg serve --help"),
    ("dump --timeout", "--timeout: missing value", "hangdbg dump --help"),
    ("dump --timeout soon", "--timeout: soon is not a number from 0.001 to 1000000",
     "hangdbg dump --help"),
    ("dump --color=pink", "--color: pink is not one of: auto, always, never",
     "hangdbg dump --help"),
])
def test_a_mistyped_line(typed, cause, hint):
    done = hangdbg(*typed.split())
    assert (done.rc, done.out) == (2, ""), done
    assert done.err == "hangdbg: %s\n  try: %s\n" % (cause, hint), done


@pytest.mark.parametrize("typed, rc, cause, hint", [
    ("record -d 1 -- nowhere", 2, "cannot run nowhere", "type -a nowhere; or give its path"),
    ("run -- /nowhere/program", 127, "cannot run /nowhere/program", "ls /nowhere"),
    ("connect unix:/nowhere", 4, "cannot connect to unix:/nowhere",
     "hangdbg serve --listen unix:/nowhere, on the machine of the program"),
])
def test_what_is_not_there(typed, rc, cause, hint):
    done = hangdbg(*typed.split())
    assert (done.rc, done.out) == (rc, ""), done
    assert done.err == "hangdbg: %s: No such file or directory\n  try: %s\n" % (cause, hint), done
