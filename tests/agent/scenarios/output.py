"""What an expression prints."""

import sys
import _thread

from harness import Agent, Hung


def check_output():
    agent = Agent()
    import io
    sys.stdout, mine = io.StringIO(), sys.stdout
    original, original_stderr = sys.stdout, sys.stderr
    assert agent.result("print('a', flush=True); print('b')\nprint('c', file=__import__('sys')"
                        ".stderr); print('d', end=''); 5") == "5"
    assert agent.output() == [("stdout", "a\nb\n"), ("stderr", "c\n"), ("stdout", "d")]
    assert sys.stdout is original and sys.stderr is original_stderr
    assert original.getvalue() == ""
    refused = agent.refused("evaluate", expression="print('before'); 1/0")
    assert agent.output() == [("stdout", "before\n")] and refused.type == "ZeroDivisionError"
    assert agent.refused("evaluate", expression="__import__('sys').stdout.write(3)").type == (
        "TypeError")
    agent.result("__import__('sys').stdout.writelines(['x', 'y'])")
    assert agent.output() == [("stdout", "xy")]
    assert agent.result("__import__('sys').stdout.getvalue()") == "''"
    sys.stdout = mine


def check_output_is_bounded():
    agent = Agent()
    agent.result("for i in range(200): print('x' * 99999)")
    parts = [text for _, text in agent.output()]
    assert max(map(len, parts)) <= 64 * 1024
    assert 8 << 20 <= len("".join(parts)) < (8 << 20) + 100
    assert "".join(parts).endswith(
        "x\n[hangdbg: output cut after 8 MiB]\n"
        "[hangdbg: %d characters more are left out]\n" % (200 * 100000 - (8 << 20)))
    agent.result("print(1)")
    assert agent.output() == [("stdout", "1\n")]


def check_output_of_other_threads_passes():
    import io
    agent = Agent()
    sys.stdout, mine = io.StringIO(), sys.stdout

    def prints(hung):
        hung.wait()
        print("other thread")
        sys.stdout.flush()

    sys.modules["__main__"].hung = hung = Hung(prints)
    hung.__enter__()
    agent.result("hung.__exit__(), print('ours')")
    assert agent.output() == [("stdout", "ours\n")]
    assert sys.stdout.getvalue() == "other thread\n"
    sys.stdout = mine


def check_kept_stream_outlives_the_agent():
    import io
    agent = Agent()
    main = sys.modules["__main__"]
    sys.stdout, mine = io.StringIO(), sys.stdout
    original = sys.stdout
    agent.result("import sys; kept = sys.stdout; sys.stderr = kept")
    assert sys.stdout is original and sys.stderr is main.kept  # user's doing
    agent.names["forget"](1)
    agent.names.clear()
    main.kept.write("a")
    main.kept.writelines(["b", "c"])
    main.kept.flush()
    print("d", file=main.kept)
    assert main.kept.getvalue() == original.getvalue() == "abcd\n"
    sys.stdout, sys.stderr = mine, sys.__stderr__


def check_no_stdout():
    agent = Agent()
    mine = sys.stdout
    sys.stdout = None
    agent.result("print(1)")
    assert agent.output() == [("stdout", "1\n")]
    assert sys.stdout is None
    sys.stdout = mine


def check_two_sessions_evaluate_at_once():
    agent = Agent()
    import io
    sys.stdout, mine = io.StringIO(), sys.stdout
    original = sys.stdout
    inside, leave, left = [_thread.allocate_lock() for _ in range(3)]
    for lock in (inside, leave, left):
        lock.acquire()
    main = sys.modules["__main__"]
    main.hang = lambda: (inside.release(), leave.acquire())
    main.let_go = lambda: (leave.release(), left.acquire())

    def other():
        agent.handle(2, b'{"command":"evaluate","arguments":{"expression":"hang()"}}')
        left.release()

    _thread.start_new_thread(other, ())
    inside.acquire()
    agent.result("let_go()")  # ends after the other one, which began before
    assert sys.stdout is original, sys.stdout
    sys.stdout = mine


def check_client_gone_while_printing():
    def send(framed):
        raise RuntimeError("client gone")
    agent = Agent(_send=send)
    stdout = sys.stdout
    assert agent.refused("evaluate", expression="print(1)").id == "agent-failed"
    assert sys.stdout is stdout
