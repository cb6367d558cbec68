"""An event loop whose tasks wait, in the way that its first argument names. It says that
it is ready and is killed."""

import asyncio
import sys

from common import ready


def say():
    ready("main", [], go_on="kill")


async def lock():
    """A task has it, and waits for what nobody puts."""
    held, empty = asyncio.Lock(), asyncio.Queue()

    async def holds():
        async with held:
            await empty.get()

    asyncio.ensure_future(holds())
    await asyncio.sleep(0)
    say()
    async with held:
        pass


async def queue():
    """And threads of the loop's own pool that have nothing to do."""
    await asyncio.get_event_loop().run_in_executor(None, abs, 1)
    say()
    await asyncio.Queue().get()


async def join():
    work = asyncio.Queue()
    work.put_nowait("never done")
    say()
    await work.join()


asyncio.new_event_loop().run_until_complete(globals()[sys.argv[1]]())
