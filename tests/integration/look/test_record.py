"""hangdbg record: where the time goes. Programs of known shares are the measure; each format is
opened by its own reader where Python has it."""

import json
import marshal
import os
import pstats
import re
import signal
import subprocess
import time
import xml.etree.ElementTree

import pytest

import hangs
import interpreters
from harness import Target, hangdbg, in_targets, outcome, start_hangdbg, track, until
from interpreters import FREE_THREADED, variant
from test_namespaces import needs_root
from versions import PLAIN
from working import Working

CHAINS = {"left": {"left_leaf", "left_middle", "spend_left"},
          "right": {"right_leaf", "right_middle", "spend_right"},
          "recursion": {"spend"}}
OTHERS = {"generator": {"generated"}, "c_callback": {"key"}, "coroutine": {"awaited", "waits"}}
LINE = re.compile(r"([\d.]+) s at ([\d.]+) Hz: ([\d,]+) samples due, ([\d,]+) kept \(([\d,]+) late\), "
                  r"([\d,]+) missed, 0 torn; hangdbg used [\d.]+ % of a CPU, and stopped threads for "
                  r"[\d.]+ % of the time")


def collapsed(text):
    """[(functions, outermost first, weight)]"""
    stacks = []
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        stacks.append(([frame.split(" (")[0] for frame in stack.split(";")], int(weight)))
    return stacks


def ways(stacks, group):
    """How much each way of a group has; no stack has two, nor what belongs to another."""
    found = dict.fromkeys(group, 0)
    for functions, weight in stacks:
        mine = [way for way in {**CHAINS, **OTHERS} if way in functions]
        assert len(mine) <= 1, functions
        for way, names in {**CHAINS, **OTHERS}.items():
            if way not in mine and way != "recursion":
                assert not names & set(functions), functions
        if mine and mine[0] in group:
            found[mine[0]] += weight
    return found


ENOUGH = 400  # samples, each by itself


def weighed(path, names):
    """The first line of a file of JSON lines, what each way has, and the sum of the squares of its runs:
    samples of one run may all be of one moment, when the thread waited for a CPU."""
    with open(path) as lines:
        head, found, squares = json.loads(next(lines)), dict.fromkeys(names, 0), 0
        for line in lines:
            run = json.loads(line)
            stack = [frame["function"] for frame in run["stack"]]
            for way, weight in ways([(stack, run["samples"])], names).items():
                found[way] += weight
                squares += weight ** 2
    return head, found, squares


@pytest.mark.parametrize("group, names", [("chains", CHAINS), ("others", OTHERS)])
def test_shares(group, names, edge_python, tmp_path):
    """Within five standard errors: with eight runs of three shares each, one in 70,000 is out."""
    target = Working(edge_python, "-", group)
    found, squares, alone = dict.fromkeys(names, 0), 0, 0
    while alone < ENOUGH:
        path = tmp_path / "stacks.jsonl"
        done = hangdbg("record", target.pid, "-d", "1", "-r", "1000", "--max-overhead", "100", "-o", path)
        assert done.rc == 0 and LINE.match(done.err), done
        head, more, more_squares = weighed(path, names)
        assert head["due"] == head["kept"] + head["missed"] and head["kept"] > 0
        found = {way: weight + found[way] for way, weight in more.items()}
        squares += more_squares
        alone = sum(found.values()) ** 2 / squares if squares else 0
    truth = target.finish()[group]
    for way, spent in truth.items():
        share = spent / sum(truth.values())
        error = (share * (1 - share) / alone) ** 0.5
        assert abs(found[way] / sum(found.values()) - share) < 5 * error + 1 / alone, (way, found, truth)


def test_what_is_blocked_is_idle(newest_python, tmp_path):
    target = Working(newest_python, "-", "chains")  # main waits in readline

    def functions(*flags):
        done = hangdbg("record", target.pid, "-d", "0.5", "-F", "-o", "-", "-f", "raw", *flags)
        assert done.rc == 0, done
        return collapsed(done.out)
    assert not any("main" in names for names, _ in functions())
    assert any(names[-1] == "main" for names, _ in functions("--idle"))
    assert not any("main" in names for names, _ in functions("--gil"))
    assert all(re.match(r"thread \d+$", names[0]) for names, _ in functions("-t", "-i"))
    target.finish()


