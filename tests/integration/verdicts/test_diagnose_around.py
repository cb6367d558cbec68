"""hangdbg diagnose: hangs by what is around a process, each made for real and named
first; and who is only slow for it is not called hung."""

import subprocess
from pathlib import Path

import pytest

from cgroups import cgroup
from diagnosed import diagnosed, named_first, well_by
from harness import Target, hangdbg, in_targets, until
from test_namespaces import needs_root


def begin(case, python, *args):
    return Target([python, in_targets("causes_around.py"), case, *args])


def begin_within(target):
    """It was given its limits."""
    target.process.stdin.write(b"\n")
    target.process.stdin.flush()


@needs_root
@pytest.mark.parametrize("version", ["freezer", "unified"])
def test_a_frozen_cgroup(version, newest_python):
    target = begin("thaws", newest_python)
    with cgroup(version) as group:
        group.take(target.pid)
        group.freeze()
        said = named_first("a frozen cgroup, " + version, target.pid, "frozen", "certain",
                           "is frozen with its cgroup /" + group.folder.name)
        subprocess.run(said["next"][0]["command"], shell=True, check=True)
        until("thawed", lambda: not diagnosed(target.pid)["stalled"])


@needs_root
def test_who_is_throttled_is_slow_and_does_not_hang(newest_python):
    with cgroup("cpu") as group:
        group.write("cpu.cfs_quota_us", 2000)
        target = begin("computes", newest_python)
        group.take(target.pid)
        until("throttled", lambda: group.entry("cpu.stat", "nr_throttled") > 5)
        said = well_by("a CPU quota", target.pid, "cpu-throttled")
        assert "it is slow because its cgroup lets it have 0.02 CPUs" in said["summary"], said
        assert any(line.startswith("cgroup: CPU throttled in ") for line in said["around"]), said
        text = hangdbg("diagnose", target.pid)
        assert "\naround\n  cgroup: CPU throttled in " in text.out, text


@pytest.mark.parametrize("case", ["accepts", "serves"])
def test_no_descriptor_is_left_to_accept(case, newest_python):
    target = begin(case, newest_python)
    said = named_first("EMFILE, " + case, target.pid, "descriptors-used-up", "certain",
                       "has all its 64 descriptors open, so that 1 connection is not accepted")
    assert said["around"][0] == "limits: 64 of 64 descriptors are open", said


@needs_root
def test_no_room_where_it_writes(newest_python, tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    target = begin("writes", newest_python, folder)
    said = named_first("ENOSPC", target.pid, "disk-full", "likely",
                       "finds no room on %s, which is full" % folder)
    assert any("fd " in line and line.endswith("/log") for line in said["evidence"]), said


@needs_root
def test_no_thread_may_be_begun(newest_python):
    target = begin("forks", newest_python)
    with cgroup("pids") as group:
        group.write("pids.max", 3)
        group.take(target.pid)
        begin_within(target)
        until("refused", lambda: group.entry("pids.events", "max")
              if group.has("pids.events") else group.read("pids.current") == "3")
        named_first("pids.max", target.pid, "process-limit", "likely",
                    "can begin no process or thread, as its cgroup has all 3")


@needs_root
def test_memory_is_used_up_and_nobody_is_killed(newest_python):
    target = begin("grows", newest_python)
    with cgroup("memory") as group:
        if not group.has("memory.oom_control"):
            pytest.skip("cgroups of version 1 alone have no OOM killer to turn off")
        group.write("memory.limit_in_bytes", 16 << 20)
        group.write("memory.oom_control", 1)
        group.take(target.pid)
        begin_within(target)
        until("out of memory", lambda: group.entry("memory.oom_control", "under_oom"))
        named_first("a cgroup out of memory, without its OOM killer", target.pid, "memory-limit",
                    "certain", "has all its 16 MiB in use, and the OOM killer is off")


@needs_root
def test_a_worker_that_was_killed_for_its_memory(newest_python):
    target = begin("pools", newest_python)
    with cgroup("memory") as group:
        if not group.has("memory.oom_control"):
            pytest.skip("no cgroups of version 1 for memory")
        for pid in (target.pid, target.ready["worker"]):
            group.take(pid)
        Path("/proc/%d/oom_score_adj" % target.ready["worker"]).write_text("1000")
        group.write("memory.limit_in_bytes", 128 << 20)
        begin_within(target)
        until("killed", lambda: group.entry("memory.oom_control", "oom_kill"))
        said = named_first("a Pool's worker killed for its memory", target.pid, "task-lost",
                           "likely", "the kernel has killed .* as there was no memory left")
        assert any(line.startswith("cgroup: the kernel has killed 1 process")
                   for line in said["around"]), said


@needs_root
def test_who_reads_more_than_its_memory_is_slow(newest_python, tmp_path):
    target = begin("rereads", newest_python, tmp_path)
    with cgroup("memory") as group:
        group.write("memory.limit_in_bytes", 16 << 20)
        group.take(target.pid)
        begin_within(target)
        until("reclaims", lambda: int(group.read("memory.failcnt")) > 100)
        well_by("a limit of memory, and a file that is larger", target.pid, "memory-throttled")


def test_nothing_is_said_around_who_is_well(newest_python):
    target = begin("thaws", newest_python)
    said = diagnosed(target.pid)
    assert [line for line in said["around"] if not line.startswith("machine:")] == [], said
    text = hangdbg("diagnose", target.pid)
    assert "\naround\n" not in text.out or "\naround\n  machine: " in text.out, text
