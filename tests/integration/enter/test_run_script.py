"""`hangdbg run SCRIPT` is `python3 SCRIPT`, with a prompt where nobody has caught an
exception, and at breakpoint()."""

import os
import re
import signal
import subprocess
import sys

import pytest

import harness
import interpreters
from harness import hangdbg

SCRIPT = '''
import os, signal, sys

def fail(text):
    local = text * 2
    raise ValueError(text)

def show():
    names = dict(vars(sys.modules["__main__"]))
    loader = names["__loader__"]
    print([names.get(name) for name in ("__file__", "__name__", "__package__", "__cached__")],
          type(loader).__name__, getattr(loader, "path", ""), sorted(names), sys.argv, sys.path,
          getattr(sys, "orig_argv", ""), sys.flags, __builtins__,
          getattr(names["__spec__"], "origin", None))

class Pickled:
    pass

def main(what):
    if what == "show":
        show()
    elif what == "code":
        sys.exit(9)
    elif what == "text":
        sys.exit("a reason")
    elif what == "fail":
        fail("x")
    elif what == "hook":
        sys.excepthook = lambda kind, error, trace: print(
            kind, trace.tb_frame.f_code.co_name, trace is error.__traceback__)
        fail("x")
    elif what == "interrupt":
        raise KeyboardInterrupt
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "_exit":
        os._exit(3)
    elif what == "thread":
        import threading
        threading.Thread(target=fail, args=("x",), name="one").start()
    elif what == "spawn":
        import multiprocessing, pickle
        child = multiprocessing.get_context("spawn").Process(target=fail, args=("y",))
        child.start()
        child.join()
        print(child.exitcode, type(pickle.loads(pickle.dumps(Pickled()))))

if __name__ == "__main__":
    main(sys.argv[1])
'''


@pytest.fixture
def folder(tmp_path):
    """script.py, a package, a folder and an archive that can be run, all the same."""
    (tmp_path / "script.py").write_text(SCRIPT)
    for name in ("package", "runs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__main__.py").write_text(SCRIPT)
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "link.py").symlink_to("package/__main__.py")
    return tmp_path


def run(python, folder, *words):
    return subprocess.run(
        [str(harness.PROGRAM), "run", "--python", python, *words], cwd=folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=harness.PATIENCE, preexec_fn=harness.die_with_us)


SAME = [
    *[["script.py", what] for what in (
        "show", "code", "text", "fail", "hook", "interrupt", "kill", "_exit", "thread",
        "spawn")],
    ["./script.py", "show"], ["link.py", "show"], ["runs", "show"], ["runs", "fail"],
    ["-m", "package", "show"], ["-m", "package.__main__", "fail"], ["-m", "nothing.there"],
    ["broken.py"], ["nothing.py"]]


def test_it_runs_as_without_us(some_python, folder):
    """Output, traceback and exit code, and what it sees of itself."""
    for words in SAME:
        if words == ["broken.py"] and interpreters.minor(some_python) < 8:
            continue  # its own parser of files numbers the lines otherwise
        plain = subprocess.run([some_python, *words], cwd=folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, timeout=harness.PATIENCE)
        ours = run(some_python, folder, *words)
        code = plain.returncode if plain.returncode >= 0 else 128 - plain.returncode
        assert (ours.returncode, ours.stdout, ours.stderr) == (
            code, plain.stdout, plain.stderr), words


def test_it_inherits_nothing_of_ours(newest_python, folder):
    (folder / "open.py").write_text(
        "import os, signal\n"
        "print(sorted(os.listdir('/proc/self/fd')), signal.getsignal(signal.SIGPIPE),\n"
        "      signal.pthread_sigmask(signal.SIG_BLOCK, []))\n")
    plain = subprocess.run([newest_python, "open.py"], cwd=folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, text=True, timeout=harness.PATIENCE)
    assert run(newest_python, folder, "open.py").stdout == plain.stdout