def test_waits_have_their_reasons(edge_python, tmp_path):
    has_reasons(Working(edge_python, target="waits.py"), variant(edge_python) != FREE_THREADED, tmp_path)


def test_waits_on_musl(tmp_path):
    found = [one.path for one in interpreters.found() if one.variant == interpreters.MUSL]
    if not found:
        pytest.skip("no CPython on musl")
    has_reasons(Working(found[-1], target="waits.py"), True, tmp_path)


@needs_root
def test_waits_in_a_container(tmp_path):
    """Threads have other numbers in there."""
    unshare = ["unshare", "--pid", "--mount", "--mount-proc", "--fork"]
    has_reasons(Working("/usr/bin/python3", target="waits.py", inside=unshare), True, tmp_path)


def has_reasons(target, has_gil, tmp_path):
    owner = re.escape('held by thread ') + r'\d+ "hold"$'
    wanted = {"want": "waits for the Lock `MINE`, " + owner, "hold": r"waits in read, \d+ = pipe:\[\d+\], written",
              "main": r"waits in read, 0 = pipe"}
    if has_gil:
        wanted["spin"] = r'waits for the GIL, held by thread \d+ "spin"$'

    def reasons():
        path = tmp_path / "stacks.jsonl"
        done = hangdbg("record", target.pid, "-d", "1", "--wait", "-o", path)
        assert done.rc == 0, done
        _, *runs = map(json.loads, path.read_text().splitlines())
        found = {}
        for run in runs:
            functions = {frame["function"].split(".")[-1] for frame in run["stack"]}
            for name in functions & {"want", "hold", "spin", "main"}:
                found.setdefault(name, set()).add(run.get("wait", ""))
        asleep = found["want"] | found["hold"] | found["main"]
        return "" not in asleep and all(any(re.match(reason, one) for one in found.get(name, ()))
                   for name, reason in wanted.items())
    until("each wait has its reason", reasons)
    done = hangdbg("record", target.pid, "-d", "1", "--wait", "--json")
    assert {"reason", "samples"} == set(done.json()["waits"][0])
    assert "reason\n" in hangdbg("record", target.pid, "-d", "1", "--wait").out
    target.finish()


# ---- asyncio's tasks


def plain(run):
    """The functions, outermost first, as they are called up to 3.10."""
    return [frame["function"].split(".")[-1] for frame in run["stack"]]


def test_tasks_have_those_outside_that_wait_for_them(edge_python, tmp_path):
    """Each stack is a task's own, below those that wait for it, or its thread's as it is; and never a
    mixture."""
    has_tasks_with_those_outside(Working(edge_python, target="tasks.py"), tmp_path)


def has_tasks_with_those_outside(target, tmp_path):
    found = set()

    def seen():
        path = tmp_path / "stacks.jsonl"
        done = hangdbg("record", target.pid, "-d", "1", "--tasks", "--max-overhead", "100", "-o", path)
        assert done.rc == 0, done
        for run in map(json.loads, path.read_text().splitlines()[1:]):
            functions = without_wrapper(plain(run))
            tasks = [name for name in functions if name in ("left", "right", "short", "waits")]
            assert len(tasks) <= 1, functions
            if {"_run_once", "run_in_c", "run"} & set(functions):
                assert not {"main", "gathers", "starts"} & set(functions) or tasks == [], functions
            elif tasks:
                (task,) = tasks
                above = ["main", "gathers", "starts"] if task == "short" else ["main", "gathers"]
                assert functions[:len(above) + 1] == above + [task], functions
                found.add(task)
        return {"left", "right"} <= found
    until("it has seen both with those that wait for them", seen)
    spent = target.finish()
    assert spent["left"] > spent["right"] > 0


def test_tasks_that_wait(edge_python, tmp_path):
    has_tasks_that_wait(Working(edge_python, "waits", target="tasks.py"), tmp_path)


