"""On a kernel that has what ours may lack: who may attach where Yama is set to what; a cgroup
of version 2 with the memory controller."""

import json

import pytest

import vm
from diagnosed import keep

SUDO = "sudo hangdbg "
SYSCTL = "sysctl kernel.yama.ptrace_scope=0"
RUN = "hangdbg run -- COMMAND"


@pytest.mark.timeout(600)  # the kernel may be fetched
def test_yama(tmp_path):
    lines = vm.boot("yama_guest", "/usr/bin/python3", tmp_path)
    told = {}
    for line in lines:
        try:
            one = json.loads(line)
        except ValueError:
            raise AssertionError("\n".join(lines)) from None
        told[one["scope"], one["as"], one["asked"], one["of"]] = one

    def works(scope, user, of):
        one = told.pop((scope, user, "eval", of))
        assert (one["rc"], one["out"], one["err"]) == (0, "42\n", ""), one

    def refused(scope, user, of, *hints):
        one = told.pop((scope, user, "eval", of))
        assert (one["rc"], one["out"]) == (3, ""), one
        assert "kernel.yama.ptrace_scope is %d" % scope in one["err"], one
        for hint in (SUDO, SYSCTL, RUN, "reboot"):
            assert (hint in one["err"]) == (hint in hints), (hint, one)

    works(0, "user", "sleeper")

    refused(1, "user", "sleeper", SUDO, SYSCTL, RUN)
    works(1, "user", "run")
    refused(1, "user", "child", SUDO, SYSCTL, RUN)
    waiter = told.pop((1, "user", "attach", "waiter"))
    assert waiter["rc"] == 0 and "it was waiting for a debugger" in waiter["out"], waiter
    assert "42" in waiter["out"].splitlines(), waiter
    refused(1, "user", "waiter", SUDO, SYSCTL, RUN)
    works(1, "user", "covered")
    doctor = told.pop((1, "user", "doctor", "sleeper"))
    assert doctor["rc"] == 3 and "only an ancestor" in doctor["out"], doctor
    assert RUN in doctor["out"], doctor

    listed = told.pop((1, "user", "ps", "all"))
    sleepers = [one for one in json.loads(listed["out"])["processes"]
                if one["uid"] == 1000 and "ready" in one["cmdline"][-1]]
    # One that nobody started so, one of run's, a parent and its child, and both
    # with --children.
    why = ["only an ancestor" in str(one["error"]) for one in sleepers]
    assert why == [True, False, False, True, False, False], sleepers
    assert [one["python"] is None for one in sleepers] == why, sleepers
    assert "in wait" in sleepers[1]["waits"] and sleepers[1]["waiting_s"], sleepers

    for scope in (2, 3):  # it is run all the same, and it is said what that helps
        for how, helps in (("version", False), ("children", scope == 2)):
            command = told.pop((scope, "user", "run", how))
            assert command["rc"] == 0 and command["out"].startswith("Python 3"), command
            assert ("ptrace_scope is %d" % scope in command["err"]) != helps, command

    works(2, "user", "covered")
    for of in ("sleeper", "run", "child", "covered"):
        works(1, "root", of)
        if of != "covered":
            refused(2, "user", of, SUDO, SYSCTL)
        works(2, "root", of)
        refused(3, "user", of, "reboot")
        refused(3, "root", of, "reboot")
    assert not told, told


@pytest.mark.timeout(600)
def test_who_wants_more_than_memory_high(tmp_path):
    lines = vm.boot("cgroup_guest", "/usr/bin/python3", tmp_path)
    answers = [json.loads(line) for line in lines if line.startswith("{")]
    said = answers[-1]
    assert said["stalled"], lines
    keep("a cgroup of version 2 above its memory.high", "memory-limit", said)
    assert (said["cause"], said["confidence"]) == ("memory-limit", "certain"), said
    assert "more memory than the 40 MiB above which" in said["summary"], said
    assert "mem_cgroup_handle_over_high" in str(said["evidence"]), said
    assert said["next"][0]["command"] == "echo 83886080 > /cgroup/job/memory.high", said


@pytest.mark.timeout(600)
def test_a_port_of_roce(tmp_path):
    """The kernel's own, on a network that is switched off: said where it is down, and only there."""
    lines = vm.boot("infiniband_guest", "/usr/bin/python3", tmp_path, modules=True)
    answers = [json.loads(line) for line in lines if line.startswith("{")]
    assert len(answers) == 4, lines
    around, diagnosis, around_down, diagnosis_down = answers
    (port,), (down,) = around["infiniband"], around_down["infiniband"]
    assert (port["device"], port["port"], port["state"], port["physical"], port["layer"]) == (
        "rxe0", 1, "ACTIVE", "LinkUp", "Ethernet"), port
    assert (port["errors"], down["errors"]) == ({}, {"link_downed": 1}), (port, down)
    said = "InfiniBand: port 1 of rxe0 is DOWN, Disabled, and lost its link 1 time"
    assert (around["unusual"], around_down["unusual"]) == ([], [said]), answers
    assert (diagnosis["around"], diagnosis_down["around"]) == ([], [said]), answers
