"""Programs of many kinds, side by side: one verdict by `ps`, `diagnose`, bare `hangdbg`, `tree`,
`attach` and `dap`, whenever they are asked.
What each verdict is to be: test_diagnose_*.py."""

import re
import sys
import time

from dap_client import DapClient
from harness import PATIENCE, Target, hangdbg, in_targets, outcome, start_hangdbg, until

# They poll, sleep, block, cycle, serve.
PROGRAMS = [
    ("polling_loops", "file", "0.05"), ("polling_loops", "with_limit", "1"),
    ("polling_loops", "beats", "0.3"), ("polling_loops", "once", "30000"),
    ("causes_pipes", "grandchild"), ("causes_pipes", "tries_flock"),
    ("causes_pipes", "sqlite_exclusive"), ("causes_pipes", "manager_queue"),
    ("causes_pipes", "idle_sibling"), ("causes_pipes", "opens_fifo"),
    ("causes_pipes", "standby"), ("causes_peers", "asks_itself"),
    ("causes_peers", "long_poll"), ("causes_inside", "finalizer"),
    ("causes_inside", "queues"), ("causes_inside", "not_woken"), ("causes", "locks"),
    ("causes", "unset_future"), ("causes", "event_alone"), ("causes", "asyncio_server"),
    ("healthy", "stops_by_event"), ("healthy", "heartbeat"),
    ("more_waits", "thread_pool_in_itself"), ("more_waits", "queue_of_a_loops_thread"),
    ("more_waits", "other_party_has_ended"), ("more_waits", "semaphore_in_c"),
    ("more_waits", "first_of_two_cats"), ("more_waits", "pidfd_of_a_reader"),
    ("more_waits", "output_of_a_loops_grandchild"), ("more_waits", "supervises"),
    ("more_waits", "selects_nothing"),
]
LOOKS = 10
GET_ON = ("file", "with_limit", "beats", "tries_flock", "sqlite_exclusive")  # all the time
LONG = 10  # seconds: what bare `hangdbg` and `tree` call long


def started(tmp_path):
    """By their PID. All have waited for long; who polls and who sleeps has done so often."""
    made = {}
    for file, case, *words in PROGRAMS:
        words = words or [tmp_path / case]
        (tmp_path / case).mkdir()
        target = Target([sys.executable, in_targets(file + ".py"), case, *words],
                        env={"PYTHONWARNINGS": "ignore"})
        target.begun = time.monotonic()
        made[target.pid] = (case, target)
    last = max(target.begun for _, target in made.values())
    until("they have waited", lambda: time.monotonic() > last + LONG + 1)
    return made


def diagnosed(pids):
    """In four processes: each is asked what it takes a second to watch."""
    parts = [pids[at::4] for at in range(4)]
    asked = [start_hangdbg("diagnose", *part, "--json", "--timeout", PATIENCE / 2)
             for part in parts]
    return [one for process in asked
            for one in outcome(process, PATIENCE).json()["processes"]]


def sleeps(pid):
    """How often it has gone to sleep."""
    with open("/proc/%d/status" % pid) as status:
        return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status.read(), re.M)[1])


def verdict(said):
    return said["state"], said["stalled"], said["cause"]


def of_this_machine():
    """What bare `hangdbg` says of each; None: there was no time for all, which it says."""
    done = hangdbg()
    return None if "not checked: timeout" in done.out + done.err else {
        int(line.split()[0]): line for line in done.out.splitlines()
        if line.split()[0].isdigit()}


def in_trees(pids):
    """What `tree` says of each; None: it says that it does not know, for want of time."""
    trees = hangdbg("tree", *pids, "--json").json()["processes"]
    if any("processes" not in said for said in trees):
        return None
    found = {said["pid"]: one for said in trees
             for one in said["processes"] if one["pid"] == said["pid"]}
    return None if any(one["stalled"] is None for one in found.values()) else found


def test_commands_say_the_same(tmp_path):
    programs = started(tmp_path)
    get_on = [pid for pid, (case, _) in programs.items() if case in GET_ON]
    told = {pid: [] for pid in programs}
    for _ in range(LOOKS):
        before = {pid: sleeps(pid) for pid in get_on}
        for said in diagnosed(list(programs)):
            told[said["pid"]].append(("diagnose", *verdict(said["diagnosis"])))
        for said in hangdbg(
                "ps", *programs, "--json", "--timeout", PATIENCE / 2).json()["processes"]:
            told[said["pid"]].append(("ps", *verdict(said)))
        until("each that gets on has done so twice",
              lambda: all(sleeps(pid) >= before[pid] + 2 for pid in get_on))
    wrong = {programs[pid][0]: sorted(set(said)) for pid, said in told.items()
             if len({one[1:] for one in said}) != 1 or len(said) != 2 * LOOKS}
    assert not wrong, wrong

    states = {pid: said[0][1:] for pid, said in told.items()}
    rows = until("all were checked", of_this_machine)
    for pid, (state, stalled, cause) in states.items():
        case = programs[pid][0]
        if pid in rows:
            assert state in rows[pid].split()[:4], (case, state, rows[pid])
    assert {pid for pid, (state, *_) in states.items() if state == "stuck"} <= set(rows)

    for pid, there in until("tree had time for all", lambda: in_trees(programs)).items():
        assert (there["verdict"], there["stalled"]) == states[pid][:2], (programs[pid][0], there)

    # attach: the same call, and for as long as `ps` says.
    for name in ("finalizer", "locks", "opens_fifo", "event_alone", "once",
                 "thread_pool_in_itself"):
        (pid,) = [pid for pid, (case, _) in programs.items() if case == name]
        (shown,) = hangdbg("ps", pid, "--json").json()["processes"]
        done = hangdbg("attach", pid, "-c", "w")
        assert done.rc == 0, done
        found = re.search(r"^Thread (\d+) .* asleep in (\w+) for (.*?) · ", done.out, re.M)
        assert found and found[2] in shown["waits"], (name, shown, done)
        assert shown["waiting_s"] > LONG, (name, shown)
        assert not re.search(r"\bms$|^\d s$", found[3]), (name, found[3], shown)

    # dap: after `attach`, since an editor's session is its own visit.
    for name in ("finalizer", "locks", "opens_fifo", "event_alone", "file",
                 "thread_pool_in_itself", "queue_of_a_loops_thread"):
        (pid,) = [pid for pid, (case, _) in programs.items() if case == name]
        with DapClient.stdio() as editor:
            editor.attach(pid)
            said = editor.call("hangdbg/verdict")
        assert verdict(said) == states[pid], (name, said)
        assert said["summary"] and said["evidence"], (name, said)
