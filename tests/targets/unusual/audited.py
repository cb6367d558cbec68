"""A program whose audit hook forbids one event, or all: audited.py EVENT"""

import sys
import threading

from common import finish, on_sigusr1, ready

forbidden = set()


def hook(event, arguments):
    if forbidden and (event in forbidden or "all" in forbidden):
        raise RuntimeError("no to " + event)


def hang():
    answer = 41
    ready("hang", ["futex"], hooks=hasattr(sys, "addaudithook"))
    forbidden.add(sys.argv[1])
    lock.acquire()
    return answer


lock = threading.Lock()
lock.acquire()
on_sigusr1(lambda: forbidden.clear() or lock.release())
if hasattr(sys, "addaudithook"):  # from 3.8 on
    sys.addaudithook(hook)
finish(answer=hang())
