"""Programs that nobody thought of: a thread has asked the kernel for something for itself
alone, is in the middle of something, or was made by C; other libraries and other programs are
around them. Each is asked, also in all ways at once, or refused by the reason's name; and it
counts on as if nobody had been there."""

import collections
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

import interpreters
import processes
from harness import evaluate, hangdbg, in_targets, outcome, place, start, start_hangdbg, until
from test_harmless import compiled
from unusual import Counting, assert_asked, assert_goes_on, assert_refused, kinds_of, spread

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

# What is refused, since no thread is left that can be borrowed.
REFUSED = {
    "all_threads_kill": ("seccomp", "clone", "would kill"),
    "all_threads_fail": ("seccomp", "clone", "not permitted"),
    "all_threads_unanswered": ("seccomp", "clone", "supervisor"),
    "all_three_filters": ("seccomp", "clone", "would kill"),
    "all_poll_kills": ("seccomp", "poll", "would kill"),
    "all_deadline_class": ("SCHED_DEADLINE", "start no other thread"),
    "all_children_elsewhere": ("PID namespace", "unshare(CLONE_NEWPID)"),
}
TELL = {
    "unanswered_call": {"answered": []}, "other_users": {"changed": True, "user": 0},
    "half_spawned": {"spawned": [0], "status": 0}, "shared_memory": {"status": signal.SIGKILL},
}
# Threads and children of its own come and go, or change their rights.
RESTLESS = {"called_by_c", "other_users"}
KINDS = kinds_of("unusual_kernel")


@pytest.fixture(scope="module")
def c_threads(tmp_path_factory):
    return str(compiled(tmp_path_factory.mktemp("library"), in_targets("c_threads.c")))


@needs_root
@pytest.mark.parametrize("kind, python", spread(KINDS))
def test_it_goes_on(kind, python, c_threads, tmp_path):
    target = Counting(tmp_path, kind, python, env={"C_THREADS": c_threads})
    if kind in REFUSED:
        assert_refused(target, 4, *REFUSED[kind])
    else:
        assert_asked(target, restless=kind in RESTLESS)
    assert target.end() == TELL.get(kind, {})


# ---- what is around


def library(pattern):
    return next(iter(sorted(glob.glob(pattern))), None)


def preloaded(pattern, **environment):
    return lambda: library(pattern) and ([], {"LD_PRELOAD": library(pattern), **environment})


def run_by(*command):
    return lambda: shutil.which(command[0]) and (list(command), {})


GCC, LIB = "/usr/lib/gcc/x86_64-linux-gnu/*/", "/usr/lib/x86_64-linux-gnu/"
AROUND = {
    "AddressSanitizer": preloaded(GCC + "libasan.so", ASAN_OPTIONS="detect_leaks=0"),
    "LeakSanitizer": preloaded(GCC + "liblsan.so", LSAN_OPTIONS="detect_leaks=0"),
    "UBSan": preloaded(GCC + "libubsan.so"),
    "ThreadSanitizer": preloaded(GCC + "libtsan.so", TSAN_OPTIONS="report_bugs=0"),
    "jemalloc": preloaded(LIB + "libjemalloc.so.*"),
    "tcmalloc": preloaded(LIB + "libtcmalloc_minimal.so.?"),
    "tcmalloc that checks": preloaded(LIB + "libtcmalloc_minimal_debug.so.?"),
    "faketime": preloaded(LIB + "faketime/libfaketime.so.1", FAKETIME="-15d x2"),
    "faketime of threads": preloaded(
        LIB + "faketime/libfaketimeMT.so.1", FAKETIME="@2020-01-01 00:00:00 x10"),
    "valgrind": run_by("valgrind", "--tool=none", "-q"),
    "memcheck": run_by("valgrind", "-q", "--log-file=/dev/null"),
    "helgrind": run_by("valgrind", "--tool=helgrind", "-q", "--log-file=/dev/null"),
}
REFUSED_AROUND = {
    "ThreadSanitizer": ("ThreadSanitizer", "has not seen begin"),
    "valgrind": ("is run by", "valgrind", "emulator"),
    "memcheck": ("is run by", "memcheck", "emulator"),
    "helgrind": ("is run by", "helgrind", "emulator"),
}


