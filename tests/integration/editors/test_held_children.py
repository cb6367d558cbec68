"""Processes that a program starts under an editor wait before their first line until their
sessions have set their breakpoints (`subProcess`), however they are started."""

import os
import select
import signal
import subprocess
import sys
import time

import pytest

import processes
from dap_client import DapClient, Refused
from harness import AGENT_GONE, PATIENCE, die_with_us, track, until
from test_dap import stack

CAN = {"supportsStartDebuggingRequest": True}

CHILD = """\
import os, sys
def run(words=None):
    first = 41
    return first + 1
if __name__ == "__main__":
    print(sys.argv, getattr(sys, "orig_argv", 0), sys.path[0], __name__, sys.flags.dev_mode,
          sorted(globals()), "hangdbg" in sys.modules, sorted(os.environ), flush=True)
    os._exit(run())
"""
LINE = 3

BEGIN = """\
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child.py")
code = "import sys; sys.path.insert(0, %r); import child, os; os._exit(child.run())" % sys.path[0]
if __name__ == "__main__":
    sys.stdin.readline()
    import subprocess
    def call(*words, **how):
        return subprocess.Popen([sys.executable, *words], **how).wait()
"""
KINDS = {
    "script": "    code = call('-X', 'dev', path, 'a b', '')\n",
    "code": "    code = call('-c', code, '-x')\n",
    "joined": "    code = call('-uc' + code)\n",
    "module": "    code = call('-m', 'child', 'a', cwd=sys.path[0])\n",
    "bytes": "    code = call(b'-c', code.encode())\n",
    "many descriptors": "    code = call(path, close_fds=False)\n",
    "posix_spawn": "    code = os.waitpid(os.posix_spawn(sys.executable, [sys.executable, path], "
                   "os.environ), 0)[1] >> 8 if hasattr(os, 'posix_spawn') else call(path)\n",
    "spawnv": "    code = os.spawnv(os.P_WAIT, sys.executable, [sys.executable, path])\n",
    "fork and exec": "    pid = os.fork()\n    if pid == 0:\n        os.execl(sys.executable, "
                     "sys.executable, path)\n    code = os.waitpid(pid, 0)[1] >> 8\n",
    **{method: "    import child, multiprocessing\n"
               "    context = multiprocessing.get_context(%r)\n"
               "    with context.Pool(1) as pool:\n        code = pool.apply(child.run)\n" % method
       for method in ("fork", "spawn", "forkserver")},
}
END = "    print('ended', code, flush=True)\n"


