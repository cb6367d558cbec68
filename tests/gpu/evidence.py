"""What a check leaves behind: what was expected and seen, what each command said, and raw
facts about the processes. A folder a check:

    expected.json     rows of {"expected", "seen", "ok", "counts"}
    commands.json     each command with its exit code and its seconds; what it said is in
                      NN-NAME.out and NN-NAME.err
    facts.json        of each process: threads, libraries, descriptors, the device
"""

import collections
import json
import os
import re
import signal
import subprocess
import time

import machine

COMMAND_SECONDS = 20  # for what takes milliseconds on a quiet machine


class Outcome:
    def __init__(self, rc, out, err, seconds):
        self.rc, self.out, self.err, self.seconds = rc, out, err, seconds

    def json(self):
        """What it printed with --json; {} if that is no JSON object."""
        try:
            said = json.loads(self.out)
        except ValueError:
            return {}
        return said if isinstance(said, dict) else {}


class Evidence:
    """Of one check. `rehearsed`: there is no device, stand-ins are there for it.
    `with_report`: there is time for `hangdbg report`, which runs many commands."""

    def __init__(self, folder, program, rehearsed, with_report, note_pids):
        self.folder, self.program, self.rehearsed = folder, program, rehearsed
        self.with_report, self.note_pids = with_report, note_pids
        self.rows, self.commands, self.facts = [], [], {}
        os.makedirs(folder)

    def expect(self, expected, ok, seen, on_device=False):
        """A row. `on_device`: in a rehearsal it is noted and does not count, since a
        stand-in cannot show it or the tool is known not to say it."""
        counts = not (on_device and self.rehearsed)
        self.rows.append({"expected": expected, "ok": bool(ok), "counts": counts,
                          "seen": shorten(seen)})
        self.write()
        return ok

    def failures(self):
        return [row for row in self.rows if row["counts"] and not row["ok"]]

    def hangdbg(self, name, *args, seconds=COMMAND_SECONDS, keep=True):
        """Runs hangdbg to its end, or for so many seconds."""
        process = self.start(*args)
        return self.outcome(name, process, seconds, keep)

    def start(self, *args):
        process = subprocess.Popen(
            [self.program, *map(str, args)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            start_new_session=True, preexec_fn=machine.die_with_parent)
        process.begun = time.monotonic()
        return process

    def outcome(self, name, process, seconds=COMMAND_SECONDS, keep=True):
        try:
            out, err = process.communicate(timeout=seconds)
            rc = process.returncode
        except subprocess.TimeoutExpired:
            kill_group(process)
            out, err = process.communicate()
            rc = "no end within %.0f s" % seconds
        done = Outcome(rc, out, err, time.monotonic() - process.begun)
        if keep:
            self.keep(name, process.args[1:], done)
        return done

    def keep(self, name, args, done):
        stem = "%02d-%s" % (len(self.commands) + 1, name)
        self.commands.append({"file": stem, "args": args, "rc": done.rc,
                              "seconds": round(done.seconds, 3)})
        self.text(stem + ".out", done.out)
        if done.err:
            self.text(stem + ".err", done.err)
        self.write()

    def report(self, pid):
        if not self.with_report:
            return
        path = os.path.join(self.folder, "report.tar.gz")
        done = self.hangdbg("report", "report", pid, "-o", path, seconds=40)
        self.expect("report writes its file", done.rc == 0 and os.path.exists(path),
                    done.out + done.err)

    def look(self, key, pid):
        """Raw facts about a process, from /proc and nvidia-smi."""
        self.facts[key] = process_facts(pid)
        self.write()

    def text(self, name, text):
        with open(os.path.join(self.folder, name), "w", errors="replace") as file:
            file.write(text)

    def write(self):
        for name, value in (("expected", self.rows), ("commands", self.commands),
                            ("facts", self.facts)):
            self.text(name + ".json", json.dumps(value, indent=1, default=str))


def shorten(value, limit=1500):
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= limit else text[:limit] + " ..."


def process_facts(pid):
    folder = "/proc/%d" % pid
    threads, maps = [], collections.Counter()
    for tid in sorted(listed(folder + "/task"), key=int):
        task = "%s/task/%s" % (folder, tid)
        stat = machine.read(task + "/stat").rsplit(")", 1)[-1].split()
        threads.append({
            "tid": int(tid), "name": machine.read(task + "/comm").strip(),
            "state": stat[0] if stat else "", "cpu": stat[11:13],
            "syscall": machine.read(task + "/syscall").split(" ")[0].strip(),
            "wchan": machine.read(task + "/wchan"), "kernel": machine.read(task + "/stack")})
    for line in machine.read(folder + "/maps", 1 << 22).splitlines():
        words = line.split(None, 5)
        if len(words) == 6:
            maps[words[5]] += 1
    descriptors = collections.Counter()
    for fd in listed(folder + "/fd"):
        try:
            descriptors[os.readlink("%s/fd/%s" % (folder, fd))] += 1
        except OSError:
            continue
    return {
        "cmdline": machine.read(folder + "/cmdline").replace("\0", " "),
        "thread_names": collections.Counter(one["name"] for one in threads),
        "threads": threads,
        "main_samples": main_samples(pid),
        "maps": maps,
        "device_files": {name: count for name, count in descriptors.items()
                         if re.match("/dev/(nvidia|dri|infiniband|shm)", name)},
        "descriptors": len(listed(folder + "/fd")),
        "other_descriptors": collections.Counter(
            re.sub("[0-9]+", "N", name) for name in descriptors),
        "status": machine.read(folder + "/status"),
        "libraries": machine.libraries(maps),
        "device": device_use(),
    }


def main_samples(pid):
    """What the main thread is in, in fifty looks: whether a wait sleeps, polls or spins."""
    task, seen = "/proc/%d/task/%d" % (pid, pid), collections.Counter()
    before = machine.read(task + "/schedstat")
    for _ in range(50):
        seen[" ".join(machine.read(task + "/syscall").split()[:2])] += 1
        time.sleep(0.004)
    return {"syscalls": seen, "schedstat": [before, machine.read(task + "/schedstat")]}


def device_use():
    """What the device does, and the memory of each process on it, as nvidia-smi says."""
    query = "utilization.gpu,utilization.memory,memory.used,memory.total,pstate,clocks.sm"
    return {
        "gpu": machine.output(["nvidia-smi", "--query-gpu=" + query,
                               "--format=csv,noheader"], 8).strip(),
        "processes": machine.output(["nvidia-smi", "--query-compute-apps=pid,used_memory",
                                     "--format=csv,noheader"], 8).strip()}


def listed(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def kill_group(process):
    """Once it has been waited for, its number may be another's."""
    if process.poll() is not None and os.path.exists("/proc/%d" % process.pid):
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
