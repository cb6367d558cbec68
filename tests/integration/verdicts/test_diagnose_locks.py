"""hangdbg diagnose: locks of C code, of Python and of multiprocessing, each made for
real and named first."""

import subprocess

import pytest

import interpreters
from diagnosed import named_first
from harness import Target, in_targets
from versions import by_case


@pytest.fixture(scope="session")
def mutexes(tmp_path_factory):
    path = tmp_path_factory.mktemp("mutexes") / "causes_mutexes.so"
    subprocess.run(["gcc", "-O1", "-g0", "-shared", "-fPIC", "-fopenmp", "-o", path,
                    in_targets("causes_mutexes.c")], check=True)
    return path


def begin(case, python, folder, library=""):
    return Target([python, in_targets("causes_locks.py"), case, folder],
                  env={"HANGDBG_TEST_LIBRARY": str(library), "PYTHONWARNINGS": "ignore"})


# case: its cause, how sure, what is in the sentence
OF_C = {
    "mutex": ("mutex", "certain", r'a mutex of C code, held by thread \d+ "holder"'),
    "mutex_and_gil": ("deadlock", "certain",
                      r'keeps the GIL, and waits for a mutex of C code, held by thread \d+ "holder"'
                      r'; thread \d+ "holder" waits for the GIL'),
    "openmp_fork": ("openmp-fork", "certain", r"threads that stayed behind when process \d+"),
}


def named_of_c(case, python, folder, mutexes):
    named_first(case, begin(case, python, folder, mutexes).pid, *OF_C[case])


@pytest.mark.parametrize("case", ["mutex", "openmp_fork"])
def test_locks_of_c(case, newest_python, tmp_path, mutexes):
    named_of_c(case, newest_python, tmp_path, mutexes)


def test_a_mutex_and_the_gil(some_python, tmp_path, mutexes):
    named_of_c("mutex_and_gil", some_python, tmp_path, mutexes)


OF_PYTHON = {
    "rlock_of_ended_thread": ("lock-of-ended-thread", "certain", "the RLock `lock`, whose owner"),
    "lock_in_handler": ("deadlock", "certain", "already held by this thread"),
    "semaphore": ("condition", "possible", r"Semaphore\.acquire for another .* value is 0"),
    "barrier": ("nobody-left", "likely", r"Barrier\.wait for another thread: 2 of 3 have come, and "
                r"all threads that are here wait for the same"),
    "condition": ("condition", "possible", r"Condition\.wait for another thread"),
    "queue_join": ("condition", "possible", r"Queue\.join for .* 1 tasks of the queue"),
    "import_waits": ("import-lock", "certain", '"imports" has imported module \'slow_module\''),
    "import_waits_lazily": ("import-lock", "certain",
                            '"imports" has imported module \'slow_module\''),
    "shared": ("shared-lock", "certain", r"processes share, held by process \d+"),
    "shared_spawn": ("shared-lock", "certain", r"processes share, held by process \d+"),
    "shared_of_dead": ("lock-of-dead-process", "likely", "who had it has ended"),
}


@by_case(sorted(OF_PYTHON), on_edges={"rlock_of_ended_thread", "condition", "import_waits",
                                      "shared"})
def test_locks_of_python(case, python, tmp_path):
    if case == "import_waits_lazily" and interpreters.minor(python) < 15:
        pytest.skip("it has no lazy imports")
    target = begin(case, python, tmp_path)
    named_first(case, target.pid, *OF_PYTHON[case])
