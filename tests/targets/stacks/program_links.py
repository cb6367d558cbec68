"""Programs made by chance: a chain of calls, each link of another kind.

A link is the source of a function `{me}` that calls `{next}`; the last one of a chain is
`stop`. {a} to {d} are literals. `since`: the first version that has it.
"""

import sys

LINKS = []  # (first version, source)


def link(text, since=(3, 6)):
    LINKS.append((since, text))


def source(chance, length):
    """Of one program: its functions are f0 to f<length - 1>."""
    usable = [text for since, text in LINKS if sys.version_info >= since]
    names = ["f%d" % at for at in range(length)] + ["stop"]
    parts = []
    for at in range(length):
        literals = {letter: _literal(chance, 2) for letter in "abcd"}
        parts.append("\n" * chance.randrange(4) + chance.choice(usable).format(
            me=names[at], next=names[at + 1], **literals))
    return "\n".join(parts)


def _literal(chance, depth):
    kind = chance.randrange(12 if depth else 8)
    if kind < 8:
        return repr(chance.choice([
            None, True, chance.randrange(-5, 300), chance.randrange(-1 << 80, 1 << 80),
            chance.random() * 10 ** chance.randrange(-5, 20), "", "w\xe9 \u0438\u043c\u044f'\n",
            b"\x00'q", 2.5j, "x" * chance.randrange(50)]))
    inner = [_literal(chance, depth - 1) for _ in range(chance.randrange(4))]
    if kind == 8:
        return "(%s)" % "".join(one + ", " for one in inner)
    if kind == 9:
        return "[%s]" % ", ".join(inner)
    return "{%s}" % ", ".join("%d: %s" % (at * at, one) for at, one in enumerate(inner))


link('''
def {me}(x={a}, *rest, y={b}, **more):
    z = {c}
    {next}()
    return x, y, z, rest, more
''')
link('''
def {me}():
    held = {a}
    def inner(z):
        w = {b}
        return (
            held,
            {next}(
            ),
            z, w)
    return inner({c})
''')
link('''
def {me}():
    outer = {a}
    return [({next}(), item, outer)
            for item in [{b}] if item is not stop]
''')
link('''
def {me}():
    before = {a}
    item = {d}
    found = {{item: {next}() for item in range(1)}}
    return before, found
''')
link('''
def {me}():
    a = {a}
    return [[{next}() for inner in [{b}]] for outer in [{c}]], a
''')
link('''
def {me}():
    seen = {a}
    return list({next}() or seen for item in [{b}])
''')
link('''
def {me}():
    def produce(start):
        local = {a}
        yield start
        {next}()
        yield local
    made = []
    for value in produce({b}):
        made.append(value)
''')
link('''
def {me}():
    def inner():
        deep = {a}
        yield {next}()
        yield deep
    def outer():
        kept = {b}
        yield from inner()
        yield kept
    first = next(outer())
    return first
''')
link('''
def {me}():
    async def coroutine():
        number = {a}
        {next}()
        return number
    async def awaits():
        other = {b}
        return await coroutine(), other
    running = awaits()
    try:
        running.send(None)
    except StopIteration as stopped:
        return stopped.value
''')
link('''
def {me}():
    async def items():
        step = {a}
        yield step
        {next}()
    class Manager:
        async def __aenter__(self):
            return {b}
        async def __aexit__(self, *what):
            return None
    async def loop():
        async with Manager() as got:
            async for value in items():
                last = value
        return got, last
    try:
        loop().send(None)
    except StopIteration:
        pass
''')
link('''
def {me}():
    around = {a}
    class Body(object):
        number = {b}
        result = {next}()
        text = {c}
    return Body, around
''')
link('''
class {me}:
    shared = {a}
    def __new__(cls):
        made = object.__new__(cls)
        local = {b}
        made.method(local)
        return made
    def method(self, argument):
        return self.value, argument
    @property
    def value(self):
        inner = {c}
        return {next}(), inner
''')
link('''
def {me}():
    def decorate(function):
        marker = {a}
        def wrapper(*args, **kwargs):
            done = {b}
            return function(*args, **kwargs), done, marker
        return wrapper
    @decorate
    @decorate
    def decorated(x, y={c}):
        return {next}()
    return decorated({d}, y={a})
''')
link('''
def {me}():
    scope = {{"target": {next}, "given": {a}}}
    text = "def made(x):\\n    y = given\\n    return target()\\nresult = made(1)\\n"
    exec(compile(text, "<made>", "exec"), scope)
    return {b}
''')
link('''
def {me}():
    first = {a}
    return eval("(lambda v: called() or v)(7)", {{"called": {next}}}) or first
''')
link('''
def {me}():
    state = {a}
    try:
        try:
            raise ValueError({b})
        except ValueError as error:
            kept = error.args
            {next}()
        finally:
            state = {c}
    except ArithmeticError:
        pass
''')
link('''
def {me}():
    step = {a}
    try:
        step = {b}
    finally:
        {next}()
''')
link('''
def {me}():
    class Manager:
        def __enter__(self):
            inside = {a}
            {next}()
            return inside
        def __exit__(self, *what):
            return False
    with Manager() as got, Manager():
        return got
''')
link('''
def {me}():
    class Manager:
        def __enter__(self):
            return {a}
        def __exit__(self, kind, value, trace):
            leaving = {b}
            {next}()
            return True
    with Manager() as got:
        raise KeyError(got)
''')
link('''
def {me}():
    class Operand:
        def __init__(self, n):
            self.n = n
        def __add__(self, other):
            total = {a}
            return {next}(), total
        def __bool__(self):
            return True
    left, right = Operand(1), Operand(2)
    return (left and
            left + right) if left else {b}
''')
link('''
def {me}():
    value = {a}
    return f"{{value!r}} and {{{next}()}} {{value}}"
''')
link('''
def {me}(depth=3, trail=()):
    here = {a}
    if depth:
        return {me}(depth - 1, trail + (depth,))
    while True:
        {next}()
        break
''')
link('''
def {me}():
    import functools
    calls = {a}
    def compare(left, right):
        answer = {b}
        {next}()
        return 0
    return sorted([1, 2], key=functools.cmp_to_key(compare)), calls
''')
link('''
def {me}():
    kept = {a}
    del kept
    unset = {b}
    for unset in [{c}]:
        for other in (1,):
            result = list(map(lambda item: {next}(), [unset]))
''')
link('''
def {me}():
    if (found := {a}) is not stop:
        return [(last := {next}()) for _ in [0]], found
''', since=(3, 8))
link('''
def {me}(subject={{"key": [1, 2, (3,)]}}):
    match subject:
        case {{"key": [first, *rest]}} if {next}() is None:
            return first, rest
        case _:
            return {a}
''', since=(3, 10))
link('''
def {me}():
    note = {a}
    try:
        raise ExceptionGroup("both", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        {next}()
    except* KeyError:
        note = {b}
''', since=(3, 11))
link('''
def {me}[T](x: T = {a}) -> T:
    type Alias = list[T]
    class Generic[U]:
        y = {b}
        z = {next}()
    return x
''', since=(3, 12))
link('''
lazy import {me}_module

def {me}():
    unused = {a}
    calls["{me}_module"] = {next}
    return {me}_module.value, unused
''', since=(3, 15))
