"""What is asked of a restless program (tests/targets/harm/restless.py): questions drawn at
random, each with what its answer is to look like; and faults, each of which the program's
checks must find: without them a soak that finds nothing says nothing.

    question = draw(random.Random(1), target)
    run = run_to_end([PROGRAM, *question.words])
    wrong = question.wrong(run)   # None, or what is
"""

import collections
import re

from harness import in_targets

SOURCE = in_targets("restless.py")
LINES = SOURCE.read_text().splitlines()
SUM = re.compile(r"^(\d+)041$", re.M)  # of "answer + 2000": 2041
REFUSED = re.compile(
    r"^\*\*\* (thread \d+|no answer|frame has returned)|nothing was entered|read-only", re.M)


class Question(collections.namedtuple("Question", "words rc pattern")):
    def evaluations(self, run):
        """How many were certainly made."""
        return int(self.words[0] == "eval" and self.was_answered(run))

    def was_answered(self, run):
        return run.rc == self.rc and bool(re.search(self.pattern, run.output, re.S))

    def wrong(self, run):
        """What is wrong with the answer, or None; a refusal is one."""
        refused = run.rc in (3, 4) or any(
            said in run.output for said in ("nothing was entered", "no answer in time"))
        if self.was_answered(run) or (refused and self.rc != 4):
            return None
        return "%s answered %d: %.300r" % (list(self.words), run.rc, run.output)


def line_of(text):
    return 1 + next(number for number, line in enumerate(LINES) if text in line)


# Expressions; the exit code and what the output must match; their odds.
EXPRESSIONS = [
    ("answer + 1", 0, r"\b42$", 4),
    ("print('mine', 7)", 0, r"mine 7", 4),
    ("print(*range(9), file=sys.stderr)", 0, r"0 1 2 3 4 5 6 7 8", 2),
    ("print(Slow())", 0, "slow", 4),
    ("time.sleep(0.05)", 0, "", 4),
    ("1 / 0", 1, "ZeroDivisionError", 2),
    ("divide(0)", 1, "ZeroDivisionError", 2),
    ("undefined", 1, "NameError", 1),
    ("raise SystemExit(3)", 1, "SystemExit", 1),
    ("(lambda f: f(f))(lambda f: f(f))", 1, "RecursionError", 1),
    ("threading.Thread(target=print, args=('late',)).start()", 0, "", 4),
    ("threading.Thread(target=print, args=(Slow(), Slow())).start()", 0, "", 4),
    ("threading.Timer(0.03, print, ['later still']).start()", 0, "", 2),
    ("threading.Thread(target=time.sleep, args=(0.05,)).start()", 0, "", 1),
    ("kept.append(number for number in range(3))", 0, "", 1),
    ("kept.append(lambda: print('kept', answer))", 0, "", 2),
    ("[one() for one in list(kept) if callable(one)] and None", 0, "", 2),
    ("kept.append(sys._getframe())", 0, "", 1),
    ("kept.append(print)", 0, "", 1),
    ("kept.append(sys.stdout)", 0, "", 1),
    ("[one.write('w') for one in list(kept) if hasattr(one, 'write')] and None", 0, "", 1),
    ("kept.clear()", 0, "", 2),
    ("class Made: x = 1", 0, "", 2),
    ("def made(): return kept", 0, "", 1),
    ("kept.append(weakref.ref(lambda: 0, kept.append))", 0, "", 1),
    ("import json.tool as tool", 0, "", 1),
    ("importlib.reload(importlib.import_module('keyword'))", 0, "keyword", 1),
    ("answer = 41", 0, "", 2),
    ("'x' * 1000000", 0, "xxx", 1),
    ("print('y' * 300000)", 0, "yyy", 1),
    ("traceback.print_stack()", 0, "print_stack|expression", 2),
    ("warnings.warn('asked')", 0, "asked", 2),
    ("logging.getLogger('asked').error('an error')", 0, "", 2),
    ("gc.collect()", 0, r"\d+$", 2),
    ("[one.f_lineno for one in sys._current_frames().values()] and None", 0, "", 1),
    ("len(threading.enumerate()) > len(WORK)", 0, "True", 1),
    ("contextvars.copy_context().run(variable.get)", 0, "", 1),
    ("subprocess.call(['true'])", 0, r"\b0$", 1),
    ("os.waitpid(os.fork() or os._exit(0), 0)[1]", 0, r"\b0$", 1),
    ("sys.settrace(lambda *_: None)", 0, "", 1),
    ("sys.setprofile(lambda *_: None)", 0, "", 1),
    ("asyncio.new_event_loop().close()", 0, "", 1),
]
CANCELLED = [
    "[None for _ in iter(int, 1)]",
    "[time.sleep(0.01) for _ in iter(int, 1)]",
    "time.sleep(2)",  # does not react: it is given up
    "print(*[Slow() for _ in range(10000)])",
]