class Sessions:
    """An editor, and one more for each process that it is asked to open a session for."""

    def __init__(self, first, path, line):
        self.all, self.path, self.line = [first], path, line
        self.stops = []

    def until(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, (what, self.stops, [
                one.received[-5:] for one in self.all])
            known = [one for one in self.all if b"\r\n\r\n" in one.unread]
            ready, _, _ = select.select([one.read_fd for one in self.all], [], [],
                                        0 if known else 0.1)
            for one in list(self.all):
                if one.read_fd in ready or one in known:
                    try:
                        one._receive(end)
                    except EOFError:
                        self.all.remove(one)
                self.look(one)

    def look(self, one):
        for question in list(one.questions):
            one.questions.remove(question)
            self.open(question)
            one.answer(question)
        for event in list(one.events):
            if event["event"] == "stopped" and event["body"]["reason"] == "breakpoint":
                one.events.remove(event)
                thread = event["body"]["threadId"]
                self.stops.append(stack(one, thread)[0]["line"])
                one.call("continue", threadId=thread)

    def open(self, question):
        child = DapClient.stdio()
        child.initialize(**CAN)
        number = child.request("attach", **question["arguments"]["configuration"])
        end = time.monotonic() + PATIENCE
        while not any(event["event"] == "initialized" for event in child.events):
            if number in child.responses and not child.responses[number]["success"]:
                return  # it has ended meanwhile
            child._receive(end)
        try:
            child.call("setBreakpoints", source={"path": self.path},
                       breakpoints=[{"line": self.line}])
            child.call("configurationDone")
        except Refused as refused:
            assert "has ended" in refused.text or "frame evaluator" in refused.text, refused.text
            if "has ended" in refused.text:
                return
            child.call("configurationDone")
        self.all.append(child)


@pytest.fixture
def program(tmp_path):
    def write(kind):
        (tmp_path / "child.py").write_text(CHILD)
        path = tmp_path / "program.py"
        path.write_text(BEGIN + KINDS[kind] + END)
        return str(path), str(tmp_path / "child.py")
    return write


def started(python, path, **how):
    return track(subprocess.Popen(
        [python, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, preexec_fn=die_with_us, **how))


def attached(editor, process):
    until("it reads", lambda: open("/proc/%d/syscall" % process.pid).read().split()[:2] == [
        "0", "0x0"])
    shown = editor.attach(process.pid, can=CAN, subProcess=True)
    editor.call("continue", threadId=shown["threadId"])


def go_on(process):
    process.stdin.write("go\n")
    process.stdin.flush()


def printed(editor):
    return "".join(message["body"]["output"] for message in editor.received
                   if message.get("event") == "output" and
                   message["body"].get("category") == "stdout")


def without_warnings(out):
    """From 3.12 on fork() warns of our threads."""
    lines = out.splitlines()
    return [line for at, line in enumerate(lines) if "fork" + "() may lead" not in "\n".join(
        lines[max(0, at - 1):at + 1])]


def as_without_us(python, path):
    return subprocess.run([python, path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True).stdout


def stops(python, kind):
    """Up to 3.8, what is forked where breakpoints are set has none."""
    old = subprocess.run([python, "-c", "import sys; sys.exit(sys.version_info < (3, 9))"])
    return [] if old.returncode and kind == "forkserver" else [LINE]


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_launched_program(edge_python, program, kind):
    path, child = program(kind)
    with DapClient.stdio() as editor:
        editor.initialize(**CAN)
        number = editor.request("launch", program=path, python=edge_python, subProcess=True)
        editor.event("initialized")
        editor.call("configurationDone")
        assert editor.response(number)["success"]
        sessions = Sessions(editor, child, LINE)
        sessions.until("its end", lambda: any(
            event["event"] == "terminated" for event in editor.events))
        assert sessions.stops == stops(edge_python, kind)
        assert printed(editor) == as_without_us(edge_python, path)


@pytest.mark.parametrize("kind", KINDS)
def test_of_one_that_was_there_before(edge_python, program, kind):
    path, child = program(kind)
    process = started(edge_python, path)
    with DapClient.stdio() as editor:
        attached(editor, process)
        go_on(process)
        sessions = Sessions(editor, child, LINE)
        sessions.until("its end", lambda: process.poll() is not None)
        assert sessions.stops == stops(edge_python, kind)
        assert without_warnings(process.stdout.read()) == as_without_us(
            edge_python, path).splitlines()


# Each line is what a process of another kind prints.
PROGRAMS = {
    "executors": """
    import asyncio, child, concurrent.futures, multiprocessing, threading
    async def two():
        one = [await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdout=subprocess.PIPE) for _ in range(2)]
        return [(await process.communicate(), process.returncode) for process in one]
    print(asyncio.run(two()))
    with concurrent.futures.ProcessPoolExecutor(
            2, multiprocessing.get_context("spawn")) as pool:
        print(list(pool.map(child.add, range(4))))
    ended = []
    threads = [threading.Thread(target=lambda: ended.append(
        call(path, stdout=subprocess.DEVNULL))) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(ended)
""",
    "a daemon": """
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.dup2(write, 1)
            os.closerange(3, 1024)
            os.environ.clear()
            os.execve(sys.executable, [sys.executable, "-I", "-S", "-E", path, "daemon"], {})
        os._exit(0)
    os.close(write)
    os.wait()
    print(open(read).read())
""",
    "others": """
    def out(*words, **how):
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **how)
        print(done.returncode, done.stdout)
    out("/usr/bin/python3", "-c", "print(1)")
    out("sh", "-c", sys.executable + " -c 'print(2)'")
    out(sys.executable, "-c", "import os; print(sorted(os.environ))", env={})
    out(sys.executable, "-I", "-c", "print(3)", close_fds=False, start_new_session=True)
    out(sys.executable, "-c", "raise KeyboardInterrupt")
    out(sys.executable, "-c", "1/0")
    out(sys.executable, "-", input=b"print(4)")
    out(sys.executable, "-c", "print(input())", input=b"5")
    out(sys.executable, path, preexec_fn=lambda: os.write(1, b"6"))
    read, write = os.pipe()
    # A traceback opens the files of all frames, ours too: not one of these.
    out(sys.executable, "-c", "import os, traceback; pipes = [os.pipe() for _ in range(9)]\\n"
        "traceback.print_stack(file=open(os.devnull, 'w')); os.write(%d, b'7')" % write,
        pass_fds=[write])
    print(os.read(read, 9))
    out(sys.executable, "-c", "import os; print(os.getcwd())", cwd="/")
    out(os.path.relpath(sys.executable), "-c", "print(8)")
    os.environ["PATH"] = os.path.dirname(sys.executable)
    out(os.path.basename(sys.executable), "-c", "print(9)")
    for name in sorted(os.listdir(sys.path[0])):
        print(name)
""",
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_programs_are_as_without_us(edge_python, program, tmp_path, kind):
    path, child = program("script")
    with open(child, "a") as file:
        file.write("def add(number):\n    return number + 1\n")
    (tmp_path / "program.py").write_text(BEGIN + PROGRAMS[kind])
    expected = sorted(as_without_us(edge_python, path).splitlines())
    process = started(edge_python, path)
    with DapClient.stdio() as editor:
        attached(editor, process)
        go_on(process)
        sessions = Sessions(editor, child, 1000)
        sessions.until("its end", lambda: process.poll() is not None)
        assert sorted(without_warnings(process.stdout.read())) == expected
        assert len(sessions.all) > 1


LEFT = BEGIN + """\
    import time
    def starters():
        import multiprocessing.util, posix, _posixsubprocess
        return [getattr(module, name, None) for module in (os, posix, subprocess,
            _posixsubprocess) for name in ("fork", "forkpty", "posix_spawn", "execv", "execve",
                                           "_fork_exec", "fork_exec")]
    before = starters()
    print("before", flush=True)
    sys.stdin.readline()
    during = starters()
    kept = os.fork
    print("during", flush=True)
    sys.stdin.readline()
    began = time.monotonic()
    codes = [call(path)]
    pid = kept()
    if pid == 0:
        os._exit(5)
    codes.append(os.waitpid(pid, 0)[1] >> 8)
    after = starters()
    at_once = time.monotonic() - began < 9
    print(*[all(a is b for a, b in zip(before, others)) for others in (during, after)], codes,
          at_once)
"""


def test_nothing_stays_behind(edge_python, program, tmp_path):
    """What starts processes is the program's own again; what it has kept of ours does what
    it did before."""
    path, child = program("script")
    (tmp_path / "program.py").write_text(LEFT)
    process = started(edge_python, path)
    go_on(process)
    with DapClient.stdio() as editor:
        assert process.stdout.readline() == "before\n"
        attached(editor, process)
        go_on(process)
        assert process.stdout.readline() == "during\n"
        editor.disconnect()
    until("the agent gone", lambda: not processes.debugger_threads(process.pid), AGENT_GONE)
    out, _ = process.communicate("go\n", timeout=PATIENCE)
    assert "False True [42, 5] True" in out, out


SEVERAL = BEGIN + """\
    import time
    def timed(start):
        began = time.monotonic()
        return start(), time.monotonic() - began < 9
    children = [subprocess.Popen([sys.executable, path]) for _ in range(3)]
    first = timed(lambda: [child.wait() for child in children])
    print("first", first, "second", timed(lambda: call(path)))
"""
# Whether those that are held go on at once, and one that is started after them.
LEAVES = {"leaves": (True, True), "is killed": (True, True), "does not answer": (False, False),
          "says no": (False, True)}


@pytest.mark.parametrize("how", LEAVES)
def test_an_editor_that_does_not_come(edge_python, program, tmp_path, how):
    """The children go on when the editor goes away or is killed; else after some seconds. Where
    it says no, the next one does not wait."""
    path, child = program("script")
    (tmp_path / "program.py").write_text(SEVERAL)
    process = started(edge_python, path)
    editor = DapClient.stdio()
    attached(editor, process)
    go_on(process)
    for number in range(3 if how == "says no" else 1):
        question = editor.question("startDebugging")
        pid = int(question["arguments"]["configuration"]["processId"])
        assert number or (processes.state(pid) != "Z" and process.poll() is None)
        if how == "says no":
            editor.answer(question, "no room for it")
    if how == "leaves":
        editor.call("disconnect")
    elif how == "is killed":
        editor.process.send_signal(signal.SIGKILL)
    out, _ = process.communicate(timeout=PATIENCE)
    first, second = LEAVES[how]
    assert "first ([42, 42, 42], %s) second (42, %s)" % (first, second) in out, out
    editor.process.stdin.close()


OTHERS = BEGIN + """\
    codes = [call('--version'), call('-c', ''), call(path + 'nowhere'),
             subprocess.call(['sh', '-c', 'exit 3']), subprocess.call(
                 [sys.executable, path], preexec_fn=lambda: None),
             subprocess.run([sys.executable, '-'], input=b'raise SystemExit(7)').returncode]
    try:
        subprocess.call([path + 'nowhere'])
    except FileNotFoundError:
        codes.append('none')
    print('codes', codes)
"""


def test_what_is_not_held(newest_python, program, tmp_path):
    """What has nothing to run, reads it from its input, or is no Python."""
    path, child = program("script")
    (tmp_path / "program.py").write_text(OTHERS)
    process = started(newest_python, path)
    with DapClient.stdio() as editor:
        attached(editor, process)
        go_on(process)
        Sessions(editor, child, LINE).until("its end", lambda: process.poll() is not None)
    assert "codes [0, 0, 2, 3, 42, 7, 'none']" in process.stdout.read()


def test_an_editor_without_sub_processes(newest_python, program):
    path, child = program("script")
    process = started(newest_python, path)
    with DapClient.stdio() as editor:
        until("it reads", lambda: open("/proc/%d/syscall" % process.pid).read().split()[:2] == [
            "0", "0x0"])
        shown = editor.attach(process.pid, can=CAN)
        editor.call("continue", threadId=shown["threadId"])
        out, _ = process.communicate("go\n", timeout=PATIENCE)
        assert "ended 42" in out and not editor.questions
