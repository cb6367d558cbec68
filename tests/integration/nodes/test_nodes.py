"""Commands on several hosts at once, by a real ssh."""

import json
import os
import re
import shutil
import signal
import sys
import tarfile
from pathlib import Path

import pytest

import launchers
from harness import hangdbg, start, start_hangdbg, track, until
from sshd_hosts import Nodes

SUPPORT = Path(launchers.__file__).parent


@pytest.fixture
def make_nodes(tmp_path):
    made = []

    def make(*names, **faults):
        made.append(Nodes(tmp_path, names, **faults))
        return made[-1]

    yield make
    for nodes in made:
        nodes.down()


def start_ranks(nodes, python):
    pids = {}
    for at, name in enumerate(nodes.names):
        for local in range(2):
            rank = 2 * at + local
            pids[rank] = nodes.start(
                name, python, "lock_main.py", RANK=rank, WORLD_SIZE=4, LOCAL_RANK=local,
                LOCAL_WORLD_SIZE=2, MASTER_ADDR="n1", MASTER_PORT=2950,
                TORCHELASTIC_RUN_ID="run7")
    for at, name in enumerate(nodes.names):
        # Two interpreters that sleep in the lock.
        until("ranks of " + name, lambda n=name: nodes.hangdbg(
            "ps", "--via", "ssh:" + n).out.count("wait_for_lock") == 2)
    return pids


def test_one_answer_of_two_hosts(make_nodes, newest_python):
    nodes = make_nodes("n1", "n2")
    start_ranks(nodes, newest_python)
    via = ("--job", "auto", "--via", "ssh:n[1-2]")

    merged = nodes.hangdbg("dump", "--merge", *via)
    assert (merged.rc, merged.out.splitlines()[0]) == (0, "[0-3] 4 ranks on n1, n2"), merged
    assert merged.out.count("wait_for_lock") == 1

    asked = nodes.hangdbg("eval", "21 * 2", *via)
    assert (asked.rc, asked.out) == (0, "[n[1-2]:0-3] 42\n"), asked
    one = nodes.hangdbg("eval", "21 * 2", *via, "--ranks", "3")
    assert (one.rc, one.out) == (0, "[n2:3] 42\n"), one
    none = nodes.hangdbg("eval", "21 * 2", *via, "--ranks", "9")
    assert none.rc == 2 and "none of these ranks is on these nodes" in none.err, none

    found = nodes.hangdbg("diagnose", *via)
    assert "job run7 (torch, 4 ranks) hangs: each of the 4 ranks" in found.out, found
    report = json.loads(nodes.hangdbg("diagnose", "--json", *via).out)
    assert [one["rank"] for one in report["ranks"]] == [0, 1, 2, 3], report

    # A host that refuses costs nothing but its line.
    part = nodes.hangdbg("dump", "--merge", "--job", "auto", "--via", "ssh:n[1-2],nowhere")
    assert part.rc == 1 and "nowhere: " in part.out, part
    assert "[0-3] 4 ranks on n1, n2" in part.out, part

    # It was sent once, and nothing else is there.
    for name in nodes.names:
        kept = os.listdir(nodes.folder / name / "hangdbg")
        assert len(kept) == 1, kept
        assert os.stat(nodes.folder / name / "hangdbg").st_mode & 0o777 == 0o700


@pytest.mark.parametrize("launcher", ["pdsh", "clush"])
def test_one_process_for_all_hosts(launcher, make_nodes):
    if not shutil.which(launcher):
        pytest.skip("needs " + launcher)
    nodes = make_nodes("n1", "n2")
    via = launcher + ":n[1-2]"
    if launcher == "pdsh":
        refused = nodes.hangdbg("ps", "--via", via)
        assert refused.rc == 4, refused
        assert "n[1-2]: this hangdbg is not there, and pdsh cannot send it" in refused.err
        nodes.hangdbg("ps", "--via", "ssh:n[1-2]")
    done = nodes.hangdbg("ps", "--via", via)
    assert "[n[1-2]] no Python process found" in done.err, done


def test_one_process_sends_the_program_once(newest_python, tmp_path):
    """Also to a node that has it by now, from another with the same home, and reads to the end what it
    is sent: srun takes a node that does not for a failure, and kills the others."""
    target = start("file_baton", newest_python, str(tmp_path / "lock"))
    done = hangdbg("eval", target.pid, "answer", "--via", "cmd:n[1-3] %s %s/one_for_all.py %s {hosts}" % (
        sys.executable, SUPPORT, tmp_path))
    assert (done.rc, done.out) == (0, "[n[1-3]] 41\n"), done
    # Asked, and sent.
    noted = (tmp_path / "runs").read_text().split()
    assert noted[:2] == ["run", "run"] and len(noted) == 3 and int(noted[2]) > 1000000, noted


# Its cache, and wherever else a program could be kept. (What sshd reads is below /tmp.)
EVERYWHERE = ("for f in {cache} /var/tmp /dev/shm /run; do mount -t tmpfs -o %s x $f; done; "
              "mkdir -p /run/sshd; export TMPDIR=/var/tmp")
