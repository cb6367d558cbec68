"""The agent's C side, built as an ordinary program under ASan and UBSan, answers real
clients in a real interpreter, and there is no report.

A selection of scenarios in one interpreter; $HANGDBG_SANITIZED_ALL: all scenarios in all."""

import inspect
import os
import subprocess
import sys

import pytest

import interpreters
import processes
import sanitized
import test_abuse
import test_break_lines
import test_breakpoints
import test_free_threaded
import test_given_up
import test_hold
import test_junk
import test_step
from harness import PROGRAM, evaluate, hangdbg, outcome, place, start, start_hangdbg, until
from stress import run_to_end
from test_hold import ask, commands

FOUND = [it for it in interpreters.found() if it.variant != interpreters.MUSL]
ALL = "HANGDBG_SANITIZED_ALL" in os.environ
CHOSEN = FOUND if ALL else ([it for it in FOUND if it.minor == "3.11"] or FOUND[-1:])[:1]
python = pytest.mark.parametrize(
    "python", [pytest.param(it.path, id=interpreters.name(it)) for it in CHOSEN])


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return sanitized.build(tmp_path_factory.mktemp("sanitized"))


# ---- questions

# Without those that take the descriptors and modules which the host needs, or, with
# Python's memory under the sanitizer, too long.
LEFT_OUT = ("no descriptors", "builtins", "profile", "deep repr", "huge repr")
SURVIVED = [*(question for name, question in test_abuse.SURVIVED.items()
              if name not in LEFT_OUT), ("print('x' * 100_000)", 0, "x" * 100_000)]
# What a target's filter may forbid: nothing, and then all that we can do without.
FORBIDDEN = [0, sanitized.SOCKETS | sanitized.YIELD | sanitized.READ_SELF | sanitized.OPEN]
ENDLESS = ["while True: pass", "while True: print('x' * 1000)", "__import__('time').sleep(3)",
           "[0 for _ in iter(int, 1)]"]


@python
def test_questions(python, library, tmp_path):
    agent = sanitized.SanitizedAgent("told", python, library, tmp_path)
    target = agent.target
    for forbidden in FORBIDDEN:
        agent.start(forbidden)
        threads = agent.threads()
        for expression, rc, said in SURVIVED if not forbidden else SURVIVED[:1]:
            done = hangdbg("eval", target.pid, expression)
            assert done.rc == rc and said in done.out + done.err, done
        assert agent.threads() > threads  # who comes soon after another shares them
        at = place(target) if not forbidden else []  # threads are known by what it reads
        done = hangdbg("attach", target.pid, *at, *commands(
            "threads", "w", "answer = 41", "p answer + 1", "p 1 / 0"))
        assert "42" in done.out and "ZeroDivisionError" in done.err + done.out, done
        for expression in ENDLESS:
            assert hangdbg("eval", target.pid, expression, "--timeout", "0.5").rc == 4
        at_once(target)
        vanish(target)
        agent.end()
    target.finish()


def at_once(target):
    runs = [start_hangdbg("eval", target.pid, "print('%d ' * 10000)" % number)
            for number in range(5)]
    for number, run in enumerate(runs):
        assert outcome(run).out == "%d " % number * 10000 + "\n"


def vanish(target):
    """In mid-request, and in mid-answer."""
    for expression in ENDLESS:
        run_to_end([PROGRAM, "eval", target.pid, expression], kill_after=0.3)


# ---- what is not a message of hangdbg's

UNANSWERED = 0.5  # seconds
PIECE = 50000  # bytes; twice as many are a word of a command line
HEADER = b"Content-Length: "
ON_DAP = [
    b"x", b"GET / HTTP/1.1\r\n\r\n", HEADER, HEADER + b"9" * 300, HEADER + b"0\r\n\r\n",
    HEADER + b"5\r\n\r\n{", HEADER + b"5\n\n{    ", HEADER + b"67108865\r\n\r\n",
    HEADER + b"67108864\r\n\r\n", HEADER + b"5\r\n\r\nnull?" * 20000,
    HEADER + b"9\r\n\r\n\xff\0\xff\0\xff\0\xff\0\n", HEADER[:5],
    HEADER + b"70000\r\n\r\n" + b"[" * 70000, HEADER + b"4\r\n\r\n" + b"\0" * 100000,
]
ON_CONTROL = [b"1234567", *(test_junk.record(kind, value) * 3 for kind in test_junk.TO_AGENT
                            for value in (1, 0xFFFFFFFF))]


