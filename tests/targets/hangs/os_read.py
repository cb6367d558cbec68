"""The main thread reads from a pipe that stays empty."""

import os

from common import finish, on_sigusr1, ready


def read_pipe(reader):
    answer = 41
    seen = {0, 2, 4}
    ready("read_pipe", ["read"])
    data = os.read(reader, 100)
    return answer, sorted(seen), data.decode()


reader, writer = os.pipe()
on_sigusr1(lambda: os.write(writer, b"at last"))
answer, seen, data = read_pipe(reader)
finish(answer=answer, seen=seen, data=data)
