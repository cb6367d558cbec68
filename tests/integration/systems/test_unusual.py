"""Programs that have done something odd to their own Python, to their threads or with
the kernel: each is asked, or that is refused by the reason's name; and it counts on."""

import os

import pytest

import interpreters
from unusual import Counting, assert_asked, assert_refused, kinds_of, spread

# What is refused: the exit code, and what is said.
REFUSED = {
    "builtins_raise": (1, "Broken: nobody was to call this (raised by refuse"),
    "builtins_are_gone": (1, "NameError: name 'range' is not defined"),
    "no_module_works": (1, "import of sys halted; None in sys.modules"),
    "modules_raise": (1, "Broken: nobody was to call this (raised by refuse"),
    "sys_without_modules": (1, "AttributeError: module 'sys' has no attribute 'modules'"),
    "no_processes": (4, "no room for a thread of ours", "prlimit --pid"),
    "little_locked": (4, "no room for a thread of ours", "prlimit --pid"),
}
# The first minor version that has what it takes.
SINCE = {"monitored": 12, "all_threads_traced": 12, "collections_raise": 8}

# Threads and processes of its own come and go.
RESTLESS = {"starts_threads", "forks", "spawns"}

NEED_ROOT = {"empty_root", "another_user", "no_processes", "little_locked", "own_network",
             "own_user", "no_capabilities"}

# What a kind tells at its end, if that is not the same on each version.
TELL = {
    "hooks": {"hooks": []}, "two_threadings": {"known": ["MainThread"]},
    "collected_always": {"collected": True}, "collections_raise": {"others": []},
    "nothing_is_freed": {"garbage": True}, "frozen": {"frozen": True, "enabled": False},
    "allocations_traced": {"allocated": True}, "monitored": {"others": []},
    "all_handled": {"signals": []}, "sigwaits": {"signals": []},
    "full_wakeup": {"came": True}, "reaper": {"children": False},
    "forks": {"wrong": [], "forked": True}, "spawns": {"wrong": []},
}


@pytest.mark.parametrize("kind, python", spread(
    kinds_of("unusual_python") + kinds_of("unusual_system") + kinds_of("unusual_threads")))
def test_it_goes_on(kind, python, tmp_path):
    if interpreters.minor(python) < SINCE.get(kind, 0):
        pytest.skip("from 3.%d on" % SINCE[kind])
    if kind in NEED_ROOT and os.geteuid() != 0:
        pytest.skip("needs root")
    target = Counting(tmp_path, kind, python)
    if kind in REFUSED:
        assert_refused(target, *REFUSED[kind])
    else:
        assert_asked(target, restless=kind in RESTLESS)
    assert target.end() == TELL.get(kind, {})
