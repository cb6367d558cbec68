"""Who may attach where Yama is set to what, on a kernel that has it."""

import json

import pytest

import vm

SUDO = "sudo hangdbg attach "
SYSCTL = "sysctl kernel.yama.ptrace_scope=0"
RUN = "hangdbg run -- COMMAND"


@pytest.mark.timeout(400)  # the kernel may be fetched
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
    assert waiter["rc"] == 0 and "it has waited for you" in waiter["out"], waiter
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
