"""hangdbg dump --tasks: asyncio's tasks as the program itself knows them, where
they stand and who waits for whom."""

import re
import resource
import signal
import subprocess

import processes
from harness import die_with_us, hangdbg, in_targets, start, until
from test_core import crash

# By name: the functions, innermost first, and the tasks that it waits for. Up to
# 3.10 functions have plain names.
EXPECTED = {
    "main": (["main"], []),
    "deep": (["leaf", "branch"], []),
    "own awaitable": (["Own.__await__", "awaits_own"], []),
    "generator": (["leaf", "numbers", "iterates"], []),
    "queue": (["Queue.get", "takes"], []),
    "lock": (["Lock.acquire", "_ContextManagerMixin.__aenter__", "locks"], []),
    "join": (["joins"], ["deep"]),
    "own class": (["leaf"], []),
    "python": (["leaf"], []),
    "gather": (["gathers"], ["join", "own class", "python"]),
    "wait": (["_wait", "wait", "waits"], ["deep", "own class"]),
    "circle 1": (["_wait", "wait", "waits"], ["circle 2"]),
    "circle 2": (["joins"], ["circle 1"]),
    "group": (["TaskGroup.__aexit__", "groups"], ["in group"]),
    "in group": (["leaf"], []),
    "": (["leaf"], []),
}

STATES = """
import asyncio, os
async def blocks():
    os.write(1, b"ready\\n")
    os.read(0, 1)
async def steps():
    await asyncio.sleep(0)
async def main():
    tasks = [loop.create_task(made) for made in (steps(), blocks(), steps())]
    await tasks[1]
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
"""


def tasks_of(command, subject):
    done = hangdbg(command, subject, "--json", "--tasks")
    assert done.rc == 0 and done.err == "", done
    (process,) = done.json()["processes"]
    assert process["tasks_complete"], process
    return process["tasks"]


def test_are_as_the_program_has_them(readable_python):
    target = start("asyncio_tasks", readable_python)
    said = target.ready["tasks"]
    tasks = tasks_of("dump", target.pid)
    assert sorted(task["id"] for task in tasks) == sorted(said)
    for task in tasks:
        name, function, line = said[task["id"]]
        if target.ready["names"]:
            assert re.fullmatch(name or r"Task-\d+", task["name"]), task
        outermost = task["frames"][-1]
        assert (outermost["function"], outermost["line"]) == (function, line)
        functions, waits_for = EXPECTED[name]
        assert [f["function"] for f in task["frames"] if f["function"] != "_aexit"] == [
            function.split(".")[-1] for function in functions], task
        assert sorted(said[other][0] for other in task["waits_for"]) == waits_for, task
        assert task["state"] == "waits" and task["complete"], task
        assert task["future"] == {
            "gather": "_GatheringFuture", "join": "Task", "circle 2": "Task",
        }.get(name, "Future"), task
    target.finish()


def test_states(readable_python):
    process = subprocess.Popen([readable_python, "-c", STATES], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, preexec_fn=die_with_us)
    assert process.stdout.readline() == b"ready\n"
    until("it blocks", lambda: processes.thread_activity(
        process.pid, process.pid).syscall == "read")
    # 3.6 has no __sleep0.
    seen = sorted((task["state"], [f["function"] for f in task["frames"]
                                   if f["function"] != "__sleep0"])
                  for task in tasks_of("dump", process.pid))
    assert seen == [
        ("not begun", ["steps"]),
        ("ready", ["sleep", "steps"]),
        ("runs", []),
        ("waits", ["main"]),
    ]
    process.kill()
    process.wait()


def test_are_shown_to_people(newest_python):
    target = start("asyncio_tasks", newest_python)
    lines = hangdbg("dump", target.pid, "--tasks", "--full-filenames").out.splitlines()
    (line,) = [line for name, _, line in target.ready["tasks"].values() if name == "in group"]
    place = in_targets("asyncio_tasks.py")
    at = lines.index('Task "group" · awaits Task "in group"')
    below = lines[at + 1:]
    assert below[0].startswith("    TaskGroup._aexit ("), below
    child = below.index('  Task "in group" · awaits a Future')
    assert below[child + 1] == "      leaf (%s:%d)" % (place, line), below
    assert 'Task "gather" · awaits 3 tasks' in lines
    assert '    Task "circle 1" · see above' in lines  # below circle 2, below circle 1
    assert 'Task "' not in hangdbg("dump", target.pid).out
    target.finish()


def unlimited_core():
    die_with_us()
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)


def test_of_a_core_file(newest_python, tmp_path):
    process = subprocess.Popen([newest_python, "-c", STATES], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, cwd=tmp_path,
                               preexec_fn=unlimited_core)
    assert process.stdout.readline() == b"ready\n"
    live = tasks_of("dump", process.pid)
    assert tasks_of("core", crash(process, signal.SIGABRT, tmp_path)) == live


def test_there_may_be_none(edge_python):
    target = start("file_baton", edge_python)
    assert tasks_of("dump", target.pid) == []
    target.finish()
