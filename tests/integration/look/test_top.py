"""hangdbg top: where the time goes, live. On a terminal that draws (screen.py), each key; once, as text
and as JSON."""

import os
import re
import signal

import pytest

import harness
from harness import hangdbg
from screen import Screen
from working import Working


@pytest.fixture
def target(newest_python):
    working = Working(newest_python, "-", "chains,others")
    yield working
    working.process.kill()


@pytest.fixture
def shown(target):
    """top, once it has shown a function."""
    screen = Screen("top", target.pid, "--delay", "0.2")
    screen.until("a function is shown", lambda text: "spend (known_shares.py" in text)
    yield screen
    screen.close()


def rows(text):
    """What is below the heading, as lists of words."""
    lines = text.splitlines()
    heading = next(at for at, line in enumerate(lines) if line.lstrip().startswith(("own", "*own", "cpu", "*cpu"))
                   or re.match(r"\s+(own|cpu) %", line))
    return [line.split() for line in lines[heading + 1:-1] if line.strip()]


def ended(text):
    """The exit code, once it has ended and the terminal is as it was."""
    found = re.search(r"^rc (\d+)$", text, re.M)
    return found and re.search(r"[^-]icanon", text) and re.search(r"[^-]echo\b", text) and int(found.group(1))


def is_over(text):
    return ended(text) == 0


# ---- once


def test_once(target):
    done = hangdbg("top", target.pid, "--once")
    assert done.rc == 0 and " 0 torn; " in done.out.splitlines()[0], done
    assert re.search(r"\d+ chains +(runs|the GIL|asleep|blocked)", done.out), done
    assert re.search(r"[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +spend \(known_shares.py:\d+\)", done.out), done


def test_json(target):
    def found():
        done = hangdbg("top", target.pid, "--json", "--delay", "1", "--max-overhead", "100").json()
        threads = {thread["name"]: thread for thread in done["threads"]}
        one, other = threads["chains"], threads["others"]
        functions = {each["function"]: each for each in done["functions"]}
        return (done["kept"] > 50 and one["gil_percent"] + other["gil_percent"] <= 101
                and one["running_percent"] > 10 < other["running_percent"]
                and threads["MainThread"]["running_percent"] < 5
                and functions["spend"]["own_percent"] > 50
                and functions["recursion"]["total_percent"] > functions["recursion"]["own_percent"]
                and threads["MainThread"]["waits_for"] and done)
    done = harness.until("all is as the program is", found)
    (process,) = done["processes"]
    assert process["pid"] == target.pid and process["threads"] == 3


@pytest.fixture
def tasks(newest_python):
    working = Working(newest_python, target="tasks.py")
    yield working
    working.process.kill()


def test_tasks_once(tasks):
    """Each below those that await it, with the thread that runs its loop."""
    def found():
        done = hangdbg("top", tasks.pid, "--tasks", "--json", "--delay", "1", "--max-overhead", "100").json()
        stacks = {tuple(frame["function"].split(".")[-1] for frame in task["stack"]) for task in done["tasks"]}
        assert all(task["pid"] == task["tid"] == tasks.pid and 0 < task["percent"] < 200
                   for task in done["tasks"] if task["percent"]), done
        ends = {stack[-3:] for stack in stacks}
        return {("left", "gathers", "main"), ("right", "gathers", "main")} <= ends and stacks
    stacks = harness.until("both tasks are seen", found)
    assert not any("_run_once" in stack for stack in stacks), stacks
    assert "tasks" not in hangdbg("top", tasks.pid, "--json", "--delay", "0.2").json()

    def text():
        done = hangdbg("top", tasks.pid, "--tasks", "--once", "--max-overhead", "100")
        return re.search(r"time % +time s +task +thread +at\n(.*\n)*? +[\d.]+ +[\d.]+ +Task-\d+ +thread \d+ "
                         r"\(Main.*(left|spend) \(tasks.py:\d+\)", done.out)
    harness.until("a task is in the text", text)


