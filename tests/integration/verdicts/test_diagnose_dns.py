"""hangdbg diagnose: who looks a name up, and the DNS server does not answer."""

import subprocess

import pytest

from diagnosed import diagnosed
from harness import Target, in_targets, until
from test_namespaces import needs_root

OWN = ("unshare", "-m", "-n")


def start(case, python):
    if subprocess.run([*OWN, "mount", "--bind", "/etc/hosts", "/etc/resolv.conf"],
                      stderr=subprocess.DEVNULL).returncode:
        pytest.skip("needs mount and network namespaces")
    return Target([*OWN, python, in_targets("causes_dns.py"), case])


@needs_root
@pytest.mark.parametrize("case, name", [("getaddrinfo", ": it looks up db.prod.internal."),
                                        ("gethostbyname", ""),
                                        ("in_a_loop", ": it looks up db.prod.internal."),
                                        ("by_tcp", "")])
def test_a_dns_server_that_does_not_answer(case, name, newest_python):
    target = start(case, newest_python)
    expected = "waits for the DNS server 127.0.0.1:53, which does not answer" + name
    said = until(expected, lambda: [
        said for said in [diagnosed(target.pid)]
        if said["chain"][-1]["cause"] == "dns" and "does not" in said["summary"]])[0]
    assert said["summary"] == expected, said
    # A loop has it done by a thread of its pool.
    assert said["state"] == "blocked" and len(said["chain"]) == (2 if case == "in_a_loop" else 1), (
        said)