DUMPS = [(), ("--native",), ("--locals",)]
HELD = [
    ("hold", "p answer", "release"), ("hold", "print(Slow())"), ("hold", "p 1 / 0"),
    ("hold", "w", "p sys._getframe()"), ("hold", "!answer = 41", "release")]
# Not in what the signal's handler runs, nor with a lock that others want.
PLACES = ["return module.rgb_to_hsv", "return (first, closed)", "closed = []",
          "before = counts[\"alarms\"]", "items = queue.Queue"]
BREAKS = [("c", "w"), ("c", "n", "p 6 * 7"), ("c", "s", "c"), ()]


def draw(random, target):
    kind = random.choices(
        ["expression", "cancelled", "dump", "peek", "held", "break", "trace", "many"],
        [40, 2, 2, 2, 3, 2, 1, 15])[0]
    if kind == "expression":
        return expression(
            target, random.choices(EXPRESSIONS, [one[3] for one in EXPRESSIONS])[0])
    if kind == "cancelled":
        return cancelled(target, random.choice(CANCELLED))
    if kind == "dump":
        return dump(target, random.choice(DUMPS))
    if kind == "peek":
        return peek(target)
    if kind == "trace":
        return Question(("trace", target.pid, "--for", "0.1"), 0, "")
    if kind == "held":
        return held(target, random.choice(HELD))
    if kind == "break":
        return at_breakpoint(target, random.choice(PLACES), random.choice(BREAKS))
    return many(target, random.choices([one[0] for one in EXPRESSIONS], k=60))


def each(target):
    """{name: question}: all that can be drawn; of the breakpoints each place and each way
    on once."""
    found = {one[0]: expression(target, one) for one in EXPRESSIONS}
    found.update((text, cancelled(target, text)) for text in CANCELLED)
    found.update((" ".join(("dump", *more)), dump(target, more)) for more in DUMPS)
    found.update(("; ".join(commands), held(target, commands)) for commands in HELD)
    found.update(("b %s; %s" % (place, "; ".join(commands)),
                  at_breakpoint(target, place, commands))
                 for place, commands in zip(PLACES, BREAKS + BREAKS[:1]))
    found["peek"] = peek(target)
    found["many"] = many(target, [one[0] for one in EXPRESSIONS[:8]])
    return found


def expression(target, one):
    text, rc, pattern, _ = one
    return Question(("eval", target.pid, text, "--thread", target.tid), rc, pattern)


def cancelled(target, text):
    return TimedOut(("eval", target.pid, text, "--timeout", "0.2"), 4, "")


def dump(target, more):
    return Question(("dump", target.pid, *more), 0, "wait_for_lock")


def peek(target):
    return Question(
        ("peek", target.pid, "answer", "--thread", target.tid), 0, r"\b41")


def held(target, commands):
    return attached(target, commands, r"is suspended|\*\*\* thread \d+")


