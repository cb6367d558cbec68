"""What stands in for fork, exec and posix_spawn, and a child that begins with our text: all is
as it would be without them."""

import os
import posix
import re
import sys
import tempfile

from harness import Agent, read

SHOW = """
import os, sys
print(sys.argv, getattr(sys, "orig_argv", None), sys.path, sys.flags, __name__, __spec__,
      sorted(globals()), globals().get("__file__"), type(__loader__), sys.warnoptions)
print([name for name in sys.modules if "hangdbg" in name], os.listdir("/proc/self/fd"),
      [path for path in sys.path_importer_cache if "dev" in path], sorted(os.environ))
"""
FILES = {
    "show.py": SHOW, "folder/__main__.py": SHOW, "package/__init__.py": "",
    "package/__main__.py": SHOW, "package/part.py": SHOW, "ends.py": "raise SystemExit(7)",
    "fails.py": "def f():\n    1/0\ntry:\n    f()\nfinally:\n    raise ValueError\n",
    "interrupted.py": "raise KeyboardInterrupt", "bad.pyc": "x" * 30,
    "hook.py": "import sys\nsys.excepthook = lambda kind, error, trace: print(kind, "
               "trace.tb_frame.f_code.co_filename)\n1/0\n",
    "latin.py": "# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))\n",
}
CALLS = [
    ["show.py"], ["./show.py", "a b", ""], ["-X", "dev", "-S", "show.py"], ["-I", "show.py"],
    ["-Wignore", "-W", "error", "-OOE", "show.py"], ["-c", SHOW, "-x"], ["-uc" + SHOW],
    ["-Ic", SHOW], ["-m", "package", "-c"], ["-Bmpackage.part"], ["-m", "nowhere"],
    ["folder", "x"], ["-I", "folder"], ["show.pyc"], ["compiled"], ["bad.pyc"], ["ends.py"],
    ["fails.py"], ["interrupted.py"], ["hook.py"], ["latin.py"], ["nowhere.py"],
    ["-c", "def f():\n  1/0\nf()"], ["-c", "print(1"], ["-c", "raise SystemExit('no')"],
    ["-c", "\n  if 1:\n\n    print(3)\n  1/0"], ["/dev/stdin"],
    ["--check-hash-based-pycs", "never", "show.py"],
]
NOT_HELD = [["-"], ["-V"], ["-c", ""], ["-x", "show.py"], ["-i", "nowhere.py"]]


def holding(**arguments):
    """An agent that has been asked for it. What children wait for is not there any more."""
    start, package = read("../python/start.py"), read("../python/hangdbg/__init__.py")
    text = ("exec(compile(r'''%s''', '<hangdbg run>', 'exec'), {'package': r'''%s''', 'options': {"
            "'caller': 0, 'signal': 0, 'patience': 0, 'module': False, 'post_mortem': False, "
            "'entry': False, 'ready': -1, 'tell': '', 'hold_forks': 0, 'held': (60, [''])}})\n" % (
                start, package))
    with open("/proc/self/comm", "w") as comm:  # the control thread's
        comm.write("hangdbg-ctl")
    agent = Agent()
    agent.load("spawning")
    agent.request("hangdbg/holdChildren", starters=read("starters.py"), text=text,
                  package=package, patience=60, debugger=os.getpid(), **arguments)
    return agent


def starters():
    import subprocess
    import _posixsubprocess
    return [getattr(module, name, None)
            for module in (os, posix, subprocess, _posixsubprocess) for name in (
                "fork", "forkpty", "posix_spawn", "execv", "execve", "_fork_exec", "fork_exec")]


def in_folder():
    import py_compile
    os.chdir(tempfile.mkdtemp())
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w", encoding="latin-1") as file:
            file.write(text)
    for name in "show.pyc", "compiled":
        py_compile.compile("show.py", name, doraise=True)


