"""A program that keeps the device busy is as before: its results, its speed, its memory."""

import random
import re
import statistics
import time

import evidence as evidences

WINDOWS = 4  # rates of half a second each, before and after
NOISE = 0.9  # of the rate before
DUMPS = 100


def run(evidence, targets, check):
    target = targets[0]
    target.go()
    evidence.note_pids([target.pid])
    pid, rates, few = target.pid, {}, evidence.rehearsed
    rates["before"] = collect(target)
    evidence.look("before", pid)
    memory = device_memory(pid)
    for name, phase in PHASES:
        begun = time.monotonic()
        phase(evidence, pid, few)
        rates[name] = drain(target) or collect(target, 1)
        evidence.facts[name + " seconds"] = round(time.monotonic() - begun, 3)
    drain(target)
    rates["after"] = collect(target)
    evidence.look("after", pid)
    evidence.facts["rates"] = {name: [one["rate"] for one in some]
                               for name, some in rates.items()}
    compare(evidence, rates, memory, device_memory(pid))
    said = target.finish()
    evidence.expect("the program ends with its exit code", said,
                    [target.process.poll(), target.stderr()])
    evidence.expect("no result was wrong, and no CUDA error", said and said["wrong"] == 0,
                    [said, target.stderr()])
    evidence.expect("each child that it forked has ended well",
                    said and (said["forks"] > 0 or "fork" not in target.args), said)


def dump_often(evidence, pid, few):
    """dump -n while kernels are launched at full rate; the last one is kept."""
    end, failed, made = time.monotonic() + 15, [], 0
    for made in range(1, (5 if few else DUMPS) + 1):
        done = evidence.hangdbg("dump", "dump", "-n", pid, keep=False)
        if done.rc != 0 or "work" not in done.out:
            failed.append([done.rc, done.out[-300:], done.err])
        if time.monotonic() > end:
            break
    evidence.keep("dump", ["dump", "-n", pid], done)
    evidence.facts["dumps"] = made
    evidence.expect("each of %d dumps is well" % made, not failed, failed)


def evaluate(evidence, pid, few):
    for number in range(1 if few else 10):
        done = evidence.hangdbg("eval-%d" % number, "eval", pid, "a.shape", "--thread", "main",
                                "--frame", "work")
        evidence.expect("eval of a tensor's shape", done.rc == 0 and "2048" in done.out,
                        [done.out, done.err])


def prompt(evidence, pid, few):
    done = evidence.hangdbg("prompt", "attach", pid, "--thread", "main", "--frame", "work",
                            "-c", "w", "-c", "p steps", "-c", "p a.shape")
    evidence.expect("the prompt answers", done.rc == 0 and "work" in done.out,
                    [done.out, done.err])


def suspend_and_step(evidence, pid, few):
    done = evidence.hangdbg("step", "attach", pid, "-c", "hold", "-c", "n", "-c", "n", "-c", "w",
                            "-c", "release")
    evidence.expect("a thread is suspended, steps, and is resumed", done.rc == 0,
                    [done.out, done.err], on_device=True)


def breakpoint(evidence, pid, few):
    done = evidence.hangdbg("breakpoint", "attach", pid, "-c", "tbreak step", "-c", "c",
                            "-c", "p steps", "-c", "c")
    evidence.expect("a breakpoint stops it, and it goes on", done.rc == 0,
                    [done.out, done.err], on_device=True)


def kill_at_random(evidence, pid, few):
    """kill -9 of ours in the middle of whatever it does."""
    chance = random.Random(7)
    for number in range(3 if few else 15):
        command = (["eval", pid, "steps"], ["dump", "-n", pid],
                   ["attach", pid, "-c", "hold", "-c", "n"])[number % 3]
        process = evidence.start(*command)
        time.sleep(chance.uniform(0, 0.25))  # at a random moment: that is what is tested
        evidences.kill_group(process)
        process.communicate()
    done = evidence.hangdbg("after-kills", "eval", pid, "1 + 1")
    evidence.expect("it can be asked as before", done.rc == 0 and done.out.strip() == "2",
                    [done.out, done.err])


PHASES = (("dump", dump_often), ("eval", evaluate), ("prompt", prompt),
          ("step", suspend_and_step), ("breakpoint", breakpoint), ("kill", kill_at_random))


def collect(target, windows=WINDOWS):
    lines = [target.line("rate", 10) for _ in range(windows)]
    return [one for one in lines if one]


def drain(target):
    found = []
    while not target.lines.empty():
        one = target.line("rate", 1)
        if one is None:
            break
        found.append(one)
    return found


def device_memory(pid):
    """MiB of this process on the device, as nvidia-smi says; None if it does not."""
    said = evidences.device_use()["processes"]
    found = re.search(r"^%d, *(\d+)" % pid, said, re.M)
    return int(found.group(1)) if found else None


def compare(evidence, rates, memory, memory_after):
    """The rows of what it had before and has after."""
    def middle(name):
        return statistics.median([one["rate"] for one in rates[name]] or [0])

    before = middle("before")
    for name in ("dump", "after"):
        evidence.expect("steps a second, %s: within noise of those before" % name,
                        middle(name) >= NOISE * before, [before, middle(name)], on_device=True)
    wrong = sum(one["wrong"] for some in rates.values() for one in some)
    evidence.expect("every sum is the same", wrong == 0, wrong)
    allocated = {one["allocated"] for name in ("before", "after") for one in rates[name]}
    evidence.expect("torch has as much memory on the device as before", len(allocated) == 1,
                    sorted(allocated))
    evidence.expect("the process has as much memory on the device as before (MiB)",
                    memory == memory_after, [memory, memory_after])