def test_commands_after_the_end(some_python, folder):
    done = run(some_python, folder, "-c", "w", "-c", "p local", "-c", "u", "-c", "p what",
               "-c", "p sum(ord(c) for c in what)", "script.py", "fail")
    assert done.returncode == 1
    assert done.stderr.count("ValueError: x") == 1, done
    assert re.search(r"<module>\(\)\n.*\n.*main\(\)\n.*\n> .*script\.py\(6\)fail\(\)\n"
                     r"-> raise ValueError\(text\)\n'xx'\n> .*main\(\)\n.*\n'fail'\n412\n$",
                     done.stdout), done.stdout


@pytest.mark.parametrize("words", [["broken.py"], ["script.py", "code"]])
def test_no_prompt_where_nothing_was_left(words, newest_python, folder):
    """Not even the commands are run."""
    done = run(newest_python, folder, "-c", "p 1", *words)
    assert done.returncode == (1 if words == ["broken.py"] else 9) and not done.stdout, done


def test_prompt_at_the_end(some_python, folder, on_terminal):
    session = on_terminal("run", "--python", some_python, folder / "script.py", "fail")
    session.expect(r"^ValueError: x$")
    session.expect(r"^> \S*script\.py\(6\)fail\(\)$")
    session.expect_prompt()
    session.ask("p local", r"^'xx'$")
    session.ask("u", r"main\(\)$")
    session.ask("local = 5", "")
    session.ask("p local", "^5$")
    session.type("c\r")
    assert session.wait() == 1, session.text
    assert session.text.count("Traceback") == 1, session.text


def test_no_post_mortem(newest_python, folder, on_terminal):
    session = on_terminal("run", "--python", newest_python, "--no-post-mortem",
                          folder / "script.py", "fail")
    assert session.wait() == 1
    assert "(hangdbg" not in session.text and "ValueError: x" in session.text


def test_a_thread_that_dies(some_python, folder):
    """After the program's own hook; the others go on meanwhile."""
    if interpreters.minor(some_python) < 8:
        pytest.skip("threading has no excepthook")
    (folder / "threads.py").write_text(
        "import threading\n"
        "def fail(inner):\n    1 / inner\n"
        "threading.excepthook = lambda args: print('hook', args.exc_type.__name__, flush=True)\n"
        "thread = threading.Thread(target=fail, args=(0,))\n"
        "thread.start()\nthread.join()\nprint('joined')\n")
    done = run(some_python, folder, "-c", "p inner", "-c", "w", "threads.py")
    assert done.returncode == 0, done
    assert re.search(r"^hook ZeroDivisionError\n> .*fail\(\)\n-> 1 / inner\n0\n(.*\n)+joined$",
                     done.stdout, re.M), done.stdout


def test_breakpoint(some_python, folder, on_terminal):
    (folder / "stops.py").write_text(
        "def stops():\n    one = 1\n    breakpoint()\n    two = one + 1\n    return two\n"
        "print('result', stops())\nname = input('name? ')\nprint('name', name)\n")
    session = on_terminal("run", "--python", some_python, folder / "stops.py")
    session.expect(r"^> \S*stops\.py\(3\)stops\(\)$")
    session.expect_prompt()
    session.ask("p one", "^1$")
    session.ask("n", r"^> \S*stops\.py\(4\)stops\(\)$")
    session.ask("one = 41", "")
    session.ask("n", r"^> \S*stops\.py\(5\)stops\(\)$")
    session.type("c\r")
    session.expect("^result 42$")
    session.expect(r"^name\? ")
    session.type("ada\r")  # the terminal is the program's again
    session.expect("^name ada$")
    assert session.wait() == 0, session.text


def test_what_it_forks_is_not_ours(newest_python, folder):
    (folder / "forks.py").write_text(
        "import os, sys\nif os.fork() == 0:\n    raise ValueError('child')\n"
        "print(os.WEXITSTATUS(os.wait()[1]), flush=True)\nraise KeyError('parent')\n")
    done = run(newest_python, folder, "-c", "p 'here', os.getpid()", "forks.py")
    assert done.returncode == 1
    assert done.stdout.count("here") == 1 and done.stdout.startswith("1\n"), done


