"""An event loop in which nothing is left to do."""

import asyncio
import signal

from common import finish, ready


def run_idle(loop, done):
    answer = 41
    seen = {0, 2, 4}
    # Above ours: run_until_complete, run_forever, _run_once, select.
    ready("run_idle", ["epoll_wait", "epoll_pwait"], frame=4)
    result = loop.run_until_complete(done)
    return answer, sorted(seen), result


loop = asyncio.new_event_loop()
done = loop.create_future()
loop.add_signal_handler(signal.SIGUSR1, done.set_result, "done")
answer, seen, result = run_idle(loop, done)
finish(answer=answer, seen=seen, result=result)
