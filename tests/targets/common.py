"""What every target shares: how it says that it is about to hang and how it ended.

A target hangs in one way, from CPython 3.6 to 3.15, with the standard library
only. It prints two JSON lines: `ready(...)` just before it hangs, `finish(...)`
after it was told to go on; then it exits with rc 7, which no accident gives.
How it is told to go on is in its first line, as "go_on":
  "SIGUSR1"   send that signal   (a handler of the target's own resumes it,
                                  so one thread is enough)
  "stdin"     write a line to its standard input   (for C calls, where no
                                  Python handler can run)
  "unlink"    remove the file named by "path"
  "wait"      it goes on by itself
The last line also says what a debugger may have left behind in the process:
Python's signal handlers and the signal mask, compared with those at the start.
"""

import json
import os
import signal
import sys

NORMAL_EXIT = 7


def descriptors():
    """The number of each open descriptor and what it is, the list that is read for it too."""
    said = []
    for number in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            said.append(number + " " + os.readlink("/proc/self/fd/" + number))
        except FileNotFoundError:  # the list itself: closed by now
            said.append(number)
    return said


def ready(function, syscalls, go_on="SIGUSR1", tid=None, **more):
    """Prints the first line. `function` is the Python function that hangs,
    `syscalls` the names of the system calls one of which `tid` (default: the
    main thread) then sleeps in; an empty list means that it runs. Further keys:
    "frame", the number of that function's frame, if it is not the innermost;
    "file", its file, if that is not the script."""
    _print(ready_line(function, syscalls, go_on, tid, **more))


def ready_line(function, syscalls, go_on="SIGUSR1", tid=None, **more):
    """That line, for who says it by other means."""
    global _before
    if "HANGDBG_TEST_OWN" in os.environ:
        import own

        own.set(function)
    _before = _signals()
    line = {
        "ready": True,
        "pid": os.getpid(),
        "tid": tid or os.getpid(),
        "file": os.path.basename(sys.argv[0]),
        "function": function,
        "syscalls": syscalls,
        "go_on": go_on,
    }
    line.update(more)
    return line


def finish(**result):
    """Prints the last line and ends the process with NORMAL_EXIT."""
    after = _signals()
    result["signals_changed"] = sorted(
        name for name in after if after[name] != _before.get(name)
    )
    _print(result)
    sys.exit(NORMAL_EXIT)


def on_sigusr1(action):
    """Calls `action()` when the target is told to go on by SIGUSR1."""
    signal.signal(signal.SIGUSR1, lambda signum, frame: action())


def native_id():
    """The kernel's id of the calling thread; threading has it from 3.8 only."""
    return int(os.path.basename(os.readlink("/proc/thread-self")))


def _signals():
    state = {}
    for number in range(1, signal.NSIG):
        try:
            state[str(number)] = repr(signal.getsignal(number))
        except ValueError:  # the numbers that the C library keeps for itself
            continue
    state["mask"] = repr(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    return state


def _print(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
