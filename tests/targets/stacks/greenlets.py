"""Greenlets that left off in all ways, while one of them hangs; in the main
thread and in another. Says of each what it knows of itself."""

import os
import sys
import threading

from greenlet import getcurrent, greenlet

from common import finish, native_id, on_sigusr1, ready


class Worker(greenlet):
    def run(self):
        branch()


def leaf():
    getcurrent().parent.switch()


def branch():
    leaf()


def key(number):
    getcurrent().parent.switch()
    return number


def sorts():
    """With a function in C between."""
    sorted([2, 1], key=key)


def generates():
    yield leaf()


def iterates():
    for _ in generates():
        pass


def deep(levels):
    if levels:
        return deep(levels - 1)
    leaf()


def starts_another():
    start(branch)
    leaf()


def at_last():
    pass


def start(run, *arguments):
    made = greenlet(run)
    kept.append(made)
    made.switch(*arguments)


def start_all():
    for run in (branch, sorts, iterates, starts_another, at_last):
        start(run)
    start(deep, 400)
    kept.append(Worker())
    kept[-1].switch()
    kept.append(greenlet(at_last))


def waits():
    kept.append(getcurrent())  # main, of this thread
    running.append("%#x" % id(kept[-1]))
    thread.append(native_id())
    start(branch)
    here.set()
    gate.wait()


def told(one):
    frames = []
    frame = one.gr_frame
    while frame:
        code = frame.f_code
        frames.append([code.co_name, frame.f_lineno])
        frame = frame.f_back
    return {
        "type": type(one).__name__,
        "parent": "%#x" % id(one.parent) if one.parent else None,
        "dead": one.dead,
        "begun": bool(one) or one.dead,
        "main": one.parent is None,
        "frames": frames,
    }


def hangs(reader):
    answer = 41
    kept.append(getcurrent())
    running.append("%#x" % id(kept[-1]))
    said = {"%#x" % id(one): told(one) for one in kept}
    ready("hangs", ["read"], greenlets=said, running=running,
          thread=thread[0])
    os.read(reader, 1)
    return answer


kept = [getcurrent()]
running = []
thread = []
here = threading.Event()
gate = threading.Event()
other = threading.Thread(target=waits)
other.start()
here.wait()
start_all()
reader, writer = os.pipe()
on_sigusr1(lambda: os.write(writer, b"."))
answer = greenlet(hangs).switch(reader)
gate.set()
other.join()
# From 3.15 on the end of the program says of a generator in a suspended greenlet that it runs.
sys.unraisablehook = lambda unraisable: None
finish(answer=answer)
