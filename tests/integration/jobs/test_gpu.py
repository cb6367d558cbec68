"""tests/gpu without a GPU: what a machine with one runs is rehearsed on stand-ins here, so
that its first run there fails on facts."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

import torches
from harness import PROGRAM, ROOT

FOLDER = ROOT / "tests" / "gpu"
PATIENCE = 200  # seconds; for what takes twenty on a quiet machine
LAST = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
REHEARSED = ("item", "nccl-queued", "callback-gil", "error-illegal-address", "compile-lock")
MOST_BYTES = 40 << 20


def run(*words, program=PROGRAM, folder=FOLDER):
    return subprocess.run(
        [sys.executable, folder / "run", *map(str, words)], text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
        env=dict(os.environ, HANGDBG=str(program)))


def names():
    return run("--list").stdout.split()


def count(done):
    last = LAST.fullmatch(done.stdout.splitlines()[-1])
    assert last, done
    return tuple(map(int, last.groups()))


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="here is a GPU")
def test_without_a_gpu_each_is_skipped_by_name(tmp_path):
    done = run("--out", tmp_path / "out")
    assert done.returncode == 0, done
    assert count(done) == (0, 0, len(names())), done
    for name in names():
        assert re.search(r"^SKIPPED %s \(.*: no GPU: /dev/nvidiactl" % name, done.stdout, re.M)
    assert sorted(os.listdir(tmp_path / "out")) == [
        "evidence.tar.gz", "result.json", "summary.txt"]


def test_rehearsal(tmp_path):
    """With stand-ins for CUDA, NCCL and torch: targets, commands and evidence are real."""
    done = run("--rehearse", "--seconds", "180", "--out", tmp_path / "out", *REHEARSED)
    assert count(done) == (len(REHEARSED), 0, 0), (done, (tmp_path / "out/summary.txt").read_text())
    with tarfile.open(tmp_path / "out" / "evidence.tar.gz") as tar:
        tar.extractall(tmp_path)
    for name in REHEARSED:
        folder = tmp_path / "evidence" / name
        rows = json.loads((folder / "expected.json").read_text())
        assert all({"expected", "seen", "ok", "counts"} == set(row) for row in rows) and rows
        commands = json.loads((folder / "commands.json").read_text())
        said = {command["args"][0] for command in commands}
        assert {"ps", "diagnose", "dump", "eval", "around", "dist"} <= said, (name, said)
        for command in commands:
            assert (folder / (command["file"] + ".out")).exists() and "seconds" in command
        facts = json.loads((folder / "facts.json").read_text())
        assert facts["target"]["thread_names"] and facts["target"]["maps"], name
    assert (tmp_path / "evidence" / REHEARSED[0] / "report.tar.gz").exists()
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [check["check"] for check in result["checks"]] == [
        name for name in names() if name in REHEARSED]
    assert result["machine"]["python"] and result["machine"]["rehearsed"]


def test_what_is_not_seen_fails(tmp_path):
    """A hangdbg that says nothing."""
    program = tmp_path / "hangdbg"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    done = run("--rehearse", "--out", tmp_path / "out", "launch-queue", program=program)
    assert done.returncode == 1 and count(done) == (0, 1, 0), done
    assert "FAILED  launch-queue" in done.stdout, done
    assert "not seen: ps has a line" in (tmp_path / "out" / "summary.txt").read_text()


def test_it_stops_in_time(tmp_path):
    done = run("--rehearse", "--seconds", "20", "--out", tmp_path)
    passed, failed, skipped = count(done)
    assert passed + failed + skipped == len(names()) and skipped > 0, done
    assert "no time is left" in done.stdout.splitlines()[-3], done


@pytest.mark.parametrize("words, said", [
    (["nosuch"], "no check is named nosuch"),
    (["--seconds", "x"], "--seconds"),
    (["--seconds", "1"], "--seconds must be from 20"),
    (["--nosuch"], "--nosuch"),
    (["--out", "/dev/null/x"], "cannot write to /dev/null/x"),
])
def test_bad_arguments(words, said):
    done = run(*words)
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.count("\n") == 1 and said in done.stderr, done


def test_no_program(tmp_path):
    """The folder alone, as it was taken along without one."""
    shutil.copytree(FOLDER, tmp_path / "tests" / "gpu")
    done = run(program="/nonexistent", folder=tmp_path / "tests" / "gpu")
    assert (done.returncode, done.stdout) == (2, "") and "no hangdbg" in done.stderr, done


def test_the_packed_folder_is_small_and_runs(tmp_path):
    done = run("--pack", tmp_path / "gpu.tar.gz")
    assert done.returncode == 0, done
    with tarfile.open(tmp_path / "gpu.tar.gz") as tar:
        unpacked = sum(member.size for member in tar)
        tar.extractall(tmp_path)
    assert (tmp_path / "gpu.tar.gz").stat().st_size < MOST_BYTES
    assert unpacked < MOST_BYTES
    alone = run("--out", tmp_path / "out", "--rehearse", "compile-lock", program="",
                folder=tmp_path / "gpu")
    assert count(alone) == (1, 0, 0), alone


def test_the_real_torch_has_every_name_that_targets_use():
    """The rehearsal's torch is ours: a name that is mistyped in both would be seen on a
    device only."""
    found = torches.found()
    if not found:
        pytest.skip("no interpreter has torch")
    used = sorted({name for path in (FOLDER / "targets").glob("*.py") for name in dotted(path)})
    assert "torch.cuda.synchronize" in used, used
    code = ("import sys, torch, torch.distributed, torch.utils.data\n"
            "for name in sys.argv[1:]:\n"
            "    try: eval(name)\n"
            "    except AttributeError: print(name)")
    done = subprocess.run([found[-1][1], "-c", code, *used], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, ""), done


def dotted(path):
    """Names like torch.cuda.Stream, and those of torch.distributed as dist."""
    for node in ast.walk(ast.parse(path.read_text())):
        words = []
        while isinstance(node, ast.Attribute):
            words.insert(0, node.attr)
            node = node.value
        if words and isinstance(node, ast.Name) and node.id in ("torch", "dist"):
            root = {"torch": "torch", "dist": "torch.distributed"}[node.id]
            yield ".".join([root, *words])