def test_tasks_on_the_screen(tasks):
    screen = Screen("top", tasks.pid, "--delay", "0.2", "--max-overhead", "100")
    screen.until("a function is shown", lambda text: "spend (tasks.py" in text)
    screen.until("how to see tasks", lambda text: "t shows asyncio's tasks" in text, "5")
    screen.until("a fifth view", lambda text: "5 Tasks" in text, "t")
    screen.until("tasks", lambda text: re.search(r"Task-\d+ +thread \d+ \(M", text), "5")
    screen.until("its stack, with who awaits it", lambda text: re.search(
        r"task Task-\d+", text) and "at gathers (tasks.py" in text and "at main (tasks.py" in text, "Enter")
    screen.until("tasks again", lambda text: "time %" in text, "Escape")
    screen.until("no tasks", lambda text: "5 Tasks" not in text and "spend (tasks.py" in text, "t")
    screen.until("it ends", is_over, "q")
    screen.close()


def test_no_terminal(target):
    hangdbg("top", target.pid).assert_refused(2, "--once")


# ---- each key


def test_views(shown):
    shown.until("lines", lambda text: "  line" in text, "2")
    threads = shown.until("threads", lambda text: "waits for" in text and "pipe:[" in text, "3")
    assert {"chains", "others"} <= {row[4] for row in rows(threads)}
    shown.until("processes", lambda text: "hottest" in text and "spend" in text, "4")
    shown.until("the next, functions", lambda text: "total s   function" in text, "Tab")
    shown.until("the one before", lambda text: "hottest" in text, "BTab")
    shown.until("it ends", is_over, "q")


def test_sort_and_search(shown):
    shown.until("by total", lambda text: "*total %" in text, "s")
    totals = shown.until("most first", lambda text: float(rows(text)[0][1]) >= float(rows(text)[-1][1]) > 0)
    assert "Thread" in totals
    shown.until("least first", lambda text: float(rows(text)[0][1]) < float(rows(text)[-1][1]), "r")
    shown.until("by own", lambda text: "*own %" in text, "S")
    shown.until("names", lambda text: "/recurs_" in text, "/", *"recurs")
    shown.until("only it", lambda text: len(rows(text)) == 1 and "recursion (" in text, "Enter")
    shown.until("all", lambda text: len(rows(text)) > 5, "Escape")
    shown.until("nothing", lambda text: "nothing with this in it" in text, "/", *"recurx")
    shown.until("mended", lambda text: "/recur_" in text and len(rows(text)) == 1, "BSpace")
    shown.until("given up", lambda text: len(rows(text)) > 5, "Escape")


def test_into_a_thread_and_a_function(shown):
    shown.until("threads", lambda text: "chains" in text, "3")
    shown.until("one thread", lambda text: "(chains)" in text or "(others)" in text, "Enter")
    shown.until("its stack", lambda text: "at Thread._bootstrap (" in text)
    shown.until("back", lambda text: "waits for" in text, "BSpace")
    shown.until("process, its threads", lambda text: "hottest" in text, "4")
    shown.until("process, its threads", lambda text: "waits for" in text, "Enter")
    shown.until("work", lambda text: "/work" in text and "function" in text, "1", "/", *"work (", "Enter")
    text = shown.until("work", lambda text: "<- Thread.run" in text and "-> recursion" in text, "Enter")
    assert re.search(r"\d {6}work \(known_shares.py:\d+\)", text)
    shown.until("what it calls", lambda text: "<- work" in text and "-> spend" in text,
                *["Down"] * [row[4:6] for row in rows(text)].index(["->", "recursion"]), "Enter")
    shown.until("back to work", lambda text: "-> recursion" in text, "Escape")


def test_pause_and_move(shown):
    def seconds(text):
        return int(re.search(r"^(\d+) s at", text, re.M).group(1))
    shown.until("paused", lambda text: " paused" in text, " ")
    paused = seconds(shown.text())
    for key in ("Down", "Up", "j", "k", "NPage", "PPage", "End", "Home"):
        shown.type(key)
    shown.until("all keys", lambda text: " 1 Functions" in text and "Page Up" in text, "?")
    assert seconds(shown.text()) == paused
    shown.until("back", lambda text: "spend (" in text, "x")
    shown.until("it goes on", lambda text: " paused" not in text and seconds(text) > paused, " ")
    shown.until("said", lambda text: "unknown key" in text, "x")