FAKETIME = ("libfaketime", "another time", "without a GIL")


def refusal_around(around, python):
    """What is said of it; None: it is entered."""
    if around.startswith("faketime") and (
            interpreters.variant(python) == interpreters.FREE_THREADED):
        return FAKETIME
    return REFUSED_AROUND.get(around)


def start_in(around, python, folder):
    found = AROUND[around]()
    if not found:
        pytest.skip("no %s here" % around)
    before, environment = found
    return Counting(folder, "plain", python, before=before, env=environment)


@pytest.mark.parametrize("around, python", spread(AROUND))
def test_what_is_around_it(around, python, tmp_path):
    target = start_in(around, python, tmp_path)
    refusal = refusal_around(around, python)
    if refusal:
        assert_refused(target, 4, *refusal)
        assert hangdbg("peek", target.pid, "answer", *place(target)).out == "41\n"
    else:
        assert_asked(target)
    assert target.end() == {}


# ---- children that have their parent's memory


@needs_root
@pytest.mark.parametrize("kind, python", spread(["half_spawned", "shared_memory"]))
def test_a_child_in_its_parents_memory(kind, python, tmp_path):
    """What is begun in it would end with it, and holds locks of its parent's meanwhile."""
    target = Counting(tmp_path, kind, python)
    (child,) = until("its child", lambda: processes.children(target.pid))
    hangdbg("eval", child, "1").assert_refused(
        4, "in the memory of its parent %d" % target.pid, "hangdbg attach %d" % target.pid)
    assert hangdbg("dump", child).rc == 0
    assert_asked(target)
    assert target.end() == TELL[kind]


# ---- a clock that faults


def test_a_thread_without_a_clock(edge_python, tmp_path):
    """What it starts would have none either, and libc asks for the time."""
    target = start("without_clock", edge_python, compiled(tmp_path, in_targets("odd_threads.c")))
    before = target.snapshot()
    assert evaluate(target, "__import__('time').monotonic() > 0") == "True"
    assert evaluate(target, "answer + 1") == "42"
    target.assert_as_before(before)
    assert target.finish() == {"answer": 41, "read": 1}


# ---- threads that must not stop

STOPS = "unusual.py:35"


@needs_root
@pytest.mark.parametrize("kind, python", spread(
    ["beside_others_kill", "beside_poll_kills", "beside_others_unanswered",
     "all_others_kill", "all_others_unanswered"]))
def test_threads_that_must_not_stop(kind, python, tmp_path):
    """The agent would do there what their filter kills for: no breakpoint is set, and they are
    not suspended. What stops nothing works."""
    target = Counting(tmp_path, kind, python)
    beside = target.ready["beside"]
    for commands in (["b " + STOPS], ["b count"], ["hold"]):
        words = [word for command in commands for word in ("-c", command)]
        done = hangdbg("attach", target.pid, "--thread", beside, *words)
        said = ["thread %d has a seccomp filter of its own" % beside,
                # also where the agent was started by that thread
                "none must be made to stop"]
        if commands == ["hold"]:  # it runs now and then, which may be seen before
            said.append("thread %d cannot be held" % beside)
        assert any(text in done.out + done.err for text in said), done
        assert_goes_on(target)
    assert_asked(target)
    assert target.end() == {}


@needs_root
@pytest.mark.parametrize("kind, python", spread(["beside_threads_kill", "beside_three_filters"]))
def test_threads_that_may_stop(kind, python, tmp_path):
    """What their filter kills for is not done there."""
    target = Counting(tmp_path, kind, python)
    if kind == "beside_three_filters":  # socketpair is what our own channels are
        pattern = r"has a seccomp filter of its own"
    else:
        pattern = r"stopped: breakpoint 1(?s:.*)42"
    done = hangdbg("attach", target.pid, *place(target), "-c", "b " + STOPS, "-c", "c",
                   "-c", "p answer + 1")
    assert re.search(pattern, done.out + done.err), done
    assert_goes_on(target)
    assert target.end() == {}