def has_tasks_that_wait(target, tmp_path):
    def record(*flags):
        path = tmp_path / "stacks.jsonl"
        done = hangdbg("record", target.pid, "-d", "1", "--tasks", "-o", path, *flags)
        assert done.rc == 0, done
        head, *runs = map(json.loads, path.read_text().splitlines())
        return head, [run for run in runs if "readline" not in plain(run) and "end" not in plain(run)]
    assert not any("waits" in plain(run) for run in record()[1])
    head, runs = record("--idle")
    tasks = [run for run in runs if "waits" in plain(run)]
    assert {tuple(without_wrapper(plain(run))) for run in tasks} == {("main", "gathers", "waits", "wait")}, runs
    assert len({run["thread"] for run in tasks}) == 2  # a row each
    done = hangdbg("record", target.pid, "-d", "1", "--tasks", "-i", "-t", "-o", "-", "-f", "raw")
    assert re.search(r";task[^;]*;([^;]*wrapper [^;]*;)?main \(", done.out), done
    target.finish()


def without_wrapper(functions):
    """uvloop.run() has a coroutine of its own around the program's."""
    return functions[functions[:1] == ["wrapper"]:]


def of_uvloop(how, *args):
    return [pytest.param(it.path, how, *args, id="%s-%s" % (it.minor, how))
            for it in interpreters.newest_of_each_minor(PLAIN) if it.minor != "3.7"]


@pytest.mark.parametrize("path, how", of_uvloop("uvloop") + of_uvloop("uvloop.run")[-1:])
def test_tasks_of_a_loop_in_c(path, how, tmp_path):
    """uvloop: no frame of Python's shows the loop; the interpreter says which one runs in a thread."""
    env = {"PYTHONPATH": hangs.folder_with("uvloop", path, "uvloop")}
    has_tasks_with_those_outside(Working(path, how, target="tasks.py", env=env), tmp_path)


@pytest.mark.parametrize("path, how", of_uvloop("uvloop") + of_uvloop("uvloop.run"))
def test_tasks_that_wait_of_a_loop_in_c(path, how, tmp_path):
    env = {"PYTHONPATH": hangs.folder_with("uvloop", path, "uvloop")}
    has_tasks_that_wait(Working(path, "waits", how, target="tasks.py", env=env), tmp_path)


def blocked_in_a_callback(target, tmp_path):
    """What a loop has called is shown, and not the tasks that wait for the loop."""
    def seen():
        path = tmp_path / "stacks.jsonl"
        done = hangdbg("record", target.pid, "-d", "0.5", "--tasks", "--idle", "-o", path)
        assert done.rc == 0, done
        stacks = [plain(run) for run in map(json.loads, path.read_text().splitlines()[1:])]
        return {"sleeps", "waits"} & set(sum(stacks, [])) == {"sleeps"}
    until("the callback is seen", seen)
    target.process.kill()


def test_a_callback_that_sleeps(edge_python, tmp_path):
    blocked_in_a_callback(Working(edge_python, "waits", "blocks", target="tasks.py"), tmp_path)


@pytest.mark.parametrize("path, how", of_uvloop("uvloop")[-1:])
def test_a_callback_that_sleeps_in_a_loop_in_c(path, how, tmp_path):
    env = {"PYTHONPATH": hangs.folder_with("uvloop", path, "uvloop")}
    blocked_in_a_callback(Working(path, "waits", "blocks", how, target="tasks.py", env=env), tmp_path)


# ---- C functions


def test_c_functions(edge_python, tmp_path):
    """Below its caller and above what it calls."""
    target = Working(edge_python, "-", "others")
    found = []

    def seen():
        path = tmp_path / "stacks.jsonl"
        done = hangdbg("record", target.pid, "-d", "1", "--native", "--max-overhead", "100", "-o", path)
        assert done.rc == 0, done
        head, *runs = map(json.loads, path.read_text().splitlines())
        for run in runs:
            functions = plain(run)
            if "c_callback" in functions and "key" in functions and "unknown" not in functions:
                between = functions[functions.index("c_callback") + 1:functions.index("key")]
                assert any("sort" in name for name in between), functions
                found.append(between)
            assert "key" not in functions or "c_callback" in functions, functions
        return found
    until("a C function calls Python", seen)
    target.finish()


