"""A loop of one instruction, which is at the same place whenever one looks."""

from common import finish, on_sigusr1, ready


class GoOn(Exception):
    pass


def go_on():
    raise GoOn


def spin():
    answer = 41
    ready("spin", [])
    try:
        while True:
            pass
    except GoOn:
        return answer


on_sigusr1(go_on)
finish(answer=spin())
