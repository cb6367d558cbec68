"""Line breakpoints without a session that knows of them: the agent's builtin
_break_lines, called by an expression."""

import ast
import subprocess

from harness import PROGRAM, die_with_us, in_targets, place, track
from test_hold import ask

# In the target. What it keeps is in the agent's own dict, and goes with that.
DRIVER = r'''
import sys
agent = sys._getframe()
while "_break_lines" not in agent.f_globals:
    agent = agent.f_back
agent = agent.f_globals

def break_at(lines, answer):
    hits = agent["hits"] = []

    def classify(code):
        if code.co_filename.endswith("told.py") and code.co_name in lines:
            return tuple(lines[code.co_name])

    def on_line(frame):
        hits.append([frame.f_code.co_name, frame.f_lineno])
        if answer == "raise":
            raise ValueError("of ours")
        if answer == "stand":
            number = agent["_come"](session)
            agent["_stand"](number)
            agent["_gone"](number)

    session = max(agent["_sessions"])
    agent["_break_lines"](classify, on_line, None)
    return "set"

def no_breaks():
    agent["_break_lines"](None, None, None)
    return "gone"

def hits():
    return agent["hits"]

answer = eval(call)
'''


def line_of(name):
    """(function, line) of the line in told.py that has this name."""
    function = None
    for number, text in enumerate(in_targets("told.py").read_text().splitlines(), 1):
        if text.lstrip().startswith(("def ", "async def ")):
            function = text.split("def ")[1].split("(")[0]
        if text.endswith("  # " + name):
            return function, number
    raise AssertionError(name)


class LineBreaks:
    """A hangdbg that is attached to told.py. Is left by end(), or killed."""

    def __init__(self, target):
        self.process = track(subprocess.Popen(
            [str(word) for word in (PROGRAM, "attach", target.pid, *place(target))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True, preexec_fn=die_with_us))

    def break_at(self, *names, answer="note"):
        """At these lines of told.py; `answer` is what on_line does: it notes that
        the line was reached, and then may "raise" or "stand"."""
        lines = {}
        for function, line in map(line_of, names):
            lines.setdefault(function, []).append(line)
        self.run("break_at(%r, %r)" % (lines, answer), "set")

    def no_breaks(self):
        self.run("no_breaks()", "gone")

    def hits(self):
        return ast.literal_eval(self.run("hits()", "["))

    def run(self, call, answer):
        """Up to the line with `answer`, which is returned."""
        return ask(self.process, "p (lambda names: exec(%r, names) or names['answer'])"
                   "({'call': %r})" % (DRIVER, call), answer)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(20) == 0, self.process.stdout.read()

    def kill(self):
        self.process.kill()
        self.process.wait()