def test_c_functions_of_a_thread_that_sleeps(newest_python, tmp_path):
    target = Target([newest_python, in_targets("lock_main.py")])
    target.wait_hung()
    done = hangdbg("record", target.pid, "-d", "1", "-n", "-i", "-o", "-", "-f", "raw")
    assert re.search(r";<built-in method acquire of [^;]*>", done.out), done
    target.finish()


def test_c_functions_and_the_reason(edge_python, tmp_path):
    """Of a thread that waits for a lock: the reason is below what it has called, for the whole sleep."""
    target = Working(edge_python, target="waits.py")

    def seen():
        path = tmp_path / "stacks.jsonl"
        done = hangdbg("record", target.pid, "-d", "1", "-n", "--wait", "-o", path)
        assert done.rc == 0, done
        wants = [run for run in map(json.loads, path.read_text().splitlines()[1:]) if "want" in plain(run)]
        reasons = {run.get("wait", "").partition(",")[0] for run in wants}
        return (reasons == {"waits for the Lock `MINE`"}
                and all(not run["stack"][-1]["file"].endswith(".py") for run in wants))
    until("its stack has C functions, and the reason", seen)
    target.finish()


def test_c_functions_of_tasks(edge_python, tmp_path):
    """Those that the task has called; what runs the task is left out."""
    target = Working(edge_python, target="tasks.py")

    def seen():
        path = tmp_path / "stacks.jsonl"
        done = hangdbg("record", target.pid, "-d", "1", "-n", "--tasks", "--max-overhead", "100", "-o", path)
        assert done.rc == 0, done
        natives = False
        for run in map(json.loads, path.read_text().splitlines()[1:]):
            functions = plain(run)
            if functions[:2] == ["main", "gathers"]:
                assert functions[2] in ("left", "right", "starts", "waits"), functions
                assert "_run_once" not in functions, functions
                natives |= functions[2] == "left" and not run["stack"][-1]["file"].endswith(".py")
        return natives
    until("a task has called a C function", seen)
    target.finish()


def test_c_functions_beside_tasks_that_wait(newest_python, tmp_path):
    target = Working(newest_python, "waits", target="tasks.py")

    def seen():
        path = tmp_path / "stacks.jsonl"
        done = hangdbg("record", target.pid, "-d", "1", "-n", "--tasks", "--idle", "--wait", "-o", path)
        assert done.rc == 0, done
        runs = list(map(json.loads, path.read_text().splitlines()[1:]))
        tasks = {tuple(plain(run)) for run in runs if "waits" in plain(run)}
        ends = [run for run in runs if "end" in plain(run)]  # the thread that reads a line
        return (tasks == {("main", "gathers", "waits", "wait")}
                and any("pipe:[" in run.get("wait", "") and run["stack"][-1]["function"] != "end" for run in ends))
    until("both are seen", seen)
    target.finish()


def test_threads_and_children_come_and_go(newest_python, tmp_path):
    target = Working(newest_python, target="children.py")
    found = set()

    def seen():
        path = tmp_path / "stacks.txt"
        done = hangdbg("record", target.pid, "-d", "1", "-s", "-o", path)
        assert done.rc == 0, done
        found.update(re.findall(r"^process \d+|in_child|in_thread", path.read_text(), re.M))
        return {"in_child", "in_thread"} <= found and len(found) >= 5
    until("it has seen the program and two children", seen)
    target.finish()


def test_killed_while_it_records(newest_python):
    target = Working(newest_python, "-", "chains,others")
    for _ in range(10):
        recorder = start_recording(target.pid, "-r", "5000", "--max-overhead", "100")
        recorder.kill()
        recorder.wait()
    assert tracers(target.pid) == {0}
    truth = target.finish()
    assert sum(truth["chains"].values()) > 0


