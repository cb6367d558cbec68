"""hangdbg diagnose: locks of C code, of Python and of multiprocessing, each made for
real and named first."""

import subprocess

import pytest

from diagnosed import named_first
from harness import TARGETS, Target


@pytest.fixture(scope="session")
def mutexes(tmp_path_factory):
    path = tmp_path_factory.mktemp("mutexes") / "causes_mutexes.so"
    subprocess.run(["gcc", "-O1", "-g0", "-shared", "-fPIC", "-fopenmp", "-o", path,
                    TARGETS / "causes_mutexes.c"], check=True)
    return path


def begin(case, python, folder, library=""):
    return Target([python, TARGETS / "causes_locks.py", case, folder],
                  env={"HANGDBG_TEST_LIBRARY": str(library), "PYTHONWARNINGS": "ignore"})


# case: its cause, how sure, what is in the sentence
OF_C = {
    "mutex": ("mutex", "certain", r'a mutex of C code, which thread \d+ "holder" has'),
    "mutex_twice": ("deadlock", "certain", "itself: waits for a mutex of C code"),
    "mutexes_crosswise": ("deadlock", "certain",
                          r'"forth" waits for a mutex of C code, which thread \d+ "back" has; '
                          r'thread \d+ "back" waits for a mutex of C code, which thread \d+ "forth"'),
    "mutex_and_lock": ("deadlock", "certain",
                       r'"forth" waits for a mutex of C code, which thread \d+ "back" has; '
                       r'thread \d+ "back" waits for the Lock `lock`, which thread \d+ "forth"'),
    "mutex_and_gil": ("deadlock", "certain",
                      r'keeps the GIL, and waits for a mutex of C code, which thread \d+ "holder" '
                      r'has; thread \d+ "holder" waits for the GIL'),
    "mutex_of_ended_thread": ("lock-of-ended-thread", "certain", r"thread \d+, has ended"),
    "mutex_across_fork": ("fork-lock", "certain", r"that thread \d+ of process \d+ .* had when"),
    "openmp_fork": ("openmp-fork", "certain", r"threads that stayed behind when process \d+"),
}


@pytest.mark.parametrize("case", sorted(OF_C))
def test_locks_of_c(case, some_python, tmp_path, mutexes):
    target = begin(case, some_python, tmp_path, mutexes)
    named_first(case, target.pid, *OF_C[case])


OF_PYTHON = {
    "rlock_of_ended_thread": ("lock-of-ended-thread", "certain", "the RLock `lock`, whose owner"),
    "rlock_across_fork": ("fork-lock", "certain", r"held when process \d+ .* forked"),
    "lock_in_handler": ("deadlock", "certain", "already held by this thread"),
    "semaphore": ("condition", "possible", r"Semaphore\.acquire for another .* value is 0"),
    "barrier": ("condition", "possible", r"Barrier\.wait for another thread: 2 of 3 have come"),
    "condition": ("condition", "possible", r"Condition\.wait for another thread"),
    "queue_join": ("condition", "possible", r"Queue\.join for .* 1 tasks of the queue"),
    "import_waits": ("import-lock", "certain", '"imports" has imported module \'slow_module\''),
    "shared": ("shared-lock", "certain", r"processes share, which process \d+"),
    "shared_spawn": ("shared-lock", "certain", r"processes share, which process \d+"),
    "shared_twice": ("deadlock", "likely", "processes share, already held by this thread"),
    "shared_of_dead": ("lock-of-dead-process", "likely", "who had it has ended"),
}


@pytest.mark.parametrize("case", sorted(OF_PYTHON))
def test_locks_of_python(case, some_python, tmp_path):
    target = begin(case, some_python, tmp_path)
    named_first(case, target.pid, *OF_PYTHON[case])
