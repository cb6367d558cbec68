"""The main thread waits in select for a pipe that stays empty."""

import os
import select

from common import finish, on_sigusr1, ready


def wait_readable(reader):
    answer = 41
    seen = {0, 2, 4}
    ready("wait_readable", ["select", "pselect6"])
    readable, _, _ = select.select([reader], [], [])
    return answer, sorted(seen), len(readable)


reader, writer = os.pipe()
on_sigusr1(lambda: os.write(writer, b"."))
answer, seen, readable = wait_readable(reader)
finish(answer=answer, seen=seen, readable=readable)
