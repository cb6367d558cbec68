"""Programs made by chance (program_links.py), each in a thread of its own, which
writes its own stack down just before it blocks: of each frame the name, the file, the
line, the columns, and the repr of the locals that are plain values."""

import functools  # noqa: F401: what the programs import is there already
import json
import os
import random
import sys
import threading
import typing  # noqa: F401

import program_links
from common import finish, on_sigusr1, ready

PLAIN = (type(None), bool, int, float, complex, str, bytes, tuple, list, dict)
COUNT, FOLDER = int(sys.argv[1]), sys.argv[2]
SEED = sys.argv[3]
gate = threading.Lock()
gate.acquire()
all_written = threading.Semaphore(0)
stacks = {}


def is_plain(value):
    kind = type(value)
    if kind in (tuple, list):
        return all(map(is_plain, value))
    if kind is dict:
        return all(map(is_plain, value.values()))
    return kind in PLAIN


def columns(code, offset):
    """Of an instruction: its last line, its columns; or nothing."""
    if not hasattr(code, "co_positions"):
        return None
    place = list(code.co_positions())[offset // 2]
    return [place[0], place[1], place[2], place[3]]


def written(frame):
    own = []
    while frame is not None and frame.f_code is not run.__code__:
        code = frame.f_code
        own.append({
            "function": code.co_name, "qualname": getattr(code, "co_qualname", None),
            "file": code.co_filename, "line": frame.f_lineno,
            "place": columns(code, frame.f_lasti),
            "is_function": bool(code.co_flags & 1),
            "locals": {name: repr(value) for name, value in dict(frame.f_locals).items()
                       if name.isidentifier() and is_plain(value)}})
        frame = frame.f_back
    return own


def stop():
    stacks[threading.current_thread().name] = written(sys._getframe(1))
    all_written.release()
    gate.acquire()
    gate.release()


def run(text, path):
    space = {"__name__": "generated", "stop": stop, "calls": calls}
    exec(compile(text, path, "exec"), space)
    space["f0"]()


calls = {}
chance = random.Random(SEED)
threads = []
has_no_gil = not getattr(sys, "_is_gil_enabled", lambda: True)()
is_loading = False
for number in range(COUNT):
    text = program_links.source(chance, chance.randrange(1, 9))
    # One thread at a time loads what was imported lazily, and ours never ends that.
    while has_no_gil and "lazy import" in text and is_loading:
        text = program_links.source(chance, chance.randrange(1, 9))
    is_loading = is_loading or "lazy import" in text
    path = os.path.join(FOLDER, "program_%d.py" % number)
    for at in range(9):  # a module is imported but once
        name = "f%d_module" % at
        own = "p%d_%s" % (number, name)
        if name in text:
            text = text.replace(name, own)
            with open(os.path.join(FOLDER, own + ".py"), "w") as file:
                file.write("import generated_calls\nvalue = 7\ngenerated_calls.calls[%r]()\n" % own)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    threads.append(threading.Thread(target=run, args=(text, path), name="program-%d" % number))
sys.modules["generated_calls"] = sys.modules["__main__"]
sys.path.insert(0, FOLDER)
for thread in threads:
    thread.start()
for thread in threads:
    all_written.acquire()
with open(os.path.join(FOLDER, "stacks.json"), "w") as file:
    json.dump(stacks, file)
done = threading.Lock()
done.acquire()
on_sigusr1(done.release)


def waits():
    ready("waits", ["futex"])
    done.acquire()


waits()
gate.release()
for thread in threads:
    thread.join()
finish(programs=COUNT)
