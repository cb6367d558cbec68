"""A thread that has entered a subinterpreter waits there: read(2) from a pipe.

    subinterpreter.py isolated|legacy     with its own GIL (3.12 on), or without
"""

import json
import os
import sys
import threading

from common import finish, native_id, on_sigusr1, ready

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

SCRIPT = """
import os

def wait_inside():
    answer = 41
    seen = {0, 2, 4}
    os.read(%d, 1)
    return answer, sorted(seen)

os.write(%d, ('{"answer": %%d, "seen": %%s}' %% wait_inside()).encode())
"""


def create():
    if sys.version_info >= (3, 13):
        return interpreters.create(sys.argv[1])
    if sys.version_info >= (3, 12):
        return interpreters.create(isolated=sys.argv[1] == "isolated")
    return interpreters.create()


def run_inside():
    inside = create()  # up to 3.12 its thread state has this thread's name
    tid.append(native_id())
    started.release()
    interpreters.run_string(inside, SCRIPT % (reader, result_writer))
    interpreters.destroy(inside)


tid = []
started = threading.Semaphore(0)
reader, writer = os.pipe()
result_reader, result_writer = os.pipe()
on_sigusr1(lambda: os.write(writer, b"\n"))
worker = threading.Thread(target=run_inside, name="enters")
worker.start()
started.acquire()
ready("wait_inside", ["read"], tid=tid[0])
worker.join()
result = json.loads(os.read(result_reader, 1000).decode())
finish(**result)
