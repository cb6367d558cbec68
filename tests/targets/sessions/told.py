"""Does what it is told, line by line, on its standard input; threads of it wait
meanwhile. Lines that get breakpoints end in a comment: their name."""

import gc
import json
import os
import sys
import threading

from common import finish, native_id, ready


def work(number):
    doubled = number * 2
    return doubled  # call


def rounds():
    """A thread that runs already, and waits in its loop."""
    while wake.acquire() and not ended:
        count[0] += 1  # loop
        done.release()


def generate():
    number = 0
    while True:
        number += 1  # generator
        yield number


async def suspended():
    await Once()
    return 5  # coroutine


class Once:
    def __await__(self):
        yield 4


def dive(depth):
    """So many frames on the stack of a thread that waits."""
    if depth:
        return dive(depth - 1) + 1
    inside.release()
    surface.acquire()
    return 0


def diver(depth):
    depths.append(work_below(depth))


def work_below(depth):
    depth = dive(depth)  # above
    return depth  # below


def new_thread():
    thread = threading.Thread(target=work, args=(5,))
    thread.start()
    thread.join()


def dives(depth):
    thread = threading.Thread(target=diver, args=(depth,))
    thread.start()
    threads.append(thread)
    inside.acquire()


def surfaces():
    surface.release()
    threads.pop().join()
    return depths


def wakes(times):
    for _ in range(times):
        wake.release()
        done.acquire()
    return count[0]


def catches(number):
    try:
        return work(number)
    except ValueError as error:
        return str(error)


def own(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        events.append((event, frame.f_code.co_name, frame.f_lineno))
        return own
    return None


def forks(number):
    """The child's answer."""
    child = os.fork()
    if child == 0:
        os._exit(work(number))
    return os.waitpid(child, 0)[1] >> 8


def traced(function, *arguments):
    """What a tracer of its own sees of a call."""
    del events[:]
    sys.settrace(own)
    result = function(*arguments)
    same = sys.gettrace() is own
    sys.settrace(None)
    return [result, same, events]


def left():
    """Trace functions of any thread."""
    return [sys.gettrace() is not None,
            [frame.f_trace is not None for frame in sys._current_frames().values()]]


def listen():
    for line in sys.stdin:
        if not line.strip():
            return
        sys.stdout.write(json.dumps(eval(line)) + "\n")
        sys.stdout.flush()


wake, done, inside, surface = (threading.Semaphore(0) for _ in range(4))
ended, count, depths, threads, events = [], [0], [], [], []
new_thread()  # what the libc keeps of it is there now
generator, coroutine = generate(), suspended()
next(generator), coroutine.send(None)
waiting = threading.Thread(target=rounds)
waiting.start()
ready("listen", ["read"], go_on="stdin", tid=native_id())
listen()
coroutine.close()
ended.append(True)
wake.release()
waiting.join()
finish(count=count[0], depths=depths)
