"""Hangs, and what hangdbg is to say of each: the thread waits for the GPU, in which call,
from which line of Python, for how long, what the device does, and what to type next."""

import re
import time

from session import until

HUNG_AFTER = "0.5"  # seconds of patience; the default, 10, would take too long here
HUNG_AFTER_PS = "1"  # the least that ps takes
HUNG_SECONDS = 8  # until the tool has to call it hung
HUNG_SECONDS_REHEARSED = 30, 2  # on a busy machine; where the tool is known not to
TOLD_AFTER = 1.2  # seconds; of a shorter wait it does not say how long it was
DEVICE_SAYS = r"\d+ % busy\b.*\d+ of it by this process"
SINCE = r"for (at least )?\d[\d.]* (ms|s|min)"
GPU = r"GPU|CUDA"


def wait_hung(evidence, target, hang):
    """Asks until diagnose calls it hung, and returns what it says, or {}; of a call that
    has returned, that."""
    def diagnosed():
        said = evidence.hangdbg("diagnose", "diagnose", target.pid, "--json", "--hung-after",
                                HUNG_AFTER, keep=False).json()
        if hang.may_return and not target.lines.empty():  # it may have while diagnose ran
            return {"returned": True}
        return said if said.get("stalled") else None

    seconds = HUNG_SECONDS
    if evidence.rehearsed:
        seconds = HUNG_SECONDS_REHEARSED["hung" in hang.on_device]
    begun = time.monotonic()
    said = until(diagnosed, seconds, every=0.2) or {}
    if not said.get("returned"):
        evidence.facts["seconds until it is called hung"] = round(time.monotonic() - begun, 3)
        evidence.expect("diagnose calls it hung within %d s" % seconds, said, said,
                        on_device="hung" in hang.on_device)
    return said


def look(evidence, target, hang):
    """Asks every command about a target that hangs, and adds the rows. False: the call is
    one that may return, and it has."""
    pid, function = target.pid, target.ready["function"]
    begun = time.monotonic()
    said = wait_hung(evidence, target, hang)
    evidence.look("target", pid)
    if said.get("returned"):
        line = evidence.facts["returned"] = target.line("returned", 5)
        evidence.expect("the call may return on this driver, and has", line, line)
        return False
    time.sleep(max(0, TOLD_AFTER - (time.monotonic() - begun)))
    text = evidence.hangdbg("diagnose", "diagnose", pid, "--hung-after", HUNG_AFTER)
    said = evidence.hangdbg("diagnose-json", "diagnose", pid, "--json", "--hung-after",
                            HUNG_AFTER).json() or said
    check_verdict(evidence, hang, function, text, said)
    check_stacks(evidence, target, hang)
    around = evidence.hangdbg("around", "around", pid)
    who, where = "diagnose", text.out
    if not hang.waits_for_gpu:
        who, where = "diagnose or around", text.out + around.out
    device = re.search(DEVICE_SAYS, where)
    evidence.expect(who + " says how busy the device is, and the process's memory",
                    device or not hang.uses_device, where[:600],
                    on_device="device" in hang.on_device)
    check_eval(evidence, target, hang)
    evidence.hangdbg("dist", "dist", pid)
    evidence.report(pid)
    bad = [one for one in evidence.commands
           if one["rc"] != 0 and not one["file"].endswith("-eval")]
    evidence.expect("every command ends with exit code 0", not bad, bad)
    return True


def check_verdict(evidence, hang, function, text, said):
    first = (text.out.splitlines() or [""])[0]
    place = " ".join(link.get("place", "") for link in said.get("chain", []))
    states = " ".join(link.get("doing", "") for link in said.get("chain", []))
    rows = (
        ("verdict", "the first line says /%s/" % hang.words, re.search(hang.words, first), first),
        ("call", "and in which call: /%s/" % hang.calls,
         re.search(hang.calls, first), first),
        ("place", "the chain has a line of Python", re.search(r"\.py:\d+ in ", place), place),
        ("own", "it names the program's own function, " + function, function in text.out,
         text.out),
        ("since", "it says for how long, if that is known",
         re.search(SINCE, states) or not hang.tells_since, states),
        ("next", "it says what to type next", "\ntry: " in text.out and said.get("next"),
         text.out),
    )
    for name, expected, ok, seen in rows:
        evidence.expect(expected, ok, seen, on_device=name in hang.on_device)


