"""What an evaluation prints is ours, and nobody else's prints are touched: not while
it runs, not after it, not by who has kept what stood in for sys.stdout."""

import threading

from harness import hangdbg, start, until

KINDS = [
    "print('mine')",
    "__import__('time').sleep(0.1)",
    "threading.Thread(target=print, args=('late',)).start()",
    "1/0",
    "logging.getLogger('target').warning('by us')",
    "sys.stderr.writelines(['a', 'b'])",
    "[print(n) for n in range(50)]",
    "kept.append(sys.stdout)",
    "threading.Timer(0.05, print, ['later']).start()",
    "warnings.warn('by us')",
]


def test_threads_that_print(python):
    """CPython before 3.13.3 crashes if what print() has borrowed is freed under it."""
    target = start("printing", python)
    until("each thread has printed", lambda: hangdbg(
        "eval", target.pid, "len(rounds) + len(errors)").out.strip() >= "6")
    for turn in range(2):
        for kind in KINDS:
            done = hangdbg("eval", target.pid, kind)
            assert done.rc == (1 if kind == "1/0" else 0), done
            if kind == KINDS[0]:
                assert done.out == "mine\n", done
    commands = [word for kind in KINDS for word in ("-c", "p " + kind)]
    assert hangdbg("attach", target.pid, *commands).rc in (0, 1)
    # What has been kept writes to where the program does.
    assert hangdbg("eval", target.pid, "{type(k).__name__ for k in kept}").out == "{'_Stream'}\n"
    assert hangdbg("eval", target.pid, "[k.write('x') for k in kept] and kept[0].encoding").rc == 0
    result = target.finish()
    assert result == {"errors": [], "rounds": 6, "own": "TextIOWrapper"}


def test_two_clients_print(some_python):
    """Each gets what its own evaluations print, and only that."""
    target = start("printing", some_python)
    said = {}

    def ask(who):
        said[who] = [hangdbg("eval", target.pid, "for n in range(300): print('%s', n)" % who)
                     for _ in range(5)]

    clients = [threading.Thread(target=ask, args=(who,)) for who in "ab"]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    for who in "ab":
        expected = "".join("%s %d\n" % (who, n) for n in range(300))
        assert [done.out for done in said[who]] == [expected] * 5
    assert target.finish() == {"errors": [], "rounds": 6, "own": "TextIOWrapper"}


def test_a_child_that_the_expression_forks_prints_nothing(python):
    """Neither to the client nor to the program's own stream, which may hold what the
    parent is still to write; nor when it flushes."""
    target = start("lock_main", python)
    for flush in (False, True):
        done = hangdbg("eval", target.pid, "import os; print(os.fork() > 0, flush=%s)" % flush)
        assert (done.rc, done.out) == (0, "True\n"), done
    until("no child", lambda: not hangdbg(
        "eval", target.pid, "__import__('os').waitpid(-1, 0)").rc)
    assert target.finish()["answer"] == 41


FORK = """
global os, sys, threading, fork, before
import os, sys, threading, warnings
warnings.simplefilter("ignore")
def fork():
    pid = os.fork()
    if pid == 0:
        for n in range(20):
            thread = threading.Thread(target=print, args=("line", n))
            thread.start()
            thread.join()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)
before, sys.stdout = sys.stdout, open(%r, "w")
"""


def test_a_child_that_the_program_forks_meanwhile_prints_as_it_did(python, tmp_path):
    """Its threads come to have the numbers of the parent's that evaluated."""
    path = tmp_path / "printed"
    target = start("lock_main", python)
    assert hangdbg("eval", target.pid, FORK % str(path)).rc == 0
    forks = "thread = threading.Thread(target=fork); thread.start(); thread.join(); print('end')"
    done = hangdbg("eval", target.pid, forks)
    assert (done.rc, done.out) == (0, "end\n"), done
    assert hangdbg("eval", target.pid, "sys.stdout.close(); sys.stdout = before").rc == 0
    assert path.read_text() == "".join("line %d\n" % n for n in range(20))
    assert target.finish()["answer"] == 41