def outcome(words, **how):
    import subprocess
    done = subprocess.run([sys.executable] + words, input=b"print(5)\n", stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, **how)
    return [done.returncode] + [re.sub("0x[0-9a-f]+", "0x", out.decode(errors="replace"))
                                for out in (done.stdout, done.stderr)]


def check_children_are_as_without_us():
    import shutil
    in_folder()
    calls = CALLS + NOT_HELD
    expected = [outcome(words) for words in calls]
    open_before = os.listdir("/proc/self/fd")
    holding()
    names = posix.fork.start.__globals__
    in_pipe, texts = names["in_pipe"], []
    names["in_pipe"] = lambda text, count: texts.append(text) or in_pipe(text, count)
    for words, wanted in zip(calls, expected):
        del texts[:]
        found = outcome(words)
        assert found == wanted, "%r\n%s" % (words, [
            pair for pair in zip(str(found).split("\\n"), str(wanted).split("\\n"))
            if pair[0] != pair[1]])
        assert len(texts) == (words not in NOT_HELD), words
    assert os.listdir("/proc/self/fd") == open_before
    shutil.rmtree(os.getcwd())


def check_children_in_a_folder_that_is_gone():
    in_folder()
    here = os.getcwd()
    calls = [[here + "/show.py", "x"], ["show.py"], ["-I", here + "/show.py"], [here + "/folder"],
             ["-c", SHOW], ["-m", "timeit", "-h"], ["-m", "this"], ["-Im", "this"],
             ["-c", "import runpy, sys; print(sys.path)"]]
    os.makedirs("gone")
    os.chdir("gone")
    os.rmdir(here + "/gone")
    expected = [outcome(words) for words in calls]
    agent = holding()
    for words, wanted in zip(calls, expected):
        assert outcome(words) == wanted, (words, outcome(words), wanted)
    agent.names["forget"](1)


def check_who_starts_them():
    """Whatever another way it is started in."""
    import shutil
    import subprocess
    in_folder()
    before = starters()
    agent = holding()
    names = posix.fork.start.__globals__
    in_pipe, texts = names["in_pipe"], []
    names["in_pipe"] = lambda text, count: texts.append(text) or in_pipe(text, count)

    def held(how, code=7):
        del texts[:]
        found = how()
        assert os.waitstatus_to_exitcode(found) == code if (
            hasattr(os, "waitstatus_to_exitcode")) else found >> 8 == code, found
        return len(texts)

    def forked(how):
        def start():
            pid = os.fork()
            if pid == 0:
                try:
                    names["text"] = kept  # of one that has a session of its own
                    names["home"] = os.getpid()
                    how()
                finally:
                    os._exit(9)
            return os.waitpid(pid, 0)[1]
        return start

    def spawned(*words, **how):
        pid = os.posix_spawn(sys.executable, [sys.executable, *words], os.environ, **how)
        return os.waitpid(pid, 0)[1]

    kept = names["text"]
    words = [sys.executable, "ends.py"]
    for call in (lambda: os.execv(sys.executable, words),
                 lambda: os.execl(sys.executable, *words),
                 lambda: os.execve(path=sys.executable, argv=words, env={}),
                 lambda: os.execvp(sys.executable, words)):
        assert held(forked(call)) == 0  # in the child
    out = os.open("out", os.O_CREAT | os.O_WRONLY)
    if hasattr(os, "posix_spawn"):
        assert held(lambda: spawned("ends.py")) == 1
        assert held(lambda: spawned("ends.py", file_actions=[
            (os.POSIX_SPAWN_OPEN, 5, "out2", os.O_CREAT | os.O_EXCL, 0o600),
            (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_CLOSE, out)])) == 1
        assert held(lambda: spawned("ends.py", file_actions=[
            (os.POSIX_SPAWN_DUP2, out, names["lowest"] + 1)])) == 0
        assert held(lambda: spawned("ends.py", file_actions=iter([]))) == 0
        if hasattr(os, "POSIX_SPAWN_CLOSEFROM"):
            assert held(lambda: spawned("ends.py", file_actions=[
                (os.POSIX_SPAWN_CLOSEFROM, 3)])) == 1
    exit_code = lambda *words, **how: subprocess.call(*words, **how) << 8  # noqa: E731
    assert held(lambda: exit_code(words, close_fds=False)) == 1
    assert held(lambda: exit_code(words, preexec_fn=lambda: None)) == 0
    assert held(lambda: exit_code([os.path.relpath(sys.executable), "ends.py"])) == 0
    assert held(lambda: exit_code(["sh", "-c", "exit 7"])) == 0
    assert held(lambda: exit_code(["python", "-c", "exit 7"], executable="/bin/sh")) == 0
    with open("out") as file:
        most = min(1024, os.sysconf("SC_OPEN_MAX"))
        taken = [os.dup2(file.fileno(), number) for number in range(most - 40, most)]
        assert held(lambda: exit_code(words)) == 1  # all of our numbers are the program's
        for number in taken:
            os.close(number)
    agent.names["forget"](1)
    assert all(a is b for a, b in zip(starters(), before))
    assert held(lambda: exit_code(words)) == 0
    shutil.rmtree(os.getcwd())


