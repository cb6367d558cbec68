"""What one evaluation costs, in KiB: in the target, and hangdbg itself.

The expression reads from a FIFO, and so it is still running when we look.
"""

import os
import re

from harness import AGENT_GONE, outcome, place, start_hangdbg, until


def of_an_evaluation(target, folder):
    """{"during", "after"}: how much more the target has than before, each a dict
    with the fields of smaps_rollup; {"ours"}: the most that hangdbg had in RAM."""
    fifo = os.path.join(str(folder), "fifo")
    os.mkfifo(fifo)
    threads = len(os.listdir("/proc/%d/task" % target.pid))
    before = rollup(target.pid)
    text = "len(open(%r, 'rb').read()), sorted(x for x in [2, 1])" % fifo
    run = start_hangdbg("eval", target.pid, text, *place(target))
    writer = until("the expression reading", lambda: _writer(fifo))
    during = rollup(target.pid)
    ours = _fields("/proc/%d/status" % run.pid)["VmHWM"]
    os.close(writer)
    done = outcome(run)
    assert (done.rc, done.out) == (0, "(0, [1, 2])\n"), done
    until("the agent gone", lambda: threads == len(os.listdir("/proc/%d/task" % target.pid)),
          AGENT_GONE)
    after = rollup(target.pid)
    os.unlink(fifo)
    return {
        "during": {name: during[name] - before[name] for name in before},
        "after": {name: after[name] - before[name] for name in before},
        "ours": ours,
    }


def rollup(pid):
    return _fields("/proc/%d/smaps_rollup" % pid)


def _fields(path):
    with open(path) as file:
        return {name: int(size) for name, size in re.findall(r"(\w+):\s+(\d+) kB", file.read())}


def _writer(fifo):
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # no reader yet
        return None