NOEXEC, FULL = EVERYWHERE % "noexec", EVERYWHERE % "size=64k"
OTHER = "ForceCommand PATH=%s/bin-other:$PATH; export PATH; sh -c \"$SSH_ORIGINAL_COMMAND\""
NOISE = ("ForceCommand head -c 1000000 /dev/zero | tr '\\000' '#'; echo; "
         "sh -c \"$SSH_ORIGINAL_COMMAND\"")
STOPS = "ForceCommand sh -c \"$SSH_ORIGINAL_COMMAND\" | sed -u 2q"
GARBAGE = "ForceCommand echo 'hangdbg1~s1~0~H~9999999~00~AAAA~'"


def test_each_fault_is_named(make_nodes, tmp_path):
    """All at once: none of them costs another its answer."""
    (tmp_path / "bin-other").mkdir()
    (tmp_path / "bin-other" / "hangdbg").write_text("#!/bin/sh\nexit 2\n")
    os.chmod(tmp_path / "bin-other" / "hangdbg", 0o755)
    nodes = make_nodes(
        "well", "noexec", "full", "other", "noise", "stops", "garbage", "refuses", "drops",
        faults={"other": OTHER % tmp_path, "noise": NOISE, "stops": STOPS,
                "garbage": GARBAGE, "refuses": "REFUSES"},
        mounts={"noexec": NOEXEC, "full": FULL})
    nodes.drop("drops")
    answers = nodes.hangdbg(
        "ps", "--json", "--via", "ssh:" + ",".join(nodes.names))
    by_node = {one["node"]: one for one in json.loads(answers.out)["nodes"]}
    for name in ("well", "noexec", "full", "other", "noise"):
        assert by_node[name]["error"] is None, (by_node[name], answers.err)
        assert by_node[name]["host"] == name
    assert "noise: a line before its answer: ####" in answers.err
    errors = {name: one["error"]["message"] for name, one in by_node.items() if one["error"]}
    assert set(errors) == {"stops", "garbage", "refuses", "drops"}, errors
    assert "stops in the middle" in errors["stops"]
    assert "cannot be read: a frame" in errors["garbage"]
    assert "Connection refused" in errors["refuses"]
    assert "Connection timed out" in errors["drops"]
    assert answers.rc == 1


def test_nothing_is_left_when_the_asking_side_is_killed(make_nodes, newest_python):
    nodes = make_nodes("n1")
    pid = nodes.start("n1", newest_python, "lock_main.py")
    nodes.hangdbg("ps", "--via", "ssh:n1")  # it is there

    def ours():
        listed = nodes.ssh("n1", "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; "
                                 "done 2>/dev/null; true")
        return [line for line in listed.splitlines() if " node " in line and "hangdbg" in line]

    asking = start_hangdbg("eval", "__import__('time').sleep(300)", "-p", pid,
                           "--timeout", "300", "--via", "ssh:n1",
                           env=nodes.environment())
    until("it is asked there", ours)
    asking.send_signal(signal.SIGKILL)
    asking.wait()
    until("nothing is left", lambda: not ours())
    after = nodes.hangdbg("eval", "answer", "-p", pid, "--via", "ssh:n1")
    assert after.rc == 0, after


def test_any_launcher_by_a_template(newest_python, tmp_path):
    """Stand-ins: nodes that are this machine."""
    target = start("file_baton", newest_python, str(tmp_path / "lock"))
    via = "cmd:n[1-3] env NODE={host}"
    done = hangdbg("eval", target.pid, "answer", "--via", via)
    assert (done.rc, done.out) == (0, "[n[1-3]] 41\n"), done
    shell = hangdbg("eval", target.pid, "answer", "--via",
                    "cmd:n[1-3] sh -c 'eval \"$1\"' {host} {command}")
    assert shell.out == done.out, shell
    assert not list((tmp_path / "home").glob(".cache/hangdbg/*.*")), "half a program"


def test_reports_and_traces_of_nodes(newest_python, tmp_path):
    target = start("file_baton", newest_python, str(tmp_path / "lock"))
    via = ("--via", "cmd:n[1-2],none sh -c '[ $1 != none ] && eval \"$2\"' sh {host} {command}")
    path = tmp_path / "all.tar.gz"
    done = hangdbg("report", target.pid, "-o", path, *via)
    assert done.rc == 1 and "missing: none" in done.err, done
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
        assert {"n1/dump.txt", "n2/dump.txt", "n1/report.json"} <= names, names
        assert not [name for name in names if name.startswith("none")]
    assert os.stat(path).st_mode & 0o777 == 0o600
    hangdbg("report", target.pid, "-o", path, *via).assert_refused(2, "already exists", "--force")

    traced = hangdbg("trace", target.pid, "-c", "--for", "1", "--via", "cmd:n1 env N={host}")
    assert traced.rc == 0 and re.search(r"^\[n1\] .* total$", traced.out, re.M), traced
    hangdbg("trace", target.pid, *via).assert_refused(2, "--via needs --for", "--for 5")


