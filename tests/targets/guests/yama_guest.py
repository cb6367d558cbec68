"""What a machine with Yama is asked, by its root: the first program of the
virtual machine in tests/integration/support/vm.py. Prints a JSON line for each question.

    {"scope": 1, "as": "user", "asked": "eval", "of": "sleeper", "rc": 3, ...}
"""

import ctypes  # for the program that waits: what is imported here is there
import json
import os
import subprocess
import sys

USER = 1000

SLEEPER = """
import time
def wait(answer):
    print("ready", flush=True)
    time.sleep(1000)
wait(42)
"""
WAITER = """
import sys, time
sys.path.append("/python")
from hangdbg import wait_for_debugger
def wait(answer):
    wait_for_debugger()
    print("ready", flush=True)
    time.sleep(1000)
wait(42)
"""
PYTHON = [sys.executable, "-I", "-S", "-u", "-c"]
RUN = ["/hangdbg", "run", "--"]
PARENT = "import subprocess; subprocess.run(%r)" % (PYTHON + [SLEEPER])


def main():
    targets = {"sleeper": start(*PYTHON, SLEEPER)}
    set_scope(0)
    ask_all(targets, "user")
    set_scope(1)
    targets["run"] = start(*RUN, *PYTHON, SLEEPER)
    targets["child"] = child_of(start(*RUN, *PYTHON, PARENT))
    targets["covered"] = child_of(
        start("/hangdbg", "run", "--children", "--", *PYTHON, PARENT))
    ask_all(targets, "user", "root")
    tell("user", "ps", "all", ["/hangdbg", "ps", "--json"])
    tell_of_waiter()
    tell("user", "doctor", "sleeper", ["/hangdbg", "doctor", str(targets["sleeper"])])
    set_scope(2)
    run_version()
    ask_all(targets, "user", "root")
    set_scope(3)
    run_version()
    ask_all(targets, "user", "root")


def tell_of_waiter():
    """While it waits for a debugger, and afterwards."""
    process = subprocess.Popen([*PYTHON, WAITER], user=USER, group=USER,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert b"waits: hangdbg attach" in process.stderr.readline()
    tell("user", "attach", "waiter", ["/hangdbg", "attach", str(process.pid), "-c", "p answer"])
    assert process.stdout.readline() == b"ready\n"
    tell("user", "eval", "waiter", ["/hangdbg", "eval", str(process.pid), "answer"])
    process.kill()


def run_version():
    tell("user", "run", "version", RUN + [sys.executable, "--version"])
    tell("user", "run", "children", RUN[:2] + ["--children", "--", sys.executable, "--version"])


def set_scope(scope):
    with open("/proc/sys/kernel/yama/ptrace_scope", "w") as file:
        file.write(str(scope))


def start(*command):
    """As the user; returns the pid of a program that says when it sleeps."""
    process = subprocess.Popen(command, user=USER, group=USER, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process.pid


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as children:
        return int(children.read())


def ask_all(targets, *users):
    for user in users:
        for name, pid in targets.items():
            tell(user, "eval", name, ["/hangdbg", "eval", str(pid), "answer"])


def tell(user, asked, of, command):
    uid = USER if user == "user" else 0
    done = subprocess.run(command, user=uid, group=uid, capture_output=True, text=True)
    with open("/proc/sys/kernel/yama/ptrace_scope") as file:
        scope = int(file.read())
    print(json.dumps({"scope": scope, "as": user, "asked": asked, "of": of,
                      "rc": done.returncode, "out": done.stdout, "err": done.stderr}))


main()
