"""Each command line that a page shows is run, beside a process, a job, files and a server like those
that the pages speak of; or it is named here, with the test that runs it or why none does.

What the pages show of their output is compared by test_readme.py and test_tutorials.py; here it must
end well, and say nothing of wrong usage.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess

import pytest

import launchers
from command_lines import all_lines
from harness import (DYING_WITH_US, PATIENCE, PROGRAM, ROOT, die_with_us, in_targets, kill_group,
                     track, until)

LINE = 120  # of train.py, in the pages
RANKS = 6

# Run by another test, or by what runs the tests.
ELSEWHERE = {
    r"scripts/(build|test|setup|get-pythons)\b": "scripts/test",
    r"(build/tests/unit/unit_tests|python3 -m pytest) ": "scripts/test",
    r"HANGDBG_WRITE_DOCS=1 python3 -m pytest": "scripts/test",
    r"pip install |sudo apt install |tar xzf dist": "tests/integration/project/test_packages.py",
    r"sha256sum |scripts/(release|package)\b": "tests/integration/project/test_release.py",
    r"scripts/(site|write-reference)$": "tests/integration/project/test_docs.py",
    r"scripts/soak\b": "tests/integration/harm/test_soak.py",
    r"tests/gpu/run |tar xf gpu": "tests/integration/jobs/test_gpu.py",
    r"srun ": "tests/integration/jobs/test_launchers.py",
    r"hangdbg .*--via srun|hangdbg .*--via clush|hangdbg .*--via ssh":
        "tests/integration/nodes/test_nodes.py",
    r'eval "\$\(hangdbg completion|hangdbg completion fish \|':
        "tests/integration/project/test_completion.py",
    r"hangdbg attach <Tab>": "tests/integration/project/test_completion.py",
    r"hangdbg connect tcp:10\.0\.0\.7": "tests/integration/editors/test_connect.py",
    r'hangdbg (diagnose|report) "\$command"|kill .*"-\$':
        "tests/integration/project/test_tutorials.py",
    r"rm build/lock|python3 mean\.py": "tests/integration/project/test_tutorials.py",
}
# Run by none: what a machine of the tests has not, or must not be done to it.
NOT_HERE = {
    r"scripts/demo|build/hangdbg attach 13391|rm /tmp/tmp\.":
        "builds hangdbg on a fresh system: filmed in docs/first-run.md",
    r"docker ": "no Docker: containers are made of namespaces, in test_namespaces.py",
    r"ssh ": "a machine behind ssh: test_nodes.py and test_connect.py do each half",
    r"hangdbg attach$": "enters the only process that hangs, and here those of other tests hang",
    r"scripts/site --serve": "serves until Ctrl-C; scripts/site is run",
    r"scripts/confusion-table ": "writes a page, from what a run of all tests has left",
    r"scripts/terminal-picture": "draws the picture of README.md anew",
    r"scripts/compare-python NEW": "an interpreter that is not out yet",
}
# No command lines: a command's name in a sentence or a table, and a drawing.
NO_LINE = (r"hangdbg (run|dap|serve|peek|run --|--json|\(client\))|hangdbg|gdb|"
           r"hangdbg eval PID '1 \+ 1', from .*")

# What stands for what, by regular expressions; `{...}` is of the scene.
STANDS_FOR = [
    (r"serve \[OPTIONS\]", "serve --listen unix:{folder}/socket"),
    (r"\[OPTIONS\] ?|\[-m\] |\[--children\] |\[EXE\]|\[COMMAND\]", ""),
    (r"\[PID(?:\.\.\.)?\]|\bPID\b(?:\.\.\.)?|(?<![.\w:/])79655\b", "{pid}"),
    (r"(?<=--job )(?:auto|JOB)\b|\b79601\b", "{launcher}"),
    (r"\[?\bEXPR\b\]?", "answer"),
    (r"(?<=--diff )A B \[-o FILE\.html\]", "before.jsonl after.jsonl"),
    (r"\bA B$|runs\.tar\.gz hangs\.tar\.gz|good\.tar\.gz hang\.tar\.gz", "before.json now.json"),
    (r"(?<=diff )FILE\.\.\.", "before.json now.json"),
    (r"\[?\bFILE\b\]?(?!:)(?:\.\.\.)?", "{file}"),
    (r"FILE:LINE|\bPLACE\b", "train.py:%d" % LINE),
    (r"\bSCRIPT\b(?: ARGS\.\.\.)?", "train.py"),
    (r"(?<=-- )COMMAND\b(?: ARGS\.\.\.)?", "python train.py"),
    (r"\bCOMMAND\b", "ps"),
    (r"\bSHELL\b", "bash"),
    (r"(?<=connect )(?:ADDRESS|tcp:[\w.]+:\w+|unix:\S+)", "{server}"),
    (r"(?<=--listen )(tcp:[\d.]+):\d+", r"\1:0"),
    (r"unix:PATH", "unix:{folder}/socket"),
    (r"--sysroot \S+", "--sysroot /"),
    (r"-d \d+(?![\d.])", "-d 0.5"),
    (r"--for 5$", "--for 0.3"),
    (r"--delay 5", "--delay 0.3"),
    (r"/tmp/dap\.log", "dap.log"),
]
# Ctrl-C ends these; here it comes once they have said this.
BY_CTRL_C = {r"hangdbg serve": "", r"hangdbg top .*--json": "", r"hangdbg break .*--log": r"step \d"}
# Nothing here is the only process that hangs, or all processes of the machine: others are at work.
OF_THE_MACHINE = r"hangdbg (dist|diagnose)( \[OPTIONS\] )?$|hangdbg dump --all"
DIFFERENT = 1  # exit code of diff(1)


def matching(table, line):
    return next((how for pattern, how in table.items() if re.match(pattern, line)), None)


def runs(line):
    return not (re.fullmatch(NO_LINE, line) or matching(ELSEWHERE, line) or
                matching(NOT_HERE, line))


def ends(line):
    """With what makes one that shows something live end by itself."""
    command = line.split()[1]
    if command == "break":  # not the job of another test
        line = line.replace("[OPTIONS] ", "") + " --job auto"
    elif command == "trace" and "--for" not in line:
        line += " --for 0.3"
    elif command == "top" and not re.search("--(once|json)", line):
        line += " --once"
    elif command == "record" and "--over" in line:
        line = re.sub(r"--over \d+", "--over 0.5", line)
    elif command == "record" and " -- " not in line and " -d " not in line:
        line += " -d 0.5"
    elif re.fullmatch(r"hangdbg (connect|merge|completion) \[OPTIONS\] .*", line):
        line = line.replace("[OPTIONS] ", "")
    return line


def words_of(line):
    line = ends(line)
    for pattern, real in STANDS_FOR:
        line = re.sub(pattern, real, line)
    return line.strip()


LINES = sorted({words_of(line): line for line in sorted(all_lines()) if runs(line)}.items())


class Scene:
    """What the pages speak of, in one folder, with `hangdbg` on PATH."""

    def __init__(self, folder):
        self.folder, self.python = folder, "/usr/bin/python3"
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name, there in (("hangdbg", PROGRAM), ("python", self.python)):
            (self.bin / name).symlink_to(there)
        for name, does in (("sudo", 'exec "$@"'), ("torchrun", 'shift 2; exec python "$@"')):
            (self.bin / name).write_text("#!/bin/sh\n%s\n" % does)
            (self.bin / name).chmod(0o755)
        lines = (ROOT / in_targets("documented.py")).read_text().split("\n")
        at = next(i for i, line in enumerate(lines) if line.endswith("# %d" % LINE))
        (folder / "train.py").write_text("\n" * (LINE - 1 - at) + "\n".join(lines))
        for name in ("a.py", "x.py"):
            shutil.copy(folder / "train.py", folder / name)
        (folder / "tests").mkdir()
        (folder / "tests" / "test_one.py").write_text("def test_one():\n    pass\n")
        self.port, self.server = launchers.free_port(), "unix:%s/server" % folder
        self.started = []

    def environment(self):
        return dict(os.environ, PATH="%s:%s" % (self.bin, os.environ["PATH"]),
                    PYTHONDONTWRITEBYTECODE="1")

    def start(self, *words):
        process = subprocess.Popen(
            words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=self.environment(), start_new_session=True,
            preexec_fn=die_with_us)
        self.started.append(process)
        return process

    def begin(self):
        (self.folder / "fused.lock").touch()
        hung = self.start(self.python, "train.py", "hang", "fused.lock")
        job = self.start(self.python, "train.py", "job", str(RANKS), self.port)
        assert job.stdout.readline() == b"ready\n"
        self.pid, self.launcher = hung.pid, job.pid
        until("it waits for the lock file",
              lambda: "lock_file_path" in self.shell("hangdbg peek {pid} self").stdout)
        for name in ("before.json", "now.json", "trace-1.json"):
            made = self.shell("hangdbg dump {pid} --json > " + name)
            assert made.returncode == 0, made
        for name in ("before.jsonl", "after.jsonl"):
            made = self.shell("hangdbg record {pid} --idle -d 0.1 -o " + name)
            assert made.returncode == 0, made
        self.start("hangdbg", "serve", "--listen", self.server)
        until("it listens", lambda: (self.folder / "server").exists())
        with contextlib.suppress(FileNotFoundError):
            subprocess.run(["gcore", "-o", "core", str(self.pid)], cwd=self.folder,
                           capture_output=True, timeout=PATIENCE, check=True)
            (self.folder / ("core.%d" % self.pid)).rename(self.folder / "core.79655")
            subprocess.run(["zstd", "-q", "core.79655"], cwd=self.folder, check=True)

    def command(self, line):
        file = "trace-1.json" if " merge " in line else "core.79655"
        for name, real in (("pid", self.pid), ("launcher", self.launcher), ("file", file),
                           ("folder", self.folder), ("server", self.server)):
            line = line.replace("{%s}" % name, str(real))
        return line

    def shell(self, line, until_said=None):
        """`until_said`: Ctrl-C then, or never."""
        if until_said is not None:
            line = "exec 2>&1; exec " + line
        process = track(subprocess.Popen(
            [*DYING_WITH_US, "bash", "-c", self.command(line)], cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment(), start_new_session=True))
        first = ""
        if until_said is not None:
            while not (first and re.search(until_said, first)):
                said = process.stdout.readline()
                assert said, first
                first += said
            os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(line, process.returncode, first + out, err)

    def end(self):
        for process in self.started:
            kill_group(process)
            process.stdout.close()


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    one = Scene(tmp_path_factory.mktemp("scene"))
    try:
        one.begin()
        yield one
    finally:
        one.end()


def lacks(line, scene):
    """What the machine lacks for it."""
    if "core.79655" in scene.command(line) and not (scene.folder / "core.79655").exists():
        return "gcore"
    if ".zst" in line and not (scene.folder / "core.79655.zst").exists():
        return "zstd"
    if "| jq" in line and not shutil.which("jq"):
        return "jq"
    if "cert.pem" in line and not shutil.which("openssl"):
        return "openssl"
    if "-m pytest" in line and not shutil.which("pytest"):
        return "pytest"
    return None


@pytest.mark.slow
@pytest.mark.parametrize("line", [pytest.param(line, id=shown) for line, shown in LINES])
def test_it_can_be_typed(line, scene):
    if missing := lacks(line, scene):
        pytest.skip(missing + " is not here")
    if "cert.pem" in line:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             "/CN=x", "-keyout", "key.pem", "-out", "cert.pem"],
            cwd=scene.folder, check=True, capture_output=True)
    for made in re.findall(r"-o (\S+)", line):
        (scene.folder / made).unlink(missing_ok=True)
    until_said = matching(BY_CTRL_C, line)
    done = scene.shell(line, until_said)
    well = {0, 130} if until_said is not None else {0, 1, 2} if re.match(OF_THE_MACHINE, line) else {0}
    if "hangdbg diff " in line:
        well.add(DIFFERENT)
    assert done.returncode in well, done
    assert "Traceback" not in done.stdout + done.stderr, done
    for made in re.findall(r"-o (\S+)", line):
        assert (scene.folder / made).exists(), done


@pytest.mark.parametrize("table", [ELSEWHERE, NOT_HERE], ids=["elsewhere", "not here"])
def test_what_is_excused_is_on_a_page(table):
    lines = all_lines()
    assert not [one for one in table if not any(re.match(one, line) for line in lines)]
    assert not [there for there in ELSEWHERE.values() if not (ROOT / there).exists()]


def test_there_are_many():
    assert len(all_lines()) > 200 and len(LINES) > 100
