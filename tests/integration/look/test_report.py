"""hangdbg report: one file with all that is known, nothing secret in it, nothing half
written."""

import json
import os
import pty
import signal
import stat
import subprocess
import tarfile
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import processes
from harness import (PROGRAM, as_nobody, behind, die_with_us, hangdbg, outcome, start,
                     start_hangdbg, track, until)
from test_jobs import ranks_of
from test_namespaces import needs_root

TOKEN = "tok-en/5\"1'&<long>"  # as it is, and as JSON, XML and shells write it
PASSWORD = "hunter2222"
SHORT = "qz7"
SECRETS = {"WANDB_API_KEY": TOKEN, "DATABASE": "postgres://ada:w%40nd3r@host/x"}
ARGUMENTS = ["--db-password", PASSWORD, "--pin-token", SHORT]
EACH = ["fds", "threads", "locks", "net", "tree", "around", "doctor"]  # of each process
HIDDEN = [TOKEN, PASSWORD, '"%s"' % SHORT, " %s\n" % SHORT, "w%40nd3r", "tok-en/5"]


@pytest.fixture
def folder(tmp_path):
    """With nothing in it."""
    path = tmp_path / "reports"
    path.mkdir()
    return path


def contents(path):
    """Of each file in the archive, by its name there."""
    with tarfile.open(str(path)) as archive:
        members = archive.getmembers()
        assert {one.mode for one in members} == {0o600}, members
        (folder,) = {one.name.split("/")[0] for one in members}
        return {one.name[len(folder) + 1:]: archive.extractfile(one).read().decode()
                for one in members}


def report(*words, **more):
    done = hangdbg("report", *words, **more)
    assert "Traceback" not in done.err
    return done


def part(found, name, pid=None):
    parts = json.loads(found["report.json"])["parts"]
    (one,) = [each["json"] for each in parts if (each["part"], each["pid"]) == (name, pid)]
    return one


def test_a_secret_may_be_a_word_of_ours(newest_python, folder):
    """And what a shell is to run names one."""
    words = "true --token tok_0123456789; sleep 100; true"
    child = subprocess.Popen(["sh", "-c", words], env=dict(os.environ, DB_PASSWORD="hangdbg"),
                             start_new_session=True, preexec_fn=die_with_us)
    track(child)
    target = start("sleep", newest_python, env={"DB_PASSWORD": "hangdbg", "X_TOKEN": "around"})
    done = report(target.pid, child.pid, "-o", folder / "a.tar.gz")
    assert done.rc in (0, 1) and (folder / "a.tar.gz").exists(), done
    found = contents(folder / "a.tar.gz")
    assert json.loads(found["report.json"])["format"] == "hangdbg-report"
    assert part(found, "around", target.pid)
    assert not [name for name, text in found.items() if "tok_0123456789" in text]
    target.finish()


def test_all_that_there_is(some_python, folder, tmp_path):
    target = start("descriptors", some_python, tmp_path, *ARGUMENTS, env=SECRETS)
    before = target.snapshot()
    path = folder / "hang.tar.gz"
    done = report(target.pid, "-o", path)
    assert done.rc == 0 and done.err == "", done
    assert done.out.startswith("%s · " % path) and "README.md" in done.out, done
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = contents(path)
    assert {"README.md", "diagnosis.txt", "dump.txt", "stacks.svg", "report.json", "log.txt",
            *("%s-%d.txt" % (name, target.pid) for name in EACH)} == set(found)
    for name in EACH:
        assert part(found, name, target.pid)
    assert list(found)[0] == "README.md"
    for name, text in found.items():
        assert text, name
    readme = found["README.md"]
    assert readme.startswith("# hangdbg report: process %d\n\n```\n" % target.pid)
    assert found["diagnosis.txt"] in readme and "| kernel | Linux" in readme
    assert "wait" in found["dump.txt"]
    ElementTree.fromstring(found["stacks.svg"])
    assert part(found, "diagnosis")["pid"] == target.pid
    (process,) = part(found, "dump")["processes"]
    assert process["pid"] == target.pid and process["python"] in readme
    assert any(frame["kind"] == "native" for thread in process["threads"]
               for frame in thread["frames"])
    assert len(part(found, "fds", target.pid)["descriptors"]) > 5
    target.assert_as_before(before, arenas=0)
    target.finish()


