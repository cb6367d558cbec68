"""The main thread sleeps for an hour; an exception from a handler ends that."""

import time

from common import finish, on_sigusr1, ready


class GoOn(Exception):
    pass


def go_on():
    raise GoOn


def sleep_long():
    answer = 41
    seen = {0, 2, 4}
    # Up to 3.10 time.sleep is a select without files, later clock_nanosleep.
    ready("sleep_long", ["clock_nanosleep", "select", "pselect6"])
    try:
        time.sleep(3600)
    except GoOn:
        pass
    return answer, sorted(seen)


on_sigusr1(go_on)
answer, seen = sleep_long()
finish(answer=answer, seen=seen)
