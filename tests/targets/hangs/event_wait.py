"""The main thread waits for an Event: two frames of threading above ours."""

import threading

from common import finish, on_sigusr1, ready


def wait_for_event(event):
    answer = 41
    seen = {0, 2, 4}
    ready("wait_for_event", ["futex"], frame=2)
    event.wait()
    return answer, sorted(seen)


event = threading.Event()
on_sigusr1(event.set)
answer, seen = wait_for_event(event)
finish(answer=answer, seen=seen)
