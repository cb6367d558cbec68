"""`raise EXC`: out of a lock that the main thread waits for; in another when its call
returns; at the line where a thread stands."""

from harness import start, until
from test_breakpoints import attached, leave
from test_hold import ask, holding
from test_step import asleep_at

SIGINT = "__import__('signal').getsignal(2).__name__"


def test_out_of_a_lock(python):
    target = start("raised", python)
    process = holding(target)
    ask(process, "raise 3;;p 'no' + 'ne'", "none")
    ask(process, "p %s" % SIGINT, "default_int_handler")
    ask(process, "raise ValueError('enough')", "raises the exception now")
    process.stdin.close()
    assert process.wait(20) == 0
    assert "must derive from BaseException" in process.stderr.read()
    until("the end is waited for", lambda: asleep_at(target, "told.wait()"))
    result = target.finish()
    assert result["caught"] == ["ValueError: enough"], result


def test_in_another_thread(edge_python):
    target = start("raised", edge_python, "worker")
    process = holding(target)
    ask(process, "raise TimeoutError", "when its system call returns")
    leave(process)
    assert target.finish()["caught"] == ["TimeoutError: "]


def test_where_it_stands(python):
    target = start("breaks", python)
    process = attached(target)
    ask(process, "tbreak twice", "Breakpoint 1")
    ask(process, "c", "doubled = number * 2")
    ask(process, "raise KeyError('there')", "raises the exception now")
    leave(process)
    until("told of", lambda: "KeyError: 'there'" in target.stderr())