def test_what_counts(shown):
    shown.until("blocked threads, too", lambda text: "+blocked" in text and "main (" in text, "i")
    shown.until("without", lambda text: "+blocked" not in text and "spend (" in text, "i")
    shown.until("GIL", lambda text: "GIL holder" in text and "spend (" in text, "g")
    shown.until("anew", lambda text: text.startswith("hangdbg top") and "\n0 s at" in text, "c")


def test_dump_and_attach(shown):
    shown.until("a dump", lambda text: 'Thread' in text and "Enter goes back" in text, "d")
    shown.until("top again", lambda text: text.startswith("hangdbg top") and "spend (" in text, "Enter")
    shown.until("a prompt", lambda text: "(hangdbg " in text, "3", "a")
    shown.until("an answer", lambda text: "Print the value of an expression" in text,
                *"help p", "Enter")
    shown.until("top again", lambda text: text.startswith("hangdbg top") and "chains" in text, "C-d")
    shown.until("it ends", is_over, "q")


# ---- the terminal


@pytest.mark.parametrize("size", [(24, 80), (60, 200)], ids=str)
def test_sizes(size, target):
    screen = Screen("top", target.pid, "--delay", "0.2", size=size)
    text = screen.until("drawn", lambda text: "spend (" in text)
    assert text.splitlines()[-1].startswith("q quit") and text.rstrip().endswith("? help")
    assert len(text.splitlines()) == size[0]
    screen.resize(30, 100)
    screen.until("resized", lambda text: len(text.splitlines()) == 30 and "spend (" in text and
                 text.splitlines()[-1].startswith("q quit"))
    screen.close()


def test_colours(target):
    for env, coloured in (((), True), ((("NO_COLOR", "1"),), False)):
        screen = Screen("top", target.pid, "--delay", "0.2", env=env)
        screen.until("drawn", lambda text: "spend (" in text and (
            not coloured or "\x1b[32m" in screen.text(colours=True)))
        assert ("\x1b[32m" in screen.text(colours=True)) == coloured
        screen.close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_it(how, shown):
    os.kill(top_of(shown), how)
    shown.until("the terminal is as it was", is_over)


def test_the_target_is_killed(shown, target):
    target.process.kill()
    text = shown.until("the terminal is as it was", is_over)
    # The line is as long as the target's command, and broken where the screen ends.
    assert "hasexited" in re.sub(r"\s", "", text)


def test_one_write_a_frame(target, tmp_path):
    """Between two waits main writes to the terminal once at most."""
    log = tmp_path / "calls"
    screen = Screen("top", target.pid, "--delay", "0.2", size=(60, 200),
                    behind=("strace", "-o", log, "-e", "trace=write,poll"))
    screen.until("drawn", lambda text: "spend (" in text)
    for key, shows in (("3", "waits for"), ("4", "hottest"), ("2", "  line"), ("1", "  function")):
        screen.until("a view", lambda text: shows in text, key)
    screen.until("it ends", is_over, "q")
    waits = re.split(r"^poll\(\[\{fd=0.*\n", log.read_text(), flags=re.M)
    writes = [wait.count("write(1, ") for wait in waits]
    assert len(writes) > 5 and sum(writes[1:-1]) > 3
    assert max(writes[1:-1]) == 1, log.read_text()


def top_of(screen):
    """The pid of hangdbg: a child of the shell in the terminal."""
    (pid,) = open("/proc/{0}/task/{0}/children".format(screen.shell_pid())).read().split()
    return int(pid)


def test_ranks(newest_python):
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29473",
           "TORCHELASTIC_RUN_ID": "seen", "LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "0"}
    ranks = [Working(newest_python, "-", group, env={**job, "RANK": str(rank), "LOCAL_RANK": str(rank)})
             for rank, group in enumerate(("chains", "others"))]
    done = hangdbg("top", "--job", "seen", "--once")
    assert done.rc == 0 and "rank 0" in done.out and "rank 1" in done.out, done
    for rank in ranks:
        rank.finish()
