"""Functions that torch.compile has compiled, and plain ones, and does what it is
told, line by line, on its standard input. Lines that get breakpoints end in a
comment: their name."""

import ctypes
import json
import sys
import threading
import time

from common import finish, ready

import torch
import torch._dynamo
from torch._dynamo.utils import counters


def plain(number):
    doubled = number * 2
    return doubled  # plain


@torch.compile(backend="eager")  # begins
def compiled(tensor):
    grown = tensor + 1
    return grown * 2  # compiled


def work(number):
    """Twice what is twice one more than it."""
    return plain(int(compiled(torch.full((2,), number))[0]))


@torch.compile(backend="eager")
def broken(tensor):
    """Waits in the middle: there Dynamo's hook is in, for all threads."""
    grown = tensor + 1
    gate.acquire()  # waits
    number = after(grown * 2)  # calls
    return number + 1


def after(tensor):
    torch._dynamo.graph_break()  # after
    return tensor + 1


def enters(number):
    """The number of a thread that stays in a compiled function, until leaves()."""
    threads.append(threading.Thread(target=thread, args=(number,)))
    threads[-1].start()
    while not waits() or evaluator() != "another":
        time.sleep(0.001)
    return threads[-1].native_id


def waits():
    """Whether the thread is past what it computes, for which the hook is out."""
    frame = sys._current_frames().get(threads[-1].ident)
    return frame is not None and (frame.f_code.co_name, frame.f_lineno) == (
        "broken", broken.__wrapped__.__code__.co_firstlineno + 4)


def thread(number):
    left.append(int(broken(torch.full((2,), number))[0]))


def leaves():
    gate.release()
    threads.pop().join()
    return left.pop()


def evaluator():
    return "own" if frame_evaluator(interpreter) == default else "another"


def compilations():
    return [dict(counters["frames"]), dict(counters["stats"])]


def listen():
    for line in sys.stdin:
        if not line.strip():
            return
        sys.stdout.write(json.dumps(eval(line)) + "\n")
        sys.stdout.flush()


threads, left = [], []
gate = threading.Lock()
gate.acquire()
python = ctypes.pythonapi
python.PyInterpreterState_Get.restype = ctypes.c_void_p
frame_evaluator = python._PyInterpreterState_GetEvalFrameFunc
frame_evaluator.restype = ctypes.c_void_p
frame_evaluator.argtypes = [ctypes.c_void_p]
interpreter = python.PyInterpreterState_Get()
default = ctypes.cast(python._PyEval_EvalFrameDefault, ctypes.c_void_p).value
for number in range(3):
    work(number)
    enters(number)
    leaves()
ready("listen", ["read"], go_on="stdin")
listen()
finish()
