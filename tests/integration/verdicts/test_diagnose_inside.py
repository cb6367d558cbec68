"""hangdbg diagnose: threads of one process that wait for themselves or for each other, event
loops that nobody wakes, what a fork has left behind; and who is well beside them."""

import pytest

import interpreters

from diagnosed import named_first, not_hung
from harness import Target, in_targets
from hangs import folder_with
from versions import by_case


def begin(case, python):
    return Target([python, in_targets("causes_inside.py"), case], env={"PYTHONWARNINGS": "ignore"})


ITSELF = r"the Lock `\S+`, already held by this thread \(Lock is not reentrant\), at "

# case: its cause, how sure, what is in the sentence
CASES = {
    "queue_in_handler": ("deadlock", "certain", ITSELF + r"queue\.py:\d+ in (put|get)"),
    "traced_exit": ("deadlock", "certain", ITSELF),
    "event_in_handler": ("deadlock", "certain", ITSELF + r"threading\.py:\d+ in (set|clear)"),
    "finalizer": ("deadlock", "certain", ITSELF + r"causes_inside\.py:\d+ in finalizer"),
    "held_by_other": ("python-lock", "certain", r'the Lock `\S+`, held by thread \d+ "other"'),
    "queues": ("nobody-left", "likely",
               "in Queue.put for .* it may have 4 and is full, and all 3 threads .* each other"),
    "acquired": ("python-lock", "likely", "nobody is left to release: all 3 threads"),
    "not_woken": ("loop-not-woken", "certain", "an event loop that nobody has woken"),
    "not_stopped": ("loop-not-woken", "certain", r"stop\(\) was called, and the loop sleeps"),
    "in_pool": ("pipe-read", "possible", "waits for a pipe that nobody writes into any more"),
    "child_output": ("subprocess-pipe", None, r"whose task waits for the end of its child"),
}


@by_case(sorted(CASES), on_edges={"queue_in_handler", "traced_exit", "event_in_handler",
                                  "held_by_other", "queues", "acquired", "not_woken"})
def test_waits_inside(case, python):
    named_first(case, begin(case, python).pid, *CASES[case])


def test_a_buffered_file_across_fork(some_python):
    target = begin("buffered_fork", some_python)
    named_first("buffered_fork", target.ready["child"], "fork-lock", None,
                "a BufferedWriter's lock: it was held when process %d" % target.pid)


WELL = ["signalled", "computes_with_gil", "woken_often", "pool_computes"]


@by_case(WELL, on_edges={"signalled", "woken_often"})
def test_who_is_well(case, python):
    not_hung(case, begin(case, python).pid)


# ---- libraries, where .cache/NAME/MINOR has them

SAYS = """
import json, os, sys, threading, time
def say(pid=None, **more):
    print(json.dumps(dict({"ready": True, "pid": pid or os.getpid(), "tid": pid or os.getpid(),
                           "function": "main", "syscalls": [], "go_on": "kill"}, **more)),
          flush=True)
"""

IN_A_CHILD = """
work()
child = os.fork()
if child == 0:
    work()
    os._exit(0)
say(child=child)
os.waitpid(child, 0)
"""

SQLALCHEMY = SAYS + """
import sqlalchemy
from sqlalchemy.pool import QueuePool
engine = sqlalchemy.create_engine("sqlite://", poolclass=QueuePool, pool_size=2,
                                  max_overflow=0, pool_timeout=100000)
both = threading.Barrier(2)
def request():
    with engine.connect() as outer:
        both.wait()
        with engine.connect() as inner:
            pass
threads = [threading.Thread(target=request, name="request") for _ in range(2)]
for thread in threads:
    thread.start()
say()
for thread in threads:
    thread.join()
"""

TOKENIZERS = SAYS + """
os.environ["TOKENIZERS_PARALLELISM"] = "true"
from tokenizers import Tokenizer, models
tokenizer = Tokenizer(models.BPE(vocab={"u": 0}, merges=[], unk_token="u"))
def work():
    tokenizer.encode_batch(["one two three %d" % i for i in range(5000)])
""" + IN_A_CHILD

POLARS = SAYS + """
import warnings
warnings.simplefilter("ignore")
import polars
frame = polars.DataFrame({"key": [i % 7 for i in range(200000)], "value": range(200000)})
def work():
    frame.lazy().group_by("key").agg(polars.col("value").sum()).collect()
""" + IN_A_CHILD


def with_library(name, program, folder):
    python = next((it.path for it in interpreters.found() if it.minor == "3.11"), None)
    if python is None:
        pytest.skip("no Python 3.11 here")
    path = folder_with(name, python, name)
    script = folder / "program.py"
    script.write_text(program)
    return Target([python, script], env={"PYTHONPATH": str(path)})


def test_a_pool_of_sqlalchemy(tmp_path):
    target = with_library("sqlalchemy", SQLALCHEMY, tmp_path)
    said = named_first("sqlalchemy", target.pid, ("deadlock", "pool-exhausted"), "likely",
                       r"SQLAlchemy's pool: 2 of 2 are in use, 1 by this thread itself")
    assert any("has 1 of them, at program.py" in one for one in said["evidence"]), said


@pytest.mark.parametrize("name, program", [("tokenizers", TOKENIZERS), ("polars", POLARS)],
                         ids=["tokenizers", "polars"])
def test_threads_that_stayed_behind(name, program, tmp_path):
    target = with_library(name, program, tmp_path)
    named_first(name, target.ready["child"], "fork-threads", "certain",
                r"waits in %s \(\S+\) for a thread or a lock that stayed behind" % name)
