"""A step stays with the coroutine or generator that it began in, whoever runs while that
is suspended: event loop, other tasks, who takes what a generator yields."""

import re

import pytest

from harness import hangdbg

SCRIPT = '''
import asyncio

class Context:
    async def __aenter__(self):
        await asyncio.sleep(0.01)

    async def __aexit__(self, *error):
        await asyncio.sleep(0.01)

async def fetch(fails):
    begins = 1  # fetch
    await asyncio.sleep(0.01)  # fetch2
    if fails:
        raise ValueError
    return begins  # fetch4

async def numbers():
    for number in range(2):  # numbers
        await asyncio.sleep(0.01)  # numbers2
        yield number  # numbers3
        after = number  # numbers4

def plain():
    begins = 1  # plain
    yield begins  # plain2
    yield from range(2)  # plain3
    ends = 1  # plain4

async def side():
    for _ in range(100):
        await asyncio.sleep(0.001)

async def main():
    aside = asyncio.ensure_future(side())  # main
    total = await fetch(False) + await fetch(False)  # main2
    async for number in numbers():  # main3
        total += number  # main4
    async with Context() as context:  # main5
        total += 1  # main6
    try:
        await fetch(True)  # main7
    except ValueError:  # main8
        total += 1  # main9
    for number in plain():  # main10
        total += number  # main11
    await asyncio.gather(aside, fetch(False))  # main12
    print("total %d" % total)  # main13

loop = asyncio.new_event_loop()
loop.run_until_complete(main())
'''

# First stop, commands, and at which lines they end.
STEPS = [
    ("main", "n n n n n n", "main2 main3 main4 main3 main4 main3"),
    ("main10", "n n n n n n", "main11 main10 main11 main10 main11 main10"),
    ("main12", "n", "main13"),
    ("main7", "n n n n", "main7 main8 main9 main10"),
    ("fetch", "n n n", "fetch2 ? fetch4"),
    ("fetch", "n r", "fetch2 main3"),  # past the second call of the line
    ("fetch", "r", "main3"),
    ("numbers", "n n n n n", "numbers2 numbers3 numbers4 numbers numbers2"),
    ("numbers2", "r", "main5"),  # where it has ended, not where it has yielded
    ("plain", "n n n", "plain2 plain3 plain4"),
    ("main", "n unt unt", "main2 main3 main4"),
    ("main5", "n n", "main6 *"),
]


def line_of(mark):
    lines = SCRIPT.splitlines()
    return next(at for at, line in enumerate(lines, 1) if line.endswith("# " + mark))


@pytest.mark.parametrize("first, steps, ends", STEPS)
def test_step(first, steps, ends, edge_python, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    commands = ["tbreak %d" % line_of(first), "c"] + steps.split() + ["cl", "release"]
    flags = [word for command in commands for word in ("-c", command)]
    done = hangdbg("run", "--stop", "--python", edge_python, *flags, str(script))
    seen = re.findall(r"^> (\S*?)([^/\s]+)\((\d+)\)", done.out, re.M)[2:]
    assert len(seen) == len(ends.split()), done
    for (_, file, number), mark in zip(seen, ends.split()):
        assert file == "script.py", done
        assert mark in "*?" or int(number) == line_of(mark), (mark, done)
    assert "total 7" in done.out, done
