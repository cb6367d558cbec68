"""NCCL on one device: torch's process group with one rank, and ranks that never come."""

import importlib.metadata
import re

import hangs
from session import until

# torch's watchdog sleeps for 4 times so long (15 s) once it has seen the timeout, whether
# anything is dumped or not, and then ends the process.
ENDS_SOON = {"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "500", "TORCH_NCCL_DUMP_ON_TIMEOUT": "0"}
TIMEOUT_SECONDS = 40  # of which the timeout itself is 5


def recorder():
    """The environment in which torch records the last collectives; the older name makes
    torch >= 2.8 warn."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    release = tuple(map(int, re.findall(r"\d+", version)[:2]))
    new = release >= (2, 8) or not release
    return {"TORCH_FR_BUFFER_SIZE" if new else "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000"}


def run_group(evidence, targets, hang):
    """One rank whose collective is queued behind a kernel that spins."""
    target = targets[0]
    target.go(45)
    evidence.note_pids([target.pid])
    hangs.look(evidence, target, hang)
    names = evidence.facts["target"]["thread_names"]
    for name in ("pt_nccl_watchdg", "pt_nccl_heartbt"):
        evidence.expect("a thread is named " + name, any(one.startswith(name) for one in names),
                        names)
    recorded = target.ready.get("recorder")
    evidence.expect("torch's own Flight Recorder has the all_reduce, and it is not completed",
                    isinstance(recorded, list) and recorded
                    and recorded[-1]["state"] != "completed", recorded, on_device=True)
    dist = evidence.hangdbg("dist-again", "dist", target.pid)
    evidence.expect("dist names the group's backend, nccl", "nccl" in dist.out, dist.out,
                    on_device=True)
    evidence.expect("dist says that the collective is scheduled, and not known to have started",
                    re.search("ALLREDUCE.*: scheduled, not ", dist.out), dist.out,
                    on_device=True)
    hangs.finish(evidence, target, hang)


def run_timeout(evidence, targets, hang):
    """torch's watchdog ends the process after 5 s."""
    target = targets[0]
    target.go(45)
    evidence.note_pids([target.pid])
    evidence.look("target", target.pid)
    before = evidence.hangdbg("diagnose", "diagnose", target.pid, "--hung-after", "0.5")
    evidence.expect("diagnose answers before the timeout", before.rc == 0, before.out)
    evidence.hangdbg("dump-native", "dump", target.pid, "--native-all")
    evidence.hangdbg("dist", "dist", target.pid)
    evidence.expect("the watchdog ends the process within %d s" % TIMEOUT_SECONDS,
                    until(target.zombie, TIMEOUT_SECONDS), target.stderr())
    evidence.expect("and says so on its stderr", re.search("watchdog", target.stderr(), re.I),
                    target.stderr(), on_device=True)
    evidence.text("target.err", target.stderr())
    after = evidence.hangdbg("diagnose-after", "diagnose", target.pid)
    evidence.expect("diagnose says of what is left that it has ended, by SIGABRT",
                    re.search("ended", after.out + after.err)
                    and re.search("SIGABRT|signal 6", after.out + after.err),
                    after.out + after.err)


def run_ranks(evidence, targets, hang):
    """Rank 0 waits for rank 1, which is there and does not come."""
    for target in targets[1:]:
        target.tell("go")
    targets[0].go(45)
    for target in targets[1:]:
        target.ready = target.line("ready", 10) or {}
    evidence.note_pids([target.pid for target in targets])
    hangs.look(evidence, targets[0], hang)
    job = evidence.hangdbg("diagnose-job", "diagnose", "--job", targets[0].pid, "--hung-after",
                           "0.5")
    first = (job.out.splitlines() or [""])[0]
    evidence.expect("the first line of diagnose --job names the rank that does not come, 1",
                    re.search(r" hangs: rank 1 ", first), job.out + job.err, on_device=True)
    evidence.hangdbg("dump-merge", "dump", *[target.pid for target in targets], "--merge")
    hangs.finish(evidence, targets[0], hang)
