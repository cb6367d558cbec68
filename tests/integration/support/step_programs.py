"""Programs to be stepped by pdb and by the prompt: what Python has that moves from line to
line. Each has a main(), which is walked; [the oldest Python], then its text."""

PROGRAMS = {
    "calls": (8, """
def inner(n):
    return n + 1

def outer(n):
    return inner(n) * 2

def main():
    total = outer(inner(1))
    total += inner(total)
    return total
"""),
    "recursion": (8, """
def fact(n):
    if n < 2:
        return 1
    return n * fact(n - 1)

def main():
    value = fact(3)
    return value
"""),
    "loops": (8, """
def main():
    total = 0
    for i in range(2):
        for j in range(2):
            if i == j:
                continue
            total += i
    while total < 3:
        total += 1
    else:
        total = 0
    return total
"""),
    "one_line_loops": (8, """
def main():
    total = 0
    for i in range(3): total += i
    while total < 5: total += 1
    return total
"""),
    "raises": (8, """
def boom(word):
    raise ValueError(word)

def main():
    try:
        boom("a")
    except ValueError as error:
        seen = str(error)
    return seen
"""),
    "reraises": (8, """
def boom():
    raise KeyError("a")

def through():
    try:
        boom()
    except KeyError:
        raise

def main():
    try:
        through()
    except KeyError:
        pass
    try:
        {}["b"]
    except KeyError as error:
        error = None
    return 1
"""),
    "causes": (8, """
def main():
    try:
        try:
            1 / 0
        except ZeroDivisionError as error:
            raise RuntimeError("b") from error
    except RuntimeError:
        done = True
    return done
"""),
    "finally_": (8, """
def run(n):
    try:
        if n:
            return n
        n = 5
    finally:
        n += 1
    return n

def main():
    run(1)
    run(0)
    for _ in range(2):
        try:
            break
        finally:
            last = 1
    return last
"""),
    "try_else": (8, """
def main():
    try:
        a = 1
    except ValueError:
        a = 2
    else:
        a = 3
    finally:
        a += 1
    return a
"""),
    "generator": (8, """
def numbers():
    yield 1
    got = yield 2
    return got

def main():
    total = 0
    for n in numbers():
        total += n
    made = numbers()
    next(made)
    made.send(None)
    made.close()
    return total
"""),
    "yield_from": (8, """
def inner():
    yield 1
    return 2

def outer():
    got = yield from inner()
    yield got

def main():
    total = []
    for n in outer():
        total.append(n)
    return total
"""),
    "generator_raises": (8, """
def numbers():
    try:
        yield 1
        raise LookupError("x")
    finally:
        done = 1

def main():
    try:
        for n in numbers():
            last = n
    except LookupError:
        last = 0
    return last
"""),
    "generator_expression": (8, """
def main():
    words = ["a", "bb"]
    total = sum(len(word) for word in words)
    return total
"""),
    "comprehensions": (8, """
def twice(n):
    return n * 2

def main():
    a = [twice(n) for n in range(2)]
    b = {n: twice(n) for n in a if n}
    c = {
        twice(n)
        for n in b
    }
    return c
"""),
    "decorator": (8, """
import functools

def loud(function):
    @functools.wraps(function)
    def wrapper(*args):
        result = function(*args)
        return result
    return wrapper

def main():
    @loud
    def add(a, b):
        return a + b
    return add(1, 2)
"""),
    "decorator_with_arguments": (8, """
def times(count):
    def decorate(function):
        def wrapper():
            return [function() for _ in range(count)]
        return wrapper
    return decorate

@times(2)
def one():
    return 1

def main():
    got = one()
    return got
"""),
    "context": (8, """
class Manager:
    def __enter__(self):
        return 5

    def __exit__(self, *error):
        return error[0] is not None

def main():
    with Manager() as value:
        total = value
    with Manager():
        raise ValueError(total)
    return total
"""),
    "contexts": (8, """
class Manager:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self.name

    def __exit__(self, *error):
        pass

def main():
    with Manager("a") as a, Manager("b") as b:
        both = a + b
    with Manager(a) as c, \\
            Manager(b) as d:
        return c + d + both
"""),
    "contextlib_": (8, """
import contextlib

@contextlib.contextmanager
def changed():
    before = 1
    try:
        yield before
    finally:
        before = 0

def main():
    with changed() as value:
        total = value
    return total
"""),
    "class_": (8, """
def main():
    class Base:
        kind = "base"

        def __init__(self):
            self.value = 1

    class Derived(Base):
        def __init__(self):
            super().__init__()
            self.more = 2

    made = Derived()
    return made.value + made.more
"""),
    "metaclass": (8, """
class Meta(type):
    def __new__(cls, name, bases, names):
        made = super().__new__(cls, name, bases, names)
        return made

def main():
    class Made(metaclass=Meta):
        x = 1
    return Made.x
"""),
    "property_": (8, """
class Box:
    def __init__(self):
        self._value = 1

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, new):
        self._value = new

def main():
    box = Box()
    box.value = box.value + 1
    return box.value
"""),
    "operators": (8, """
class Number:
    def __init__(self, n):
        self.n = n

    def __add__(self, other):
        return Number(self.n + other.n)

    def __bool__(self):
        return self.n > 0

    def __getattr__(self, name):
        return name

def main():
    total = Number(1) + Number(2)
    if total:
        word = total.missing
    return word
"""),
    "iterator": (8, """
class Count:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        if self.n > 2:
            raise StopIteration
        return self.n

def main():
    total = 0
    for n in Count():
        total += n
    return total
"""),
    "lambdas": (8, """
def main():
    double = lambda n: n * 2
    made = [lambda: 1, lambda: 2]
    values = sorted([3, 1], key=lambda n: -n)
    return double(made[1]()) + values[0]
"""),
    "closures": (8, """
def counter():
    count = 0
    def bump():
        nonlocal count
        count += 1
        return count
    return bump

def main():
    bump = counter()
    bump()
    return bump()
"""),
    "defaults": (8, """
def default():
    return 1

def main():
    def function(a, b=default(), *, c=default()):
        return a + b + c
    return function(
        default(),
        c=default(),
    )
"""),
    "several_lines": (8, """
def part(n):
    return n

def main():
    total = (part(1) +
             part(2) +
             part(3))
    value = [
        part(total),
        part(2),
    ]
    text = "%s %s" % (
        total, value)
    return text
"""),
    "short_circuit": (8, """
def yes():
    return True

def no():
    return False

def main():
    a = yes() and no() or yes()
    b = 1 if no() else 2
    if (yes()
            and no()):
        b = 3
    assert a, "no"
    return b
"""),
    "walrus": (8, """
def read(items):
    return items.pop() if items else None

def main():
    items = [1, 2]
    total = 0
    while (item := read(items)) is not None:
        total += item
    return total
"""),
    "match": (10, """
def main():
    seen = []
    for value in (1, "a", [1, 2], {"k": 1}):
        match value:
            case 1:
                seen.append("one")
            case str() as text:
                seen.append(text)
            case [a, b] if a < b:
                seen.append(a)
            case _:
                seen.append(None)
    return seen
"""),
    "exception_group": (11, """
def main():
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        a = 1
    except* TypeError:
        b = 2
    return a + b
"""),
    "threads": (8, """
import threading

def work(out):
    out.append(1)
    out.append(2)

def main():
    out = []
    threads = [threading.Thread(target=work, args=(out,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(out)
"""),
    "unpacking": (8, """
def pair():
    return 1, 2

def main():
    a, b = pair()
    a, *rest = [*pair(), *pair()]
    print(end="")
    del rest[0]
    global made
    made = {**{"a": a}, "b": b}
    return made
"""),
    "import_": (8, """
def main():
    import keyword as module
    from keyword import kwlist
    return len(kwlist) and module.iskeyword("if")
"""),
    "strings": (8, """
def name():
    return "x"

def main():
    text = f"{name()} {name()!r}"
    more = text + \\
        name()
    return more
"""),
    "eval_": (8, """
def main():
    value = eval("1 + 1")
    names = {}
    exec("a = 1\\nb = 2", names)
    return value + names["b"]
"""),
    "deleted": (8, """
class Held:
    def __del__(self):
        self.gone = True

def main():
    held = Held()
    held = None
    return held
"""),
    "await_": (8, """
import asyncio

async def fetch(n):
    await asyncio.sleep(0)
    return n

async def main_():
    one = await fetch(1)
    two = await fetch(2) + one
    return two

def main():
    return asyncio.run(main_())
"""),
    "async_for": (8, """
import asyncio

async def numbers():
    for n in range(2):
        await asyncio.sleep(0)
        yield n

async def main_():
    total = 0
    async for n in numbers():
        total += n
    squares = [n * n async for n in numbers()]
    return total + len(squares)

def main():
    return asyncio.run(main_())
"""),
    "async_with": (8, """
import asyncio

class Manager:
    async def __aenter__(self):
        await asyncio.sleep(0)
        return 1

    async def __aexit__(self, *error):
        await asyncio.sleep(0)

async def main_():
    async with Manager() as value:
        total = value
    return total

def main():
    return asyncio.run(main_())
"""),
    "gather": (8, """
import asyncio

async def work(n):
    await asyncio.sleep(0)
    return n

async def main_():
    got = await asyncio.gather(work(1), work(2))
    task = asyncio.ensure_future(work(3))
    got.append(await task)
    return got

def main():
    return asyncio.run(main_())
"""),
    "async_raises": (8, """
import asyncio

async def fail():
    await asyncio.sleep(0)
    raise ValueError("late")

async def main_():
    try:
        await fail()
    except ValueError:
        done = 1
    return done

def main():
    return asyncio.run(main_())
"""),
}