def test_nothing_secret_is_in_it(newest_python, folder, tmp_path):
    target = start("descriptors", newest_python, tmp_path, *ARGUMENTS, env=SECRETS)
    path = folder / "hang.tar.gz"
    done = report(target.pid, "--locals", "-o", path)
    assert done.rc == 0 and "check dump.txt" in done.err, done
    for name, text in contents(path).items():
        for secret in HIDDEN:
            for form in (secret, json.dumps(secret)[1:-1]):
                assert form not in text, (name, form)
    assert "--db-password ***" in contents(path)["dump.txt"]
    # That they can be found at all:
    assert PASSWORD in hangdbg("dump", target.pid).out
    assert ' "%s"' % SHORT in json.dumps(hangdbg("dump", target.pid, "--json").json())
    target.finish()


def test_local_variables_with_secret_names(python, folder):
    """Whatever value has it, in the text and in the JSON; what is no text stays."""
    target = start("secret_locals", python)
    path = folder / "hang.tar.gz"
    assert report(target.pid, "--locals", "-o", path).rc == 0
    for name, text in contents(path).items():
        assert "S3c" not in text, (name, text[text.index("S3c") - 60:][:120])
    for kept in ("tokens = [101, 2023]", "'user': 'u'", "refresh_token = None"):
        assert kept in contents(path)["dump.txt"], kept
    assert "S3cInNested" in hangdbg("dump", target.pid, "--locals").out
    target.finish()


def test_a_job(newest_python, folder):
    name, ranks = ranks_of(3, newest_python, HF_TOKEN=TOKEN)
    path = folder / "job.tar.gz"
    done = report("--job", name, "-o", path, "--json")
    assert done.rc == 0, done
    told = done.json()
    assert (told["path"], told["bytes"], told["missing"]) == (
        str(path), path.stat().st_size, [])
    found = contents(path)
    assert [one["name"].split("/")[1] for one in told["files"]] == list(found)
    whole = json.loads(found["report.json"])
    assert (whole["job"]["id"], whole["job"]["world_size"]) == (name, 3)
    assert whole["processes"] == [
        {"pid": ranks[rank].pid, "rank": rank} for rank in range(3)]
    assert [one["rank"] for one in part(found, "dump")["processes"]] == [0, 1, 2]
    for target in ranks.values():
        assert part(found, "fds", target.pid)["pid"] == target.pid
    assert "3 of 3 ranks here" in found["README.md"].splitlines()[0]
    assert all(TOKEN not in text for text in found.values())
    done = report("--job", name, "--ranks", "1", "-o", folder / "one.tar.gz")
    assert done.rc == 0, done
    whole = json.loads(contents(folder / "one.tar.gz")["report.json"])
    assert [one["rank"] for one in whole["processes"]] == [1]


def test_a_stopped_process(newest_python, folder):
    target = start("lock_main", newest_python)
    os.kill(target.pid, signal.SIGSTOP)
    done = report(target.pid, "-o", folder / "x")
    found = contents(folder / "x")
    assert done.rc == 0 and part(found, "diagnosis")["cause"] == "stopped", done
    os.kill(target.pid, signal.SIGCONT)
    target.finish()


def test_a_file_that_is_there(newest_python, folder):
    target = start("lock_main", newest_python)
    path = folder / "mine"
    path.write_text("mine")
    report(target.pid, "-o", path).assert_refused(2, "already exists", "--force")
    assert path.read_text() == "mine"
    assert report(target.pid, "-o", path, "--force").rc == 0
    assert "README.md" in contents(path)
    assert os.listdir(str(folder)) == ["mine"]
    report(target.pid, "-o", folder / "no" / "where").assert_refused(2, "No such file", "-o")
    target.finish()


