"""The main thread, alone, runs Python without end."""

from common import finish, on_sigusr1, ready

stop = []


def spin():
    answer = 41
    seen = {0, 2, 4}
    ready("spin", [])
    rounds = 0
    while not stop:
        rounds += 1
    return answer, sorted(seen)


on_sigusr1(lambda: stop.append(True))
answer, seen = spin()
finish(answer=answer, seen=seen)
