"""hangdbg diagnose: a client of MariaDB waits for a row that another client has locked. The
server is real (Debian's mariadb-server-core), and one process of many threads."""

import os
import re
import shutil
import signal
import subprocess

import pytest

import library_rows
from diagnosed import diagnosed
from harness import NORMAL_EXIT, PATIENCE, Target, die_with_us, in_targets, until
from library_rows import PYTHON

PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
MARIADB = ["mariadb-install-db", "mariadbd"]


def without_root(*command):
    """mariadbd refuses to run as root unless told to."""
    return [*command, "--no-defaults", *(["--user=root"] if os.geteuid() == 0 else [])]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The path of its socket, and its PID."""
    missing = [one for one in MARIADB if not shutil.which(one, path=PATH)]
    if missing or "PyMySQL" not in library_rows.installed():
        pytest.skip("not here: %s" % (missing or "PyMySQL"))
    folder = tmp_path_factory.mktemp("mariadb")
    data = "--datadir=%s" % (folder / "data")
    made = subprocess.run(
        [*at_path(without_root("mariadb-install-db")), data, "--skip-test-db",
         "--auth-root-authentication-method=normal"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)
    assert made.returncode == 0, made.stdout
    socket = folder / "socket"
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [*at_path(without_root("mariadbd")), data, "--socket=%s" % socket,
             "--skip-networking=0", "--bind-address=127.0.0.1", "--port=0",
             "--innodb-lock-wait-timeout=100000"],
            stdout=log, stderr=log, preexec_fn=die_with_us)
    try:
        until("MariaDB is ready", lambda: socket.exists() or process.poll() is not None, 120)
        assert process.poll() is None, (folder / "log").read_text()
        yield socket, process.pid
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def at_path(command):
    return [shutil.which(command[0], path=PATH), *command[1:]]


def client(does, server):
    return Target([PYTHON, in_targets("database_client.py"), does, server[0]])


def goes_on(target):
    target.go_on()
    target.read_line(PATIENCE)
    assert target.process.wait(PATIENCE) == NORMAL_EXIT, target.stderr()


def test_a_row_that_another_client_has_locked(server):
    goes_on(client("creates", server))
    holder = client("locks", server)
    asks = client("waits", server)
    said = until("the server has the request", lambda: (
        lambda it: it if "has read all that was sent" in it["summary"] else None)(
            diagnosed(asks.pid)))
    assert re.search(r"waits for the reply of MySQL .*to update shop.orders set v = 2.*: waits for what "
                     r"process %d \(mariadbd\) sends over a Unix socket" % server[1],
                     said["summary"]), said
    assert said["state"] == "blocked" and len(said["chain"]) == 1, said
    assert any("process %d (" % holder.pid in one and "asks nothing now" in one
               for one in said["evidence"]), said
    assert not any("process %d (" % asks.pid in one and "asks nothing now" in one
                   for one in said["evidence"]), said
    assert any("SHOW ENGINE INNODB STATUS" in one["command"] for one in said["next"]), said
    # The owner of the lock is well, and the waiter goes on once it commits.
    assert not diagnosed(holder.pid)["stalled"]
    goes_on(holder)
    goes_on(asks)