def check_stacks(evidence, target, hang):
    pid, function = target.pid, target.ready["function"]
    ps = evidence.hangdbg("ps", "ps", "--hung-after", HUNG_AFTER_PS)
    line = next((one for one in ps.out.splitlines() if one.split()[:1] == [str(pid)]), "")
    evidence.expect("ps has a line for it", line, ps.out)
    evidence.expect("ps names " + function, function in line, line,
                    on_device="own" in hang.on_device)
    dump = evidence.hangdbg("dump-native", "dump", pid, "--native-all")
    evidence.expect("dump --native has %s and /%s/" % (function, hang.calls),
                    function in dump.out and re.search(hang.calls, dump.out), dump.out,
                    on_device="native" in hang.on_device)
    evidence.hangdbg("dump-json", "dump", pid, "--native-all", "--json")


def check_eval(evidence, target, hang):
    expression = hang.expression
    done = evidence.hangdbg("eval", "eval", target.pid, expression, "--timeout", "3")
    if hang.gil_held:
        evidence.expect("eval is refused within its time, as the GIL is held",
                        done.rc != 0 and done.seconds < 6, [done.rc, done.err, done.seconds])
        return
    evidence.expect("eval %s answers" % expression, done.rc == 0 and done.out.strip(),
                    [done.rc, done.out, done.err])


def finish(evidence, target, hang):
    """Ends the hang: the program goes on as if nobody had been there."""
    if hang.killed:
        evidence.expect("it is still there at the end", target.process.poll() is None,
                        target.stderr())
        return
    said = target.finish()
    evidence.expect("the program goes on to its end, with its exit code", said,
                    [target.process.poll(), target.stderr()])


def run(evidence, targets, hang):
    target = targets[0]
    target.go()
    evidence.note_pids([target.pid])
    look(evidence, target, hang)
    finish(evidence, target, hang)


def run_tensor(evidence, targets, hang):
    """eval of a CUDA tensor behind a kernel that never ends: its metadata, at once; its
    values, for so long as was asked for, and the process is none the worse."""
    target = targets[0]
    target.go()
    evidence.note_pids([target.pid])
    wait_hung(evidence, target, hang)
    own = target.place()
    shown = evidence.hangdbg("metadata", "eval", target.pid, "x", *own)
    evidence.expect("eval of a tensor shows its metadata without a copy, within 3 s",
                    shown.rc == 0 and shown.seconds < 3 and "cuda" in shown.out,
                    [shown.rc, shown.out, shown.err, shown.seconds])
    asked = evidence.hangdbg("values", "eval", target.pid, "x.sum().item()", "--timeout", "3",
                             *own)
    evidence.expect("eval of its values ends in its time, 3 s, and says so",
                    asked.rc != 0 and 2 < asked.seconds < 8 and asked.err,
                    [asked.rc, asked.out, asked.err, asked.seconds])
    again = evidence.hangdbg("diagnose", "diagnose", target.pid, seconds=40)
    evidence.expect("diagnose, with its usual patience, says that it hangs, and for at least "
                    "10 s", again.rc == 0 and re.search(
                        r" (?:hangs|is blocked)[^:]*: .*%s.*\n.*\n.* for (at least )?\d\d\.\d s" % GPU,
                        again.out),
                    [again.out, again.seconds])
    evidence.look("after", target.pid)
    finish(evidence, target, hang)


def run_long_steps(evidence, targets, hang):
    """Steps of 2.5 s on the device, each waited for in one call: with the usual patience it
    is well, wherever it is asked."""
    target = targets[0]
    target.go()
    evidence.note_pids([target.pid])
    for number in range(3):
        said = evidence.hangdbg("diagnose-%d" % number, "diagnose", target.pid, "--json",
                                seconds=40).json()
        evidence.expect("diagnose says that it waits for the GPU, and goes on",
                        said and not said["stalled"] and said["cause"] == "cuda-synchronize"
                        and said["summary"].endswith("goes on"), said)
    evidence.look("target", target.pid)
    finish(evidence, target, hang)