def test_our_death_at_the_prompt(some_python, folder, on_terminal):
    """It ends as if it had been told to."""
    (folder / "last.py").write_text(
        "import atexit, sys\natexit.register(lambda: open('ended', 'w').close())\nfail\n")
    session = on_terminal("run", "--python", some_python, folder / "last.py", cwd=folder,
                          behind=("sh", "-c", '"$@"; sleep 60', "sh"))
    session.expect_prompt()
    shell = session.process.pid  # without it the terminal would hang up
    ours, = map(int, open("/proc/%d/task/%d/children" % (shell, shell)).read().split())
    os.kill(ours, signal.SIGKILL)
    harness.until("the program's end", (folder / "ended").exists, seconds=5)


def test_a_python_that_is_not_there():
    hangdbg("run", "--python", "/nothing/python3", "x.py").assert_refused(
        2, "cannot run /nothing/python3", "--python")
    hangdbg("run", "--python", sys.executable, "-x", "x.py").assert_refused(2)


def test_stop_at_the_first_line(some_python, folder, on_terminal):
    session = on_terminal("run", "--python", some_python, "--stop", folder / "script.py", "fail")
    session.expect(r"^> \S*script\.py\([12]\)<module>\(\)$")
    session.expect_prompt()
    session.ask("b fail", r"^Breakpoint 1 ")
    session.type("c\r")
    session.expect(r"^> \S*script\.py\(5\)fail\(\)$")
    session.expect_prompt()
    session.ask("cl 1", "")
    session.ask("n", r"^> \S*script\.py\(6\)fail\(\)$")
    session.type("c\r")
    session.expect("^ValueError: x$")
    session.expect(r"^> \S*script\.py\(6\)fail\(\)$")
    session.expect_prompt()
    session.type("q\r")
    assert session.wait() == 1, session.text


def test_stop_in_a_module(some_python, folder):
    done = run(some_python, folder, "--stop", "-c", "p __name__",
               "-c", "w", "-m", "package", "code")
    assert done.returncode == 9, done
    assert re.search(r"> \S*package/__main__\.py\([12]\)<module>\(\)\n", done.stdout), done


def test_interrupt_is_the_programs(newest_python, folder, on_terminal):
    """It ends it, or shows where it was."""
    (folder / "waits.py").write_text(
        "import time\ndef wait(it):\n"
        "    print('waiting', flush=True); [time.sleep(0.1) for _ in range(999)]\n"
        "wait(3)\n")
    session = on_terminal("run", "--python", newest_python, folder / "waits.py")
    session.expect("^waiting$")
    session.type("\x03")
    session.expect("^KeyboardInterrupt$")
    session.expect(r"^> \S*waits\.py\(3\)wait\(\)$")
    session.expect_prompt()
    session.ask("p it", "^3$")
    session.type("c\r")
    assert session.wait() == 130, session.text


def test_a_second_interrupt_opens_a_prompt(newest_python, folder, on_terminal):
    (folder / "stays.py").write_text(
        "import signal, threading\nsignal.signal(signal.SIGINT, lambda *args: None)\n"
        "lock = threading.Lock()\nlock.acquire()\nprint('waiting', flush=True)\n"
        "lock.acquire()\n")
    session = on_terminal("run", "--python", newest_python, folder / "stays.py")
    session.expect("^waiting$")
    session.type("\x03")
    session.expect("Ctrl-C again opens a prompt$")
    session.type("\x03")
    session.expect(r"^> \S*stays\.py\(6\)<module>\(\)$")
    session.expect_prompt()
    session.type("lock.release()\r")  # it may end before there is a prompt again
    session.type("q\r")
    assert session.wait() == 0, session.text