def at_breakpoint(target, place, commands):
    return attached(
        target, ("b %s:%d" % (SOURCE, line_of(place)), *commands), "Breakpoint")


def many(target, texts=(None,) * 40, tid=None):
    """In one session, a sum after each of them."""
    commands = []
    for number, text in enumerate(texts, 1):
        commands += ["p " + text] if text and "=" not in text else []
        commands.append("p answer + %d000" % number)
    words = [word for command in commands for word in ("-c", command)]
    return Many(("attach", target.pid, "--thread", tid or target.tid, *words), 0, "attached")


def attached(target, commands, pattern):
    words = [word for command in commands for word in ("-c", command)]
    return Any(("attach", target.pid, "--thread", target.tid, *words), 0, pattern)


class TimedOut(Question):
    """On a busy machine perhaps before it has begun."""

    def was_answered(self, run):
        return run.rc == 4 or (run.rc == 2 and "until time was up" in run.output)


class Any(Question):
    """The exit code is that of its last command."""

    def was_answered(self, run):
        return 0 <= run.rc <= 4 and bool(re.search(self.pattern, run.output, re.S))


class Many(Any):
    """Each sum is answered, unless something was refused."""

    def evaluations(self, run):
        asked = [word for word in self.words if str(word).startswith("p ")]
        return len(SUM.findall(run.output)) if REFUSED.search(run.output) else len(asked)

    def wrong(self, run):
        sums = re.findall(r"answer \+ (\d+)000\b", " ".join(map(str, self.words)))
        entered = run.rc not in (3, 4) or self.was_answered(run)
        if entered and SUM.findall(run.output) != sums and not REFUSED.search(run.output):
            return "%s answered %d: %.3000r" % (list(self.words), run.rc, run.output)
        return super().wrong(run)


# What a debugger might do to a program; what is then to be found. `ctypes` is imported
# by the expression.
FAULTS = {
    "a stream without its function": "setattr(sys, 'stdout', type('Cleared', (), {})())",
    "another stream left in place": "setattr(sys, 'stderr', __import__('io').StringIO())",
    "a descriptor closed": "os.close(loop._selector.fileno())",
    "a descriptor left open": "os.dup(0) and None",
    "a code page unmapped": "(lambda c, m: (c.pythonapi.Py_AddPendingCall("
                            "c.c_void_p(m), None), None)[1])(__import__('ctypes'), 4096)",
    "a code page left": "setattr(sys, 'page', mmap.mmap(-1, 4096, prot=5, flags=0x22))",
    "a thread left": "threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "a lock kept": "condition.acquire() and None",
    "a lock of a logger kept": "logger.handlers[0].lock.acquire() and None",
    "a signal ignored": "__import__('ctypes').CDLL(None).signal(14, 1) and None",
    "an exception raised": "__import__('ctypes').pythonapi.PyThreadState_SetAsyncExc("
                           "__import__('ctypes').c_ulong(threads[0].ident), "
                           "__import__('ctypes').py_object(ValueError)) and None",
    "the limit of recursion": "sys.setrecursionlimit(sys.getrecursionlimit() + 50)",
    "the switch interval": "sys.setswitchinterval(0.25)",
    "the garbage collector": "gc.disable()",
    "a hook": "setattr(sys, 'excepthook', print)",
    "the folder": "os.chdir('/usr')",
    "the umask": "os.umask(0o33) and None",
    "a variable of the environment": "os.environ.update(LEFT='1')",
    "a path": "sys.path.append('/left')",
    "a finder": "sys.meta_path.append(type('Finder', (), {'find_spec': "
                "staticmethod(lambda *_: None)}))",
    "a module of ours": "sys.modules.update(hangdbg_left=sys)",
    "a thread known to Python alone": "threading._active.update({1: threading.main_thread()})",
    "a write to freed memory": "__import__('ctypes').memset(8, 0, 8)",
    "code of the program's": "setattr(three_lines, '__code__', monitored.__code__)",
}
