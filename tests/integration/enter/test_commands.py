"""The commands of the prompt, in the FileBaton hang, through `attach -c`."""

import re

import pytest

from harness import hangdbg, start


@pytest.fixture
def target(edge_python, tmp_path):
    hung = start("file_baton", edge_python, str(tmp_path / "lock"))
    yield hung
    assert hung.finish()["answer"] == 41


def says(target, *commands):
    """What `attach -c ...` prints for the commands."""
    flags = [word for command in commands for word in ("-c", command)]
    done = hangdbg("attach", target.pid, *flags)
    assert done.rc == 0, done
    return done.out


# The command, and a pattern that is to be found in what it prints.
@pytest.mark.parametrize(
    "command, pattern",
    [
        ("p self.wait_seconds", r"^0\.1$"),
        ("self.wait_seconds", r"^0\.1$"),
        ("p None", r"^None$"),
        ("pp {'a': list(range(40)), 'b': 'x' * 60}", r"^ 'b': 'x+'\}$"),
        ("a", r"^self = <.*FileBaton"),
        ("whatis answer", r"<class 'int'>"),
        ("whatis self.wait", r"(?i)method wait"),
        ("l", r"^ *\d+ .*->.*(while os\.path|time\.sleep)"),
        ("ll", r"^ *\d+ +.*def wait\(self\):"),
        ("source FileBaton", r"^ *\d+ +.*class FileBaton:"),
        ("threads", r"MainThread"),
        ("help", r"\bwhatis\b"),
        ("h p", r"(?i)\bexpression\b"),
        ("u;; p baton.wait_seconds", r"^0\.1$"),
        ("!answer", r"^41$"),
        ("p [x for x in range(5) if x in seen]", r"^\[0, 2, 4\]$"),
        ("p (lambda n: n + answer)(1)", r"^42$"),
        ("p 'Привет, \U0001f40d'", "^'Привет, \U0001f40d'$"),
        ("print('from', 'the target')", r"^from the target$"),
    ],
)
def test_command(command, pattern, target):
    out = says(target, command)
    assert re.search(pattern, out, re.M), out


def test_thread_switches(newest_python):
    target = start("lock_worker", newest_python)
    done = hangdbg(
        "attach", target.pid, "-c", "thread %d" % target.tid, "-c", "p answer",
        "-c", "thread %d" % target.pid, "-c", "p __name__",
    )
    assert done.rc == 0, done
    assert "41" in done.out.splitlines()
    assert "'threading'" in done.out.splitlines()
    target.finish()


def test_doctor():
    done = hangdbg("doctor")
    assert done.rc == 0, done


def test_doctor_of_a_target(target):
    done = hangdbg("doctor", target.pid)
    assert done.rc == 0, done
    assert "hangdbg attach %d is possible" % target.pid in done.out, done
    assert "hangdbg dump %d is possible" % target.pid in done.out, done


def test_version():
    done = hangdbg("--version")
    assert done.rc == 0, done
    assert re.match(r"hangdbg \d+\.\d+\.\d+", done.out), done


@pytest.mark.parametrize("command", [[], ["eval"], ["attach"], ["doctor"], ["ps"], ["run"]])
def test_help_has_an_example(command):
    done = hangdbg(*command, "--help")
    assert done.rc == 0, done
    assert re.search(r"^\s*(\$ )?hangdbg %s" % " ".join(command), done.out, re.M), done


def test_log_says_what_is_done(target):
    done = hangdbg("eval", target.pid, "answer", "--log=injector:debug")
    assert (done.rc, done.out) == (0, "41\n"), done
    assert "injector" in done.err, done