# ---- all questions to all of them

Asked = collections.namedtuple("Asked", "words rcs")


def questions(target):
    """Each with the exit codes that it may have; 4 where a thread is refused."""
    at = place(target)
    pid = target.pid

    def expression(text, *rcs):
        return Asked(("eval", pid, text, *at), rcs)

    def prompt(*commands):
        words = [word for command in commands for word in ("-c", command)]
        return Asked(("attach", pid, *at, *words), (0, 1, 2, 4))

    return [
        expression("print(*range(9))", 0),
        expression("print('x' * 100000)", 0),
        expression("(lambda f: f(f))(lambda f: f(f))", 1),
        expression("1 / 0", 1),
        expression("raise SystemExit(3)", 1),
        expression("__import__('threading').Thread(target=int).start()", 0),
        expression("setattr(__import__('sys'), 'kept', (n for n in range(3)))", 0),
        expression("next(__import__('sys').kept)", 0),
        expression("delattr(__import__('sys'), 'kept')", 0),
        expression("__import__('gc').collect() >= 0", 0),
        Asked(("eval", pid, "[None for _ in iter(int, 1)]", "--timeout", "0.5"), (2, 4)),
        # 0: its own clock may be a fast one.
        Asked(("eval", pid, "__import__('time').sleep(0.7)", "--timeout", "0.3"), (0, 2, 4)),
        prompt("p answer", "w", "u", "threads"),
        prompt("hold", "p answer", "release"),
        prompt("hold", "n", "n", "s"),
        prompt("b " + STOPS, "c", "p value", "n", "c"),
        # 4: the kernel reads no page for us that another is to give (userfaultfd(2)).
        Asked(("dump", pid, "--native", "--locals"), (0, 4)),
        Asked(("peek", pid, "answer", *at), (0,)),
        Asked(("trace", pid, "--for", "0.1"), (0,)),
        Asked(("diagnose", pid), (0, 1, 2, 4)),
        Asked(("doctor", pid), (0, 3, 4)),
    ]


def assert_survives_all(target, refused):
    chance = random.Random(target.ready["function"])
    for asked in questions(target):
        done = hangdbg(*asked.words)
        assert done.rc in asked.rcs or (refused and done.rc == 4), (asked, done)
        assert_goes_on(target)
    runs = [start_hangdbg("eval", target.pid, "sum(range(%d))" % number) for number in range(3)]
    for run in runs:
        assert outcome(run).rc in ((4,) if refused else (0,))
    for _ in range(8):  # of its 20 to 300 ms
        run = start_hangdbg("attach", target.pid, "-c", "b " + STOPS, "-c", "c", "-c", "w")
        time.sleep(chance.uniform(0, 0.3))  # a moment as it comes
        run.send_signal(signal.SIGKILL)
        outcome(run)
        assert_goes_on(target)
    run = start_hangdbg("eval", target.pid, "[None for _ in iter(int, 1)]")
    time.sleep(chance.uniform(0, 0.2))
    run.send_signal(signal.SIGINT)
    assert outcome(run).rc in (4, 130, -signal.SIGINT)
    assert_goes_on(target)


@needs_root
@pytest.mark.slow
@pytest.mark.parametrize("kind, python", spread(KINDS))
def test_survives_all_questions(kind, python, c_threads, tmp_path):
    target = Counting(tmp_path, kind, python, env={"C_THREADS": c_threads})
    assert_survives_all(target, kind in REFUSED)
    assert target.end() == TELL.get(kind, {})


@pytest.mark.slow
@pytest.mark.parametrize("around, python", spread(AROUND))
def test_survives_all_questions_around(around, python, tmp_path):
    target = start_in(around, python, tmp_path)
    assert_survives_all(target, refusal_around(around, python) is not None)
    assert target.end() == {}
