"""A C function of the LIBRARY that tests compile of hang.c computes and keeps the
GIL: no Python code can run in here. A worker waits for a lock meanwhile."""

import ctypes
import json
import signal
import sys
import threading

from common import finish, native_id, ready_line


def wait_in_worker(lock, begun):
    begun.append(native_id())
    with lock:
        return 41


def hold_gil(function):
    answer = 41
    seen = {0, 2, 4}
    while not begun:
        pass
    # Said in there: a thread that only runs may be anywhere on its way.
    line = json.dumps(ready_line("hold_gil", [], worker=begun[0])).encode() + b"\n"
    library.say_first(line)
    function(0)
    return answer, sorted(seen)


library = ctypes.PyDLL(sys.argv[1])
library.stop_on(signal.SIGUSR1)
begun = []
lock = threading.Lock()
lock.acquire()
worker = threading.Thread(target=wait_in_worker, args=(lock, begun))
worker.start()
answer, seen = hold_gil(library.spin)
lock.release()
worker.join()
finish(answer=answer, seen=seen)