def test_what_is_known_of_missed_samples_is_in_the_profile(newest_python, tmp_path):
    """A thread that has slept all the while did at each moment what it does now."""
    target = Target([newest_python, in_targets("lock_main.py")])
    target.wait_hung()
    path = tmp_path / "stacks.jsonl"
    recorder = start_recording(target.pid, "--idle", "-d", "2", "-o", path)
    recorder.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    until("twenty samples have become due", lambda: time.monotonic() > stopped + 0.2)
    recorder.send_signal(signal.SIGCONT)
    assert outcome(recorder).rc == 0
    head, *runs = map(json.loads, path.read_text().splitlines())
    target.finish()
    assert head["late"] >= 10, head
    assert sum(run["samples"] for run in runs) == head["kept"], head


LAST_STOP = 0.1  # seconds: a thread that does not stop in this time is given up


def start_recording(*args):
    """Returns once it has a stack."""
    recorder = start_hangdbg("record", *args, "--log", "inspector")
    line = recorder.stderr.readline()
    while "the first stack is recorded" not in line:
        assert line, "it has ended"
        line = recorder.stderr.readline()
    return recorder


def await_samples_of_work(target):
    """A thread that computes gives up its CPU of itself only where it is stopped; main sleeps,
    and its stack may be the first that is recorded."""
    def stops():
        switches = [int(re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", open(
            "/proc/%d/task/%s/status" % (target.pid, tid)).read())[1])
            for tid in os.listdir("/proc/%d/task" % target.pid) if int(tid) != target.pid]
        return sum(switches)
    before = stops()
    until("its thread is stopped", lambda: stops() >= before + 3)


def tracers(pid):
    return {int(re.search(r"TracerPid:\s*(\d+)", open("/proc/%d/task/%s/status" % (pid, tid)).read())
                .group(1)) for tid in os.listdir("/proc/%d/task" % pid)}


# ---- commands, and the end


def test_a_command(newest_python):
    code = "import time; end = time.monotonic() + 1\nwhile time.monotonic() < end: pass\nexit(7)"
    done = hangdbg("record", "--max-overhead", "100", "--", newest_python, "-c", code)
    assert done.rc == 7, done
    assert LINE.match(done.out) and "<module> (<string>" in done.out, done


def test_a_command_that_is_none():
    hangdbg("record", "--", "/no/such").assert_refused(2, "/no/such")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(how, newest_python, tmp_path):
    target = Working(newest_python, "-", "chains")
    recorder = start_recording(target.pid, "-o", tmp_path / "stacks.txt")
    await_samples_of_work(target)
    recorder.send_signal(how)
    done = outcome(recorder)
    assert done.rc == 0 and LINE.search(done.err), done
    assert "spend" in (tmp_path / "stacks.txt").read_text()
    target.finish()


def test_it_ends_with_the_process(newest_python):
    target = Working(newest_python, "-", "chains")
    recorder = start_recording(target.pid, "--until-exit", "--json")
    await_samples_of_work(target)
    target.process.kill()
    done = outcome(recorder)
    assert done.rc == 0, done
    assert done.json()["functions"][0]["function"].startswith("spend"), done


def test_a_high_cost_lowers_the_rate(newest_python):
    """All together the stops take no more than they may, and the last one."""
    target = Working(newest_python, "-", "chains,others")
    done = hangdbg("record", target.pid, "-r", "5000", "-d", "2", "--max-overhead", "0.5", "--json")
    target.finish()
    found = done.json()
    assert found["lowest_rate"] < 5000 or found["put_off"] > 0, done
    assert found["stopped_share"] < 0.005 + LAST_STOP / found["lasted_s"], done


DEEP = """
import sys, time
def deep(left):
    return deep(left - 1) if left else work()
def work():
    end = time.thread_time() + 0.1
    while time.thread_time() < end: pass
def shallow():
    work()
sys.setrecursionlimit(5000)
for _ in range(10):
    deep(700)
    shallow()
"""


