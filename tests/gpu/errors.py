"""Errors that surface later than they were made, and a process whose context is dead."""

import re

MESSAGES = {"assert": "device-side assert", "illegal": "illegal memory access",
            "memory": "out of memory"}
DEAD = r"CUDA context .*(Xid \d+)"


def run(evidence, targets, check):
    target, kind = targets[0], check.kind
    target.go()
    evidence.note_pids([target.pid])
    message, own = target.ready["message"], target.place()
    evidence.expect("torch says: " + MESSAGES[kind], MESSAGES[kind] in message, message)
    evidence.look("target", target.pid)
    diagnose = evidence.hangdbg("diagnose", "diagnose", target.pid)
    evidence.expect("diagnose answers", diagnose.rc == 0 and diagnose.out,
                    [diagnose.rc, diagnose.out, diagnose.err])
    if kind != "memory":
        evidence.expect("diagnose says that the CUDA context is dead, and of which error",
                        re.search(DEAD, diagnose.out), diagnose.out, on_device=True)
    evidence.hangdbg("ps", "ps")
    stacks = evidence.hangdbg("dump-locals", "dump", target.pid, "--native", "--locals")
    evidence.expect("dump --locals has the error that surfaced",
                    re.search("(?i)" + MESSAGES[kind].split()[0] + "|Error", stacks.out),
                    stacks.out)
    error = evidence.hangdbg("eval", "eval", target.pid, "str(error)", *own)
    evidence.expect("eval has it, too", error.rc == 0 and "CUDA" in error.out,
                    [error.out, error.err])
    where = evidence.hangdbg(
        "eval-where", "eval", target.pid,
        "[f.name for f in __import__('traceback').extract_tb(error.__traceback__)]", *own)
    evidence.expect("its traceback says where it surfaced: surface()", "surface" in where.out,
                    [where.out, where.err])
    data = evidence.hangdbg("eval-tensor", "eval", target.pid, "x", *own)
    evidence.expect("eval of a tensor shows its metadata, within 5 s",
                    data.rc == 0 and "cuda" in data.out and data.seconds < 5,
                    [data.rc, data.out, data.err])
    evidence.hangdbg("around", "around", target.pid)
    evidence.hangdbg("dist", "dist", target.pid)
    evidence.report(target.pid)
    said = target.finish()
    evidence.expect("the process ends with its exit code", said,
                    [target.process.poll(), target.stderr()])