@pytest.mark.parametrize("tool", ["docker", "kubectl"])
def test_containers_by_a_stand_in(tool, newest_python, tmp_path):
    """The words that the tool's documentation has; what it does is a stand-in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = {"docker": '[ "$1 $2" = "exec -i" ] || exit 9; shift 3; exec "$@"',
              "kubectl": 'case "$1" in get) echo pod/web-1; echo pod/web-2;; '
                         'exec) while [ "$1" != -- ]; do shift; done; shift; exec "$@";; esac'}
    (folder / tool).write_text("#!/bin/sh\n" + script[tool] + "\n")
    os.chmod(folder / tool, 0o755)
    target = start("file_baton", newest_python, str(tmp_path / "lock"))
    hosts = {"docker": "web-[1-2]", "kubectl": "app=train"}[tool]
    done = hangdbg("eval", target.pid, "answer", "--via", "%s:%s" % (tool, hosts),
                   env=dict(os.environ, PATH="%s:%s" % (folder, os.environ["PATH"])))
    assert (done.rc, done.out) == (0, "[web-[1-2]] 41\n"), done


def test_what_is_no_launcher_is_said():
    done = hangdbg("ps", "--via", "telnet:n1")
    assert done.rc == 2 and "no such launcher" in done.err and "ssh:HOSTS" in done.err, done
    missing = hangdbg("ps", "--via", "docker:n1", env=dict(os.environ, PATH="/nonexistent"))
    assert missing.rc == 4, missing
    assert "n1: cannot run docker: No such file or directory" in missing.err, missing


def test_by_a_real_srun(tmp_path, newest_python):
    """A step of ours beside the job's own, on the one node of a real Slurm."""
    job = launchers.Slurm(tmp_path, "plain", started=track)
    here = {**job.environment(), "XDG_CACHE_HOME": str(tmp_path),
            "PATH": "%s:%s" % (job.root / "usr/bin", os.environ["PATH"])}
    this = ("--job", job.name)  # of other tests' that are here
    via = ("--via", "srun:" + job.job, *this)
    try:
        until("its ranks wait", lambda: re.match(
            r"rank 2: in Condition\.wait .*\n    ranks 0,1,3: (.*\n)*\[0-3\] 4 ranks\n",
            hangdbg("dump", "--merge", *via, env=here).out))
        done = hangdbg("eval", "21 * 2", *via, env=here)
        assert done.rc == 0 and re.fullmatch(r"\[.*:0-3\] 42\n", done.out), done
        step = hangdbg("dump", "--merge", "--via", "srun:" + job.name, *this, env=here)
        auto = hangdbg("eval", "21 * 2", "--via", "auto", *this, env=here)
        assert "--via srun:%s (SLURM_JOB_ID of rank 0)" % job.job in auto.err, auto
        assert (step.rc, "[0-3] 4 ranks" in step.out) == (0, True), step
        hangdbg("ps", "--via", "srun:%d" % (int(job.job) + 1), env=here).assert_refused(
            4, "Invalid job id", "try: squeue ")
    finally:
        job.end()


@pytest.mark.parametrize("of", [launchers.OpenMpi, launchers.Mpich], ids=lambda one: one.name)
def test_by_a_real_mpirun(of, make_nodes, tmp_path, newest_python):
    """Its own way to another host is the ssh of the test."""
    real = launchers.program(of.starter, of.name)
    variables = dict(of.variables(tmp_path), OMPI_ALLOW_RUN_AS_ROOT=1,
                     OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
    words = " ".join("%s=%s" % pair for pair in variables.items())
    # What it starts there needs its libraries, too.
    command = "ForceCommand env %s sh -c \"$SSH_ORIGINAL_COMMAND\"" % words
    nodes = make_nodes("n1", "n2", faults={"n1": command, "n2": command})
    (tmp_path / "bin" / "mpirun").write_text(
        "#!/bin/sh\nexec env %s HYDRA_IFACE=%s %s \"$@\"\n" % (words, nodes.bridge, real))
    os.chmod(tmp_path / "bin" / "mpirun", 0o755)
    (tmp_path / "hosts").write_text("n1 slots=1\nn2 slots=1\n".replace(
        " slots=", ":" if of is launchers.Mpich else " slots="))
    nodes.start("n2", newest_python, "lock_main.py")
    until("it waits", lambda: "wait_for_lock" in nodes.hangdbg("ps", "--via", "ssh:n2").out)
    if of is launchers.Mpich:
        # Its way in breaks where more comes than is read at once.
        nodes.hangdbg("ps", "--via", "ssh:n1")
    done = nodes.hangdbg("ps", "--via", "mpirun:%s/hosts" % tmp_path)
    assert done.rc == 0 and re.search(r"^\[n2\] .*wait_for_lock", done.out, re.M), done
    assert "[n1] no Python process found" in done.err, done