def slices_by_perfetto(events):
    """[(stack of names, ns)] of each slice itself, as Perfetto's importer makes them: events in the order of
    their whole nanoseconds, those of one moment as they are in the file; no more than 512 are open in a
    thread; an end is that of the innermost open one with its name."""
    rows, found = {}, []
    for event in sorted(events, key=lambda event: round(event["ts"] * 1000)):
        ns = round(event["ts"] * 1000)
        assert ns >= 0 and 0 <= event["pid"] < 2 ** 32 and 0 <= event["tid"] < 2 ** 32, event
        row = rows.setdefault((event["pid"], event["tid"]), [])
        if row:
            found.append((tuple(name for name, _ in row), ns - row[-1][1]))
            row[-1][1] = ns
        if event["ph"] == "B":
            assert len(row) < 512, "it would be dropped"
            row.append([event["name"], ns])
        else:
            assert row and row[-1][0] == event["name"], (event, row)
            row.pop()
            if row:
                row[-1][1] = ns
    assert not any(rows.values()), "never ended"
    return [(stack, ns) for stack, ns in found if ns > 1]  # between two calls there is one of their caller's


def test_a_chrome_trace_by_the_rules_of_perfetto(newest_python, tmp_path):
    path, other = tmp_path / "a.json", tmp_path / "a.jsonl"
    for way in (path, other):
        done = hangdbg("record", "-r", "200", "--max-overhead", "100", "-F", "-o", way, "--", newest_python, "-c", DEEP)
        assert done.rc == 0, done
    text = path.read_text()
    # In this order: what comes after a key that it does not know is not read.
    assert re.match(r'\{"displayTimeUnit":"ms","otherData":\{[^{}]*\},"traceEvents":\[', text), text[:200]
    events = json.loads(text)["traceEvents"]
    names = [event for event in events if event["ph"] == "M"]
    assert {event["name"] for event in names} == {"process_name", "thread_name"}
    assert all(event["args"]["name"] for event in names)
    slices = slices_by_perfetto([event for event in events if event["ph"] in "BE"])
    assert max(len(stack) for stack, _ in slices) == 512
    deep = sum(ns for stack, ns in slices if any("deep (" in name for name in stack))
    shallow = sum(ns for stack, ns in slices if any("shallow (" in name for name in stack))
    _, *runs = map(json.loads, other.read_text().splitlines())
    share = sum(run["samples"] for run in runs if "deep" in plain(run)) / sum(
        run["samples"] for run in runs if {"deep", "shallow"} & set(plain(run)))
    assert deep / (deep + shallow) == pytest.approx(share, abs=0.15), (deep, shallow, share)


def ranks_env(job):
    return {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29471",
            "TORCHELASTIC_RUN_ID": job, "LOCAL_WORLD_SIZE": "2"}


TURNS = """
import sys, time
def first(end):
    while time.thread_time() < end: pass
def other(end):
    while time.thread_time() < end: pass
for _ in range(int(sys.argv[3])):
    first(time.thread_time() + float(sys.argv[1]))
    other(time.thread_time() + float(sys.argv[2]))
"""


def test_ranks(newest_python, tmp_path):
    job = ranks_env("recorded")
    ranks = [Working(newest_python, "-", group, env={**job, "RANK": str(rank), "LOCAL_RANK": str(rank)})
             for rank, group in enumerate(("chains", "others"))]
    path = tmp_path / "stacks.txt"
    done = hangdbg("record", "--job", "recorded", "--by-rank", "-d", "1", "-F", "-o", path)
    assert done.rc == 0, done
    found = {(names[0], way) for names, _ in collapsed(path.read_text())
             for way in ("recursion", "coroutine") if way in names}
    assert found == {("rank 0", "recursion"), ("rank 1", "coroutine")}
    page = tmp_path / "stacks.html"
    done = hangdbg("record", "--job", "recorded", "-d", "1", "-F", "-o", page)
    assert done.rc == 0, done
    text = page.read_text()
    assert re.search(r">recursion \([^<]*\) \[0\]</div>", text), text
    assert re.search(r">coroutine \([^<]*\) \[1\]</div>", text) and ">all</div>" in text, text
    for rank in ranks:
        rank.finish()