@python
@pytest.mark.parametrize("forbidden", [
    pytest.param(0, id="sockets"), pytest.param(sanitized.SOCKETS, id="pipes")][:2 if ALL else 1])
def test_junk_in_mid_session(forbidden, python, library, tmp_path):
    agent = sanitized.SanitizedAgent("lock_main", python, library, tmp_path)
    agent.start(forbidden)
    for which, junk in [*((0, junk) for junk in ON_CONTROL), *((1, junk) for junk in ON_DAP)]:
        process = attached(agent.target)
        channels = writing_ends(process.pid)
        test_junk.write_into(process.pid, channels[which], *(
            junk[at:at + PIECE] for at in range(0, len(junk), PIECE)))
        try:
            process.communicate("p answer\n", timeout=UNANSWERED)
        except subprocess.TimeoutExpired:  # the agent takes it for a part of the junk
            process.kill()
            process.communicate()
    assert evaluate(agent.target, "answer") == "41"
    agent.end()
    assert agent.target.finish()["answer"] == 41


def attached(target):
    process = test_given_up.session_in(target)
    ask(process, "p answer", "41")
    return process


def writing_ends(pid):
    """The client's of its two channels; the control channel was made before the other. By
    which it came in may still be there."""
    def found():
        ends = {}
        for number, what in processes.fds(pid).items():
            kind, _, inode = what.partition(":[")
            if number > 2 and (kind == "socket" or (
                    kind == "pipe" and test_junk.is_writable(pid, number))):
                ends[int(inode[:-1])] = number
        return len(ends) == 2 and [ends[inode] for inode in sorted(ends)]

    return until("its two channels", found)


# ---- what the agent is tested by otherwise


def scenario(function, *arguments, slow=True, only=lambda minor, variant: True):
    return slow, pytest.param(function, arguments, only,
                              id="-".join([function.__name__[5:], *map(str, arguments)]))


def is_traced(minor, variant):
    return minor < 12


SCENARIOS = [
    scenario(test_given_up.test_beside_the_program, slow=False),
    scenario(test_given_up.test_in_a_held_thread),
    scenario(test_given_up.test_killed_afterwards, "ours"),
    scenario(test_given_up.test_killed_afterwards, "held", slow=False),
    scenario(test_given_up.test_threads_with_breakpoints_go_on_meanwhile),
    scenario(test_hold.test_goes_on_when_we_die, "lock_worker", 3, slow=False),
    scenario(test_hold.test_signal_while_held),
    scenario(test_hold.test_expression_that_fails_and_one_that_is_cancelled),
    scenario(test_step.test_after_it_unhangs, slow=False),
    scenario(test_step.test_client_ends_where_it_was_stepped_to),
    scenario(test_step.test_own_tracer_is_put_back),
    scenario(test_breakpoints.test_in_a_frame_that_runs),
    scenario(test_breakpoints.test_conditions_and_counts),
    scenario(test_breakpoints.test_on_functions_and_generators),
    scenario(test_breakpoints.test_client_ends_at_a_breakpoint, slow=False),
    scenario(test_breakpoints.test_two_clients),
    scenario(test_break_lines.test_lines_are_reached_and_no_others, only=is_traced),
    scenario(test_break_lines.test_what_it_raises_comes_up_at_the_line, only=is_traced),
    scenario(test_break_lines.test_own_tracer_goes_on, only=is_traced),
    scenario(test_break_lines.test_client_killed_where_a_thread_stands, slow=False,
             only=is_traced),
    scenario(test_break_lines.test_a_child_and_the_end_of_the_program, only=is_traced),
    scenario(test_free_threaded.test_frames_of_threads_that_run, only=lambda minor, variant:
             variant == interpreters.FREE_THREADED),
    scenario(test_free_threaded.test_client_killed_at_a_breakpoint_of_hot_threads, 5,
             only=lambda minor, variant: variant == interpreters.FREE_THREADED),
    scenario(test_abuse.test_recursion_without_a_limit),
    scenario(test_abuse.test_a_client_that_stops_reading),
    scenario(test_abuse.test_clients_killed_at_random, slow=False),
]