def test_by_default_here(newest_python, folder):
    target = start("lock_main", newest_python)
    done = subprocess.run([str(PROGRAM), "report", str(target.pid)], cwd=str(folder),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
    assert done.returncode == 0, done
    (name,) = os.listdir(str(folder))
    assert name.startswith("hangdbg-report-%d-2" % target.pid) and name.endswith(".tar.gz")
    assert done.stdout.decode().startswith(name)
    target.finish()


def caught(word, target, path, *words):
    """A report that is being written, and the hangdbg that makes the part whose command has
    that word, stopped. A part takes milliseconds: one that got away is waited for anew."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        running = start_hangdbg("report", target.pid, "-o", path, *words)
        children = Path("/proc/%d/task/%d/children" % (running.pid, running.pid))
        while running.poll() is None:
            for pid in children.read_text().split():
                try:
                    if word in Path("/proc/%s/cmdline" % pid).read_text().split("\0"):
                        os.kill(int(pid), signal.SIGSTOP)
                        until("stopped, or over", lambda: processes.state(int(pid)) in "TZX")
                        if processes.state(int(pid)) == "T":
                            return running, int(pid)
                except (OSError, IndexError):
                    pass  # it is over
        assert outcome(running).rc == 0
        path.unlink()
    raise AssertionError("no part was seen")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ended_in_the_middle(newest_python, folder, number):
    target = start("lock_main", newest_python)
    running, child = caught("diagnose", target, folder / "x")
    os.kill(running.pid, number)
    if number == signal.SIGINT:  # of which its child is told
        os.kill(child, signal.SIGCONT)
    done = outcome(running)
    assert done.rc == (130 if number == signal.SIGINT else -number), done
    assert done.out == "" and os.listdir(str(folder)) == []
    until("its child goes with it", lambda: not os.path.exists("/proc/%d" % child))
    target.finish()


def test_a_process_that_ends_meanwhile(newest_python, folder):
    target = start("lock_main", newest_python, env=SECRETS)
    running, child = caught("dump", target, folder / "x")
    target.process.kill()
    target.process.wait()
    os.kill(child, signal.SIGCONT)
    done = outcome(running)
    assert done.rc == 1 and "missing: stacks: " in done.err, done
    found = contents(folder / "x")
    assert part(found, "diagnosis")["pid"] == target.pid
    assert "- dump: " in found["README.md"] and TOKEN not in "".join(found.values())


def test_a_part_that_takes_too_long(newest_python, folder):
    target = start("lock_main", newest_python)
    running, _ = caught("dump", target, folder / "x", "--timeout", 2, "--json")
    done = outcome(running)
    assert done.rc == 1 and done.seconds < 8, done
    missing = {one["part"]: one["why"] for one in done.json()["missing"]}
    assert "no answer" in missing["dump"] and "timeout before" in missing["fds"], done
    assert part(contents(folder / "x"), "diagnosis")["pid"] == target.pid
    target.finish()


def test_who_cannot_be_reported(newest_python, public, folder):
    report(2 ** 22 - 1, "-o", folder / "x").assert_refused(2, "no process", "hangdbg ps")
    report("one", "-o", folder / "x").assert_refused(2, "is not a PID", "hangdbg ps")
    report("1", "--job", "auto").assert_refused(2, "cannot be combined")
    assert os.listdir(str(folder)) == []


@needs_root
def test_who_may_not_look(newest_python, public):
    target = start("lock_main", newest_python)
    done = behind(*as_nobody(public + "/hangdbg"))("report", target.pid, "-o", "/tmp/never.tar.gz")
    done.assert_refused(3, target.pid)
    assert not os.path.exists("/tmp/never.tar.gz")
    target.finish()


def test_progress_is_for_a_terminal(newest_python, folder):
    target = start("lock_main", newest_python)
    ours, theirs = pty.openpty()
    running = track(subprocess.Popen(
        [str(PROGRAM), "report", str(target.pid), "-o", str(folder / "x")],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs,
        start_new_session=True, preexec_fn=die_with_us))
    os.close(theirs)
    seen = b""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # nobody has the other end any more
            break
    os.close(ours)
    assert running.wait(20) == 0
    assert b"1 of " in seen and b"diagnosis ..." in seen and seen.endswith(b"\r\x1b[K"), seen
    target.finish()