def test_ranks_over_time(newest_python):
    """The main thread of rank 0 waits for a line, that of rank 1 works."""
    job = ranks_env("recorded-over")
    waits = Working(newest_python, "-", "chains", env={**job, "RANK": "0", "LOCAL_RANK": "0"})
    works = track(subprocess.Popen([newest_python, "-c", TURNS, "0.005", "0.005", "1000000"],
                                   env={**os.environ, **job, "RANK": "1", "LOCAL_RANK": "1"}))
    # Of a busy machine's few samples each is wanted: one alone shows nothing that moves.
    over = ("record", "--job", "recorded-over", "--over", "3", "--max-overhead", "100")
    done = hangdbg(*over)
    assert done.rc == 0 and re.search(r"^rank 0 did not run: main \(", done.out, re.M), done
    assert re.search(r"^rank 1 moved$", done.out, re.M), done
    assert re.search(r"^ +100 %  0 +<module> \(", done.out, re.M), done
    assert re.search(r"^ +\d+ %  1 +first \(<string>", done.out, re.M), done
    found = hangdbg(*over, "--json").json()
    assert [(rank["rank"], rank["motion"]) for rank in found["ranks"]] == [(0, "did not run"), (1, "moved")], found
    assert found["ranks"][0]["place"]["function"] == "main", found
    assert {share["rank"] for node in found["tree"] for share in node["ranks"]} == {0, 1}
    assert found["recording"]["torn"] == 0
    works.kill()
    waits.finish()


def test_what_became_slower(newest_python, tmp_path):
    for name, times in (("before", ("0.002", "0.008")), ("after", ("0.008", "0.002"))):
        # A busy machine makes stops dear, and the samples that it leaves at the default's 1 % prove nothing.
        hangdbg("record", "-r", "200", "--max-overhead", "100", "-o", tmp_path / (name + ".jsonl"), "--",
                newest_python, "-c", TURNS, *times, "200")
    both = [tmp_path / "before.jsonl", tmp_path / "after.jsonl"]
    done = hangdbg("record", "--diff", *both)
    assert done.rc == 0, done
    assert re.search(r"^ +\+\d.* first \(", done.out, re.M), done
    assert re.search(r"^ +-\d.* other \(", done.out, re.M), done
    found = hangdbg("record", "--diff", *both, "--json").json()
    certain = {one["function"]: one["own_after"] - one["own_before"] for one in found["functions"] if one["certain"]}
    assert certain["first"] > 0 > certain["other"], found
    assert found["before"]["weight"] > 0 and found["after"]["lasted_s"] > 0, found
    same = hangdbg("record", "--diff", both[0], both[0])
    assert re.search(r"^(\d+) of \1 functions differ by no more", same.out, re.M), same
    page = tmp_path / "diff.html"
    assert hangdbg("record", "--diff", *both, "-o", page).rc == 0
    assert "other (" in page.read_text() and "before" in page.read_text()


def test_diff_usage(tmp_path):
    good, bad = tmp_path / "a.txt", tmp_path / "b.txt"
    good.write_text("f (a:1) 3\n")
    bad.write_text('{"profiles": []}\n')
    hangdbg("record", "--diff", good, bad).assert_refused(2, "b.txt")
    hangdbg("record", "--diff", good, tmp_path / "none").assert_refused(2, "none")
    hangdbg("record", "--diff", good).assert_refused(2, "--diff")
    hangdbg("record", "--diff", "-", "-").assert_refused(2, "standard input")
    hangdbg("record", os.getpid(), "--diff", good, good).assert_refused(2, "PID")
    hangdbg("record", "--diff", good, good, "-o", "x.pb").assert_refused(2, "flamegraph")
    hangdbg("record", "--diff", good, good, "-o", "/no/such/x.html").assert_refused(2, "/no/such")


def test_usage(newest_python):
    hangdbg("record", "--by-rank", os.getpid()).assert_refused(2, "--job")
    hangdbg("record", "--over", "1", os.getpid()).assert_refused(2, "--job")
    hangdbg("record", "-f", "pstats", os.getpid()).assert_refused(2, "--output")
    hangdbg("record", "-o", "-", "--json", os.getpid()).assert_refused_as_json(2, "--output")
    hangdbg("record", os.getpid(), "--", "true").assert_refused(2, "COMMAND")


