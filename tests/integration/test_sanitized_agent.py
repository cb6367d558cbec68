"""The agent's C side, built as an ordinary program under ASan and UBSan, answers real
clients in a real interpreter, and there is no report."""

import inspect
import os
import random
import subprocess
import sys
import time

import pytest

import interpreters
import sanitized
import test_abuse
import test_break_lines
import test_breakpoints
import test_given_up
import test_hold
import test_junk
import test_step
from harness import NORMAL_EXIT, evaluate, hangdbg, outcome, place, start_hangdbg, until

HERE = sys.modules[__name__]
FOUND = [it for it in interpreters.found() if it.variant != interpreters.MUSL]
CHOSEN = [pytest.param(it.path, id=interpreters.name(it)) for it in FOUND]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    kept = os.environ.get("DEVLIB")
    if kept:
        import pathlib
        return pathlib.Path(kept)
    return sanitized.build(tmp_path_factory.mktemp("sanitized"))


def scenario(function, *arguments, ends=True, slow=False):
    name = "-".join([function.__name__[5:], *map(str, arguments)])
    return pytest.param(function, arguments, ends, id=name,
                        marks=[pytest.mark.slow] * slow)


SCENARIOS = [
    scenario(test_given_up.test_beside_the_program),
    scenario(test_given_up.test_in_a_held_thread),
    scenario(test_given_up.test_killed_afterwards, "ours"),
    scenario(test_given_up.test_killed_afterwards, "held"),
    scenario(test_given_up.test_threads_with_breakpoints_go_on_meanwhile),
    scenario(test_hold.test_goes_on_when_we_die, "lock_worker", 3),
    scenario(test_hold.test_signal_while_held),
    scenario(test_hold.test_expression_that_fails_and_one_that_is_cancelled),
    scenario(test_hold.test_what_is_raised_meanwhile, "interrupt"),
    scenario(test_hold.test_what_is_raised_meanwhile, "handler"),
    scenario(test_hold.test_what_is_raised_meanwhile, "other-thread"),
    scenario(test_step.test_after_it_unhangs),
    scenario(test_step.test_client_ends_where_it_was_stepped_to),
    scenario(test_step.test_own_tracer_is_put_back),
    scenario(test_breakpoints.test_in_a_frame_that_runs),
    scenario(test_breakpoints.test_conditions_and_counts),
    scenario(test_breakpoints.test_on_functions_and_generators),
    scenario(test_breakpoints.test_client_ends_at_a_breakpoint),
    scenario(test_breakpoints.test_two_clients),
    scenario(test_break_lines.test_lines_are_reached_and_no_others),
    scenario(test_break_lines.test_what_it_raises_comes_up_at_the_line),
    scenario(test_break_lines.test_own_tracer_goes_on),
    scenario(test_break_lines.test_client_killed_where_a_thread_stands),
    scenario(test_break_lines.test_a_child_and_the_end_of_the_program),
    scenario(test_junk.test_noise),
    scenario(test_junk.test_hostile_records, test_junk.TO_AGENT),
    scenario(test_abuse.test_recursion_without_a_limit),
    scenario(test_abuse.test_a_forked_child_ends_with_the_expression),
    scenario(test_abuse.test_a_client_that_stops_reading),
    scenario(test_abuse.test_clients_killed_at_random),
]


@pytest.mark.parametrize("python", CHOSEN)
@pytest.mark.parametrize("function, arguments, ends", SCENARIOS)
def test_as_without(function, arguments, ends, python, library, tmp_path, monkeypatch):
    """What the agent is tested by otherwise."""
    agents = []

    def start(name, python, *words, env=None):
        agent = sanitized.SanitizedAgent(name, python, library, tmp_path, *words, env=env)
        agent.start()
        agents.append(agent)
        return agent.target

    for module in list(sys.modules.values()):
        if getattr(module, "start", None) is sanitized.start and module is not sanitized:
            monkeypatch.setattr(module, "start", start)
    given = list(arguments)
    for name in list(inspect.signature(function).parameters)[len(given):]:
        if name == "pipe":
            given.append(test_given_up.Pipe(tmp_path))
        elif name == "dice":
            given.append(random.Random(1))
        elif name == "tmp_path":
            given.append(tmp_path)
        elif name == "target":
            given.append(start("lock_main", python))
        elif name == "told":
            if interpreters.minor(python) >= 12:
                pytest.skip("it has no trace function")
            given.append(start("told", python))
        else:
            given.append(python)
    function(*given)
    (agent,) = agents
    if agent.target.alive():
        agent.end()
        agent.target.finish()
    assert not agent.reports()