def check_they_are_like_what_they_stand_for():
    import copy
    import inspect
    import pickle
    before = starters()
    agent = holding()
    during = starters()
    assert before == during and during == before and set(before) == set(during)
    assert not all(a is b for a, b in zip(before, during))
    assert (os.execve in os.supports_fd) == (before[4] in os.supports_fd)
    assert os.fork is posix.fork and pickle.loads(pickle.dumps(os.fork)) is os.fork
    assert copy.deepcopy(os.fork) is os.fork
    like = [(type(it).__name__, it.__class__, inspect.isbuiltin(it), callable(it), dir(it),
             getattr(it, "__text_signature__", 0), hasattr(it, "__dict__"), refuses(it))
            for it in before + during if it is not None]
    assert like[:len(like) // 2] == [("builtin_function_or_method",) + one[1:]
                                     for one in like[len(like) // 2:]], like
    for a, b in zip(before, during):
        assert (repr(a), getattr(a, "__doc__", 0), getattr(a, "__module__", 0)) == (
            repr(b), getattr(b, "__doc__", 0), getattr(b, "__module__", 0))

    class Kept:
        fork = os.fork

    for fork in os.fork, Kept().fork:
        pid = fork()
        if pid == 0:  # it has none of them
            os._exit(all(a is b for a, b in zip(starters(), before)))
        assert os.waitpid(pid, 0)[1] >> 8 == 1
    for call in (lambda: os.fork(1), lambda: os.execv(1), lambda: os.execv("", ["x"]),
                 lambda: os.execve("/nowhere", [], {}), lambda: os.execv("/bin/sh", [])):
        errors = []
        for _ in range(2):
            try:
                call()
            except Exception as error:
                errors.append((type(error), str(error)))
            agent.names["forget"](1)
        assert len(errors) == 2 and errors[0] == errors[1], errors
        agent = holding()
    agent.names["forget"](1)
    pid = Kept().fork()
    if pid == 0:
        os._exit(all(a is b for a, b in zip(starters(), before)))
    assert os.waitpid(pid, 0)[1] >> 8 == 1


def refuses(function):
    try:
        function.of_the_program = 1
    except AttributeError as error:
        return str(error)


def check_another_session():
    """One goes, the other stays; none is held any more where that is said; a process that
    was forked past us has them until it is debugged, or starts something."""
    before = starters()
    agent = holding()
    agent.request("hangdbg/holdChildren", session=2, starters="", text="", package="",
                  patience=9, debugger=1)
    debuggers = posix.fork.start.__globals__["debuggers"]
    assert list(debuggers.values()) == ["/proc/%d" % os.getpid(), "/proc/1"]
    agent.names["forget"](1)
    assert list(debuggers.values()) == ["/proc/1"]  # what execs waits as long as that is there
    assert not all(a is b for a, b in zip(starters(), before))
    agent.request("hangdbg/holdChildren", session=2, starters="", text="", package="",
                  patience=0, debugger=0)
    assert all(a is b for a, b in zip(starters(), before))
    agent = holding()
    old = os.fork
    pid = old.real()
    if pid == 0:
        again = holding()
        fine = os.fork is not old and os.fork.real is old.real and old.current() is os.fork
        again.names["forget"](1)
        os._exit(fine and all(a is b for a, b in zip(starters(), before)))
    assert os.waitpid(pid, 0)[1] >> 8 == 1
    pid = old.real()
    if pid == 0:
        try:
            os.execv("/nowhere", ["x"])
        except OSError:
            os._exit(all(a is b for a, b in zip(starters(), before)))
    assert os.waitpid(pid, 0)[1] >> 8 == 1


def check_nothing_is_imported_for_long():
    assert "_posixsubprocess" not in sys.modules and "subprocess" not in sys.modules
    agent = holding()
    assert "_posixsubprocess" in sys.modules
    agent.names["forget"](1)
    import gc
    gc.collect()
    assert "_posixsubprocess" not in sys.modules and "subprocess" not in sys.modules


def check_what_is_imported_meanwhile():
    import subprocess
    agent = holding()
    del sys.modules["subprocess"], subprocess
    import subprocess
    sys.modules["later"] = later = type(sys)("later")
    later.fork = os.fork
    pid = os.fork()
    if pid == 0:
        os._exit(all(type(it) in (type(len), type(None)) for it in starters()))
    assert os.waitpid(pid, 0)[1] >> 8 == 1
    agent.names["forget"](1)
    assert later.fork is os.fork
    assert all(type(it) in (type(len), type(None)) for it in starters())
    assert sys.modules["_posixsubprocess"].fork_exec is getattr(
        subprocess, "_fork_exec", sys.modules["_posixsubprocess"].fork_exec)


def check_a_fork_meanwhile():
    """A process that is forked while our text is in the making has its pipe, too, open to write
    to: nobody waits for its end."""
    import signal
    agent = holding()
    names = posix.fork.start.__globals__
    forked = []

    class Posix:
        def __getattr__(self, name):
            return getattr(posix, name)

        def write(self, number, text):
            if len(forked) < most:
                pid = os.fork.real()
                if pid == 0:
                    signal.pause()
                forked.append(pid)
            return posix.write(number, text)

    names["posix"] = Posix()
    before = os.listdir("/proc/self/fd")
    most = 2
    numbers = names["in_pipe"](b"text", 2)
    signal.alarm(60)
    for number in numbers:
        with open("/dev/fd/%d" % number, "rb") as file:
            assert file.read() == (b"text" if number == numbers[0] else b"")
    names["let_go"](numbers)
    most = 9
    assert names["in_pipe"](b"text", 1) == () and len(forked) == 5
    assert os.listdir("/proc/self/fd") == before
    for pid in forked:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    agent.names["forget"](1)


def check_fork_does_not_warn_of_our_threads():
    import threading
    import warnings
    agent = holding()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("error")
        pid = os.fork()
        if pid == 0:
            os._exit(5)
    assert os.waitpid(pid, 0)[1] >> 8 == 5 and not seen
    stop.set()
    thread.join()
    agent.names["forget"](1)


def check_what_a_signal_handler_raises():
    """In a process that waits after its fork: the program's."""
    import signal
    agent = holding()

    class Stop(Exception):
        pass

    def handler(*_):
        raise Stop

    signal.signal(signal.SIGUSR1, handler)
    names = posix.fork.start.__globals__
    for fails, wanted in ("os.kill(os.getpid(), 10)", 4), ("1 / 0", 5):
        names["package"] = "__hangdbg__ = True\nimport os\ndef _hold_fork(_):\n    " + fails
        try:
            pid = os.fork()
            if pid == 0:
                os._exit(5)
        except Stop:
            os._exit(4)
        assert os.waitpid(pid, 0)[1] >> 8 == wanted
    agent.names["forget"](1)