@python
@pytest.mark.parametrize("function, arguments, only", [
    made for slow, made in SCENARIOS if ALL or not slow])
def test_as_otherwise(function, arguments, only, python, library, tmp_path, monkeypatch):
    if not only(interpreters.minor(python), interpreters.variant(python)):
        pytest.skip("not of this Python")
    agents = []

    def start_sanitized(name, python, *words, env=None):
        agents.append(sanitized.SanitizedAgent(name, python, library, tmp_path, *words, env=env))
        agents[-1].start()
        return agents[-1].target

    for module in list(sys.modules.values()):
        if getattr(module, "start", None) is start and module is not sanitized:
            monkeypatch.setattr(module, "start", start_sanitized)
    monkeypatch.setattr(test_free_threaded, "assert_gone", assert_gone)
    fixtures = {
        "pipe": lambda: test_given_up.Pipe(tmp_path),
        "tmp_path": lambda: tmp_path,
        "target": lambda: start_sanitized("lock_main", python),
        "told": lambda: start_sanitized("told", python),
    }
    wanted = list(inspect.signature(function).parameters)[len(arguments):]
    function(*arguments, *(fixtures.get(name, lambda: python)() for name in wanted))
    for agent in agents:
        if agent.target.alive():
            agent.end()
            agent.target.finish()
        assert not agent.reports()


def assert_gone(target, fds):
    """As test_free_threaded has it, but for the host's own session, which was there before."""
    until("nothing of the clients'", lambda: processes.fds(target.pid) == fds
          and len(processes.debugger_threads(target.pid)) == len(["control", "executor"]))


# ---- faults are found

FAULTS = {
    "heap": ("executor.c", "copy = hd_map((uint64_t)length + 1)",
             "copy = hd_map((uint64_t)length - 1)", "heap-buffer-overflow"),
    "unmapped": ("executor.c", "  return sent;\n", "  return sent && copy[0];\n",
                 "heap-use-after-free"),
    "index": ("control.c", "  hd_let_fork_if_late(state);\n"
              "  for (int i = 0; i < HD_MAX_SESSIONS; i++) {",
              "  for (int i = 0; i <= HD_MAX_SESSIONS; i++) {", "out of bounds"),
    "kernel": ("control.c", "hd_read(&state->rendezvous_read, &record, sizeof record)",
               "hd_read(&state->rendezvous_read, &record, 2 * sizeof record)",
               "stack-buffer-overflow"),
    "region": ("python.c", "  agent->globals = HD_CALL(state, PyDict_New, NewFunction)();\n",
               "  agent->globals = HD_CALL(state, PyDict_New, NewFunction)();\n"
               "  ((char*)region)[HD_AGENT_OFFSET - 1] = 0;\n", "use-after-poison"),
    "overflow": ("io.c", "  return now.tv_sec * 1000000000L + now.tv_nsec;",
                 "  return now.tv_sec * (1000000000L << 30) + now.tv_nsec;",
                 "signed integer overflow"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name, newest_python, library, tmp_path):
    *fault, said = FAULTS[name]
    faulty = sanitized.build(tmp_path, library, fault)
    agent = sanitized.SanitizedAgent("lock_main", newest_python, faulty, tmp_path)
    with pytest.raises((AssertionError, ConnectionError)):
        agent.start()
        evaluate(agent.target, "answer")
        agent.end()
    assert said in agent.report()


def test_what_is_not_given_back_is_found(newest_python, library, tmp_path):
    faulty = sanitized.build(tmp_path, library, (
        "executor.c", "  hd_unmap(copy, (uint64_t)length + 1);\n", ""))
    agent = sanitized.SanitizedAgent("lock_main", newest_python, faulty, tmp_path)
    agent.start()
    assert evaluate(agent.target, "answer") == "41"
    assert agent.blocks_left() > 0  # one for each message
    assert agent.target.finish()["answer"] == 41
