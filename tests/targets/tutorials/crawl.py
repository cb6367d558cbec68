"""Two tasks: one holds the lock and waits for a page that never comes."""
import asyncio


async def fetch(lock, page):
    async with lock:
        await page.wait()


async def main():
    lock, page = asyncio.Lock(), asyncio.Event()
    await asyncio.gather(fetch(lock, page), fetch(lock, page))


asyncio.run(main())
