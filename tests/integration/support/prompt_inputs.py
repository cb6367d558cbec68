"""A program, and what is typed in one of its frames into pdb of 3.14 and into the prompt
(test_prompt_beside_pdb.py): what both answer is to be the same, but for what is named here with
its reason (and in docs/coming-from.md)."""

PROGRAM = '''\
import sys


class Box:
    """What holds a number."""

    def __init__(self, n):
        self.n = n

    def double(self):
        return self.n * 2


def helper(item, scale=2):
    doubled = item * scale
    # a comment

    return doubled


def work(items, scale, *rest, key=None, **more):
    total = 0
    box = Box(5)
    for item in items:
        total += helper(item, scale)
    if total > 10 and \\
            key is None:
        total += box.double()
    try:
        total += int("one")
    except ValueError:
        total += 1
    return total


def main():
    name = "main"
    first = work([1, 2, 3], 2, "rest", color="red")
    second = work([4], 1)
    return first + second + len(name)


if "wait" in sys.argv:
    sys.stdin.readline()
print("the end", main())
print("after")
print("after that")
'''

LINES = PROGRAM.splitlines()


def line_of(text):
    return 1 + next(at for at, line in enumerate(LINES) if text in line)


FIRST = line_of("box = Box(5)")  # where both stop

# Why an answer differs, as wanted.
FRAMES = "pdb shows its own frames below the program's; the prompt shows the program's alone"
HINT = "the prompt says what was wrong in its own words, and what to type next"
NAMES = "what can be Python is Python; pdb takes the first word for its command"
PENDS = "the prompt waits for what is not there yet, and says so; pdb refuses it"
FUNCTION = "a breakpoint on a function has the function's name; pdb's has its first line"
ORDER = "arguments are in the order in which they are written"
WIDE = "as wide as the terminal"
HELP = "the help is of the prompt's own commands"
MORE = "the prompt can do it, or says more of it"

LOOP = line_of("total += helper")

# (what is typed, why the answer differs or None). Several lines are one input.
INPUTS = [
    # ---- where
    ("w", FRAMES), ("where", FRAMES), ("bt", FRAMES), ("w 2", None), ("w 0", None), ("w x", None),
    ("u", None), ("p name", None), ("d", None), ("d", None), ("u 2", None), ("d 99", None),
    ("u 99", FRAMES), ("d 99", None), ("u x", None), ("u 0", None), ("d -1", None),
    ("l", None), ("l", None), ("l .", None), ("l 1, 3", None), ("l 4, 2", None), ("list 5", None),
    ("l 999", None), ("l x", HINT), ("l 1, 2, 3", HINT), ("ll", None), ("longlist", None),
    ("source helper", MORE), ("source Box", MORE), ("source 1", HINT), ("source nosuch", None),
    ("source", HINT),
    # ---- what
    ("a", ORDER), ("args", ORDER), ("p total", None), ("total", None), ("p", HINT), ("pp", HINT),
    ("pp {'key': list(range(30)), 'other': 'x' * 60}", WIDE), ("p nosuch", None), ("1 / 0", None),
    ("p box", None), ("whatis total", None), ("whatis helper", None), ("whatis Box", None),
    ("whatis Box(1).double", None), ("whatis nosuch", None), ("!total", None), ("! total", None),
    ("!!total", None), ("x = 5", None), ("x", None), ("p x + total", None),
    ("[item for item in items if item > scale]", None), ("(lambda v: v + total)(1)", None),
    ("print('a', 'b')", None), ("None", None), ("p None", None), ("'text'", None), ("1 +", None),
    ("p 1 +", None), ("n = 9", NAMES), ("list = 5", NAMES), ("del x", None), ("x", None),
    ("p 1;; p 2", None), ("p ';;'", MORE), ("import math", None), ("math.floor(2.5)", None),
    ("p $_frame.f_lineno", None), ("$_retval", HINT), ("$_exception", HINT),
    ("p 'x' * 3  # a comment", None), ("Box.double", None),
    # ---- of several lines
    ("def plus(v):\n    w = v + 1\n    return w\n", None), ("plus(4)", None),
    ("for i in (1, 2):\n    print(i)\n", None), ("[1,\n2]", None), ("'''a\nb'''", None),
    ("1 + \\\n2", MORE), ("if total:\n    print('yes')\nelse:\n    print('no')\n", None),
    ("try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    print(error)\n", None),
    ("class C:\n    v = 1\n", None), ("C.v", None), ("with open(__file__) as f:\n    pass\n", None),
    # ---- breakpoints (the first one was that by which both have come here)
    ("b", None), ("b %d" % LOOP, None), ("b helper", FUNCTION), ("b 9999", HINT), ("b 3", None),
    ("b %d" % line_of("# a comment"), None), ("b 1x", HINT), ("b nosuch", PENDS), ("cl 4", MORE),
    ("b a b", HINT), ("b nosuch.py:3", PENDS), ("b 1:2", HINT), ("b script.py:x", HINT),
    ("b", FUNCTION), ("tbreak helper, item > 99", FUNCTION), ("disable 2", None),
    ("enable 2", None), ("disable 99", HINT), ("enable x", HINT), ("disable", HINT),
    ("ignore 2 2", None), ("ignore 2 1", None), ("ignore 2", None), ("ignore x", HINT),
    ("ignore 2 x", HINT), ("ignore", HINT), ("condition 2 item > 1", None), ("condition 2", None),
    ("condition 99 x", HINT), ("condition", HINT), ("condition 2 1 +", HINT),
    ("commands 99", HINT), ("commands x", HINT), ("cl 99", HINT), ("cl x", HINT),
    ("cl nosuch.py:1", HINT), ("b", FUNCTION), ("cl 2", None),
    # ---- display, aliases
    ("display", None), ("display total", None), ("display", None), ("display nosuch", None),
    ("display 1 +", HINT), ("undisplay nosuch", None), ("undisplay 1 +", HINT),
    ("alias two p %1 * 2", None), ("two 21", None), ("alias", None), ("alias two", None),
    ("alias nosuch", HINT), ("unalias two", None), ("unalias nosuch", HINT), ("unalias", HINT),
    ("two 21", None),
    # ---- help, and what is no command
    ("h nosuch", HINT), ("help", HELP), ("h p", HELP), ("? p", HELP), ("ll x", HINT),
    # ---- on
    ("cl 3 5 6", FUNCTION), ("n", None), ("n", None), ("s", None), ("n", None), ("", None),
    ("unt 1", None), ("unt x", HINT), ("exceptions", HINT), ("retval", HINT), ("n", None),
    ("p $_retval", None), ("retval", None), ("j 9999", None), ("s", None), ("a", ORDER), ("s", None),
    ("s", None), ("r", None), ("n", None), ("unt %d" % line_of("if total > 10"), None), ("j x", None),
    ("j", HINT), ("j 9999", None), ("j %d" % line_of("total += box"), None), ("n", None), ("n", None),
    ("n", None), ("n", None), ("total", None), ("r", None), ("n", None), ("n", None), ("w 1", None),
]
