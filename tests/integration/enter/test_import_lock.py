"""An import lock is held by the thread that hangs: whatever imports nothing works,
and what waits for that lock is given up in time."""

import pytest

from harness import TARGETS, Target, evaluate, hangdbg, place, start

# As import did up to 3.3, and what forks still does: it is for all modules.
GLOBAL_LOCK = """
import _imp, sys, threading
sys.path.insert(0, sys.argv[1])
from common import finish, on_sigusr1, ready

class Baton:
    lock_file_path = "/tmp/lock"

def hold_the_lock():
    answer = 41
    baton = Baton()
    _imp.acquire_lock()
    ready("hold_the_lock", ["futex"])
    lock.acquire()
    _imp.release_lock()
    return answer

lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
finish(answer=hold_the_lock())
"""


@pytest.fixture(params=["module", "global"])
def importing(request, edge_python):
    if request.param == "module":
        target = start("blocked_import", edge_python)
        target.imports = "hung_module"
    else:
        target = Target([edge_python, "-c", GLOBAL_LOCK, TARGETS])
        target.wait_hung()
        # To import what is not there yet takes the lock for a moment.
        target.imports = "uuid"
    return target


def test_evaluations_and_completions(importing, terminal):
    before = importing.snapshot()
    assert evaluate(importing, "answer + 1, [x for x in (1, 2) if x < answer]") == "(42, [1, 2])"
    assert evaluate(importing, "answer = 43") == ""
    assert evaluate(importing, "print(1 / 2), (lambda: answer)()") == "0.5\n(None, 43)"
    assert hangdbg("eval", importing.pid, "1 / 0", *place(importing)).rc == 1
    session = terminal(importing.pid, *place(importing))
    session.expect_prompt()
    session.type("p ans\t\r")
    session.expect("^43$")
    session.expect_prompt()
    session.ask("whatis answer", "int")
    session.ask("pp locals()", "'answer': 43")
    session.type("w\r")
    session.expect("wait_for_lock|hold_the_lock")
    session.expect_prompt()
    session.detach()
    importing.assert_as_before(before, arenas=4)
    assert importing.finish()["answer"] == 43


def test_an_import_that_waits_for_it(importing):
    done = hangdbg("eval", importing.pid, "import " + importing.imports, *place(importing),
                   "--timeout", "0.5")
    done.assert_refused(4)
    assert done.seconds < 5, done
    assert evaluate(importing, "answer + 1") == "42"
    assert importing.finish()["answer"] == 41
