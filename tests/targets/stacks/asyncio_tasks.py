"""Tasks that wait for each other and for what never comes, in an idle loop. Says
of each what asyncio itself knows."""

import asyncio
import signal
import sys

from common import finish, ready


async def leaf(future):
    await future


async def branch(future):
    await leaf(future)


class Own:
    """Neither a coroutine nor a future."""

    def __init__(self, future):
        self.future = future

    def __await__(self):
        return (yield from self.future.__await__())


async def awaits_own(future):
    await Own(future)


async def numbers(future):
    yield 1
    await leaf(future)
    yield 2


async def iterates(future):
    async for _ in numbers(future):
        pass


async def takes(queue):
    await queue.get()


async def locks(lock):
    async with lock:
        pass


async def joins(task):
    await task


async def gathers(*tasks):
    await asyncio.gather(*tasks)


async def waits(*names):
    await asyncio.wait([tasks[name] for name in names])


async def groups(future):
    async with asyncio.TaskGroup() as group:
        named(group.create_task(leaf(future)), "in group")


class OwnTask(asyncio.Task):
    pass


async def at_last():
    pass


def named(task, name):
    if sys.version_info >= (3, 8):
        task.set_name(name)
    tasks[name] = task
    return task


async def main(done):
    loop = asyncio.get_event_loop()

    def start(coroutine, name):
        return named(loop.create_task(coroutine), name)

    future = loop.create_future()
    lock = asyncio.Lock()
    await lock.acquire()
    deep = start(branch(future), "deep")
    start(awaits_own(future), "own awaitable")
    start(iterates(future), "generator")
    start(takes(asyncio.Queue()), "queue")
    start(locks(lock), "lock")
    joined = start(joins(deep), "join")
    other = named(OwnTask(leaf(future), loop=loop), "own class")
    python = named(asyncio.tasks._PyTask(leaf(future), loop=loop), "python")
    start(gathers(joined, other, python), "gather")
    start(waits("deep", "own class"), "wait")
    start(waits("circle 2"), "circle 1")
    start(joins(tasks["circle 1"]), "circle 2")
    if sys.version_info >= (3, 11):
        start(groups(future), "group")
    await start(at_last(), "done")
    tasks[""] = loop.create_task(leaf(future))
    await asyncio.sleep(0)  # they all have begun by now
    loop.call_soon(say)
    try:
        await done
    finally:
        for task in set(tasks.values()) - {tasks["main"]}:
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                pass


def say():
    said = {}
    for name, task in tasks.items():
        if not task.done():
            # Of itself a task tells its outermost frame only.
            (frame,) = task.get_stack()
            said["%#x" % id(task)] = [name, frame.f_code.co_name, frame.f_lineno]
    ready("main", ["epoll_wait", "epoll_pwait"], frame=4, tasks=said,
          names=sys.version_info >= (3, 8))


tasks = {}
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
done = loop.create_future()
loop.add_signal_handler(signal.SIGUSR1, done.set_result, "done")
loop.run_until_complete(named(loop.create_task(main(done)), "main"))
finish()