# ---- formats


@pytest.fixture
def recorded(newest_python, tmp_path):
    """Writes a short recording in a format, and returns its path."""
    def record(name, form):
        path = tmp_path / name
        done = hangdbg("record", "-r", "200", "--max-overhead", "100", "-o", path, "-f", form, "--", newest_python,
                       in_targets("known_shares.py"), "0.7", "chains,others")
        assert done.rc == 0 and LINE.search(done.err), done
        return path
    return record


def test_pstats(recorded):
    stats = pstats.Stats(str(recorded("a.pstats", "pstats"))).stats
    names = {name: value for (_, _, name), value in stats.items()}
    total, own, callers = names["spend"][3], names["spend"][2], names["spend"][4]
    assert 0 < own <= total < 3
    assert "recursion" in {name for _, _, name in callers}
    assert marshal.dumps(stats)


def test_speedscope(recorded):
    found = json.loads(recorded("a.json", "speedscope").read_text())
    (profile,) = found["profiles"]
    frames = found["shared"]["frames"]
    assert profile["type"] == "sampled" and profile["unit"] == "seconds"
    assert len(profile["samples"]) == len(profile["weights"])
    assert sum(profile["weights"]) == pytest.approx(profile["endValue"])
    assert any(frames[one[-1]]["name"] == "spend" for one in profile["samples"])
    assert all(set(frame) <= {"name", "file", "line"} for frame in frames)


def test_chrome(recorded):
    events = json.loads(recorded("a.json", "chrome").read_text())["traceEvents"]
    open_calls = {}
    for event in events:
        calls = open_calls.setdefault(event["tid"], [])
        if event["ph"] == "B":
            calls.append((event["name"], event["ts"]))
        elif event["ph"] == "E":
            name, began = calls.pop()
            assert name == event["name"] and began <= event["ts"]
    assert not any(open_calls.values())
    assert any(event["name"].startswith("spend ") for event in events)


def test_json_lines(recorded):
    head, *runs = map(json.loads, recorded("a.jsonl", "jsonl").read_text().splitlines())
    assert head["due"] == head["kept"] + head["missed"] and head["torn"] == 0
    assert any(run["stack"][-1]["function"] == "spend" for run in runs)


def test_gecko(recorded):
    found = json.loads(recorded("a.json", "gecko").read_text())
    for thread in found["threads"]:
        stacks, frames = thread["stackTable"]["data"], thread["frameTable"]["data"]
        for stack, _, _ in thread["samples"]["data"]:
            while stack is not None:
                stack, frame = stacks[stack]
                assert frames[frame][0] < len(thread["stringTable"])
    assert {thread["name"] for thread in found["threads"]}


def fields(message):
    """[(number, value)] of a message of protocol buffers."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        else:
            assert key & 7 == 2
            size = varint()
            found.append((key >> 3, message[at:at + size]))
            at += size
    return found


def test_pprof(recorded):
    profile = fields(recorded("a.pb", "pprof").read_bytes())
    strings = [value.decode() for number, value in profile if number == 6]
    assert strings[0] == "" and "spend" in strings
    locations = {dict(fields(value))[1] for number, value in profile if number == 4}
    functions = {dict(fields(value))[1] for number, value in profile if number == 5}
    assert locations == functions
    samples = [dict(fields(value)) for number, value in profile if number == 2]
    assert samples and all(sample[1] and sample[2] for sample in samples)


def test_flame_graph(recorded):
    text = recorded("a.html", "flamegraph").read_text()
    assert LINE.search(text) and "http" not in text.replace("http-equiv", "")
    body = text[text.index("<body>"):text.index("<script>")].replace("&nbsp;", " ")
    page = xml.etree.ElementTree.fromstring(body + "</body>")
    boxes = page.findall(".//div[@id='flame']/div")
    assert any(box.text.startswith("spend ") and "%" in box.get("title") for box in boxes)
    assert "spend" in "".join(page.find(".//table").itertext())
