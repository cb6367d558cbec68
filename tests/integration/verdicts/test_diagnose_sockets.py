"""hangdbg diagnose: the chain goes on through sockets to the process of this machine that has
the other end, and to the thread of it that handles them."""

import os
import re
import shutil
import signal
import subprocess

import pytest

from diagnosed import diagnosed, named_first, not_hung, well_by
from harness import Target, die_with_us, in_targets, track, until

TCP = r"over TCP \(127\.0\.0\.1:\d+\)"


def start(case, python):
    return Target([python, in_targets("causes_peers.py"), case])


def chain_to(target, cause):
    """Until the chain ends at that cause."""
    def told():
        said = diagnosed(target.pid)
        return said if said["chain"][-1]["cause"] == cause else None
    return until("the chain ends at " + cause, told)


def test_a_server_that_sleeps_in_its_handler(newest_python):
    target = start("http_sleeps", newest_python)
    first, last = chain_to(target, "sleeps")["chain"]
    assert re.search("waits for what process %d .* %s" % (target.ready["server"], TCP),
                     first["summary"]), first
    assert last["pid"] == target.ready["server"] and "causes_peers.py" in last["place"], last


def test_the_thread_that_handles_the_request(newest_python):
    target = start("handler_waits", newest_python)
    first, handler, keeper = chain_to(target, "sleeps")["chain"]
    assert first["tid"] == target.pid
    assert handler["tid"] == target.ready["handler"] and handler["cause"] == "python-lock"
    assert keeper["tid"] == target.ready["keeper"]


def test_a_server_that_is_stopped(newest_python):
    target = start("stopped", newest_python)
    said = named_first("a peer that is stopped", target.pid, "stopped", "certain", "is stopped")
    first, last = said["chain"]
    server = target.ready["server"]
    assert "waits for process %d (" % server in first["summary"], first
    assert "to accept its connection" in first["summary"], first
    assert last["pid"] == server, said


def test_a_client_of_asyncio(newest_python):
    target = start("client_of_a_loop", newest_python)
    said = named_first("asyncio, whose peer is stopped", target.pid, "stopped", "certain", "")
    assert said["chain"][-1]["pid"] == target.ready["server"], said


def test_a_full_accept_queue(newest_python):
    target = start("no_room", newest_python)
    first, last = chain_to(target, "sleeps")["chain"]
    assert "full, and process %d " % target.ready["server"] in first["summary"], first
    assert first["cause"] == "peer-unreachable", first
    assert last["pid"] == target.ready["server"]


@pytest.mark.parametrize("case", ["asks_itself", "asks_itself_in_a_loop"])
def test_a_server_that_asks_itself(case, newest_python):
    target = start(case, newest_python)
    said = named_first("a server that asks itself", target.pid, "deadlock", "likely",
                       "deadlocks with itself: .*waits for its own connection to 127")
    assert said["state"] == "stuck", said
    assert "not accepted yet" in str(said["evidence"]) and "Recv-Q 1" in str(said["evidence"])


def test_two_servers_that_ask_each_other(newest_python):
    target = start("ask_each_other", newest_python)
    said = named_first("two servers of XML-RPC", target.pid, "deadlock", "likely",
                       "2 processes wait for each other: .*process %d " % target.ready["server"])
    assert said["state"] == "stuck", said


def test_both_read_one_connection(newest_python):
    target = start("both_read", newest_python)
    named_first("both ends of a connection are read", target.pid, "deadlock", "likely",
                "2 processes wait for each other: .*%s" % TCP)


def test_a_unix_socket_that_nobody_accepts(newest_python):
    target = start("unix_not_accepted", newest_python)
    first, last = chain_to(target, "sleeps")["chain"]
    assert "waits for process %d (" % target.ready["server"] in first["summary"], first
    assert "to accept its connection to /" in first["summary"], first
    assert last["pid"] == target.ready["server"]


def test_a_manager_whose_queue_is_empty(newest_python):
    target = start("manager", newest_python)

    def told():
        chain = diagnosed(target.pid)["chain"]
        return chain if len(chain) > 1 and chain[1]["cause"] == "condition" else None
    chain = until("it waits in the manager's process", told)
    assert chain[1]["pid"] == target.ready["server"] != chain[1]["tid"], chain
    assert "Queue.get" in chain[1]["summary"], chain


@pytest.mark.parametrize("case", ["chat", "subscribes", "computes"])
def test_who_waits_for_a_server_that_is_well(case, newest_python):
    target = start(case, newest_python)
    server = target.ready["server"]
    until("the server is named", lambda: "what process %d " % server
          in diagnosed(target.pid)["chain"][0]["summary"])
    said = not_hung("a client of a server: " + case, target.pid)
    assert said["chain"][0]["state"] == "blocked", said


def test_a_long_poll(newest_python):
    target = start("long_poll", newest_python)
    first = until("the handler is named", lambda: [
        chain for chain in [diagnosed(target.pid)["chain"]] if len(chain) > 1])[0][0]
    assert "what process %d " % target.ready["server"] in first["summary"], first


# ---- redis, if it is here

REDIS = shutil.which("redis-server")


def redis(tmp_path, python, command):
    """A server on a Unix socket and a client that has sent that; their processes."""
    if REDIS is None:
        pytest.skip("needs redis-server")
    path = str(tmp_path / "redis")
    server = track(subprocess.Popen(
        [REDIS, "--port", "0", "--unixsocket", path, "--save", ""], cwd=tmp_path,
        stdout=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_us))
    until("redis-server listens", lambda: os.path.exists(path))
    client = track(subprocess.Popen(
        [python, "-c", CLIENT, path, command], stdout=subprocess.PIPE, start_new_session=True,
        preexec_fn=die_with_us))
    assert client.stdout.readline() == b"+PONG\r\n"
    return server.pid, client.pid


CLIENT = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(b"PING\\r\\n")
sys.stdout.write(connection.recv(100).decode())
sys.stdout.flush()
connection.sendall(sys.argv[2].encode() + b"\\r\\n")
connection.recv(100)
"""


def test_a_worker_of_redis_is_well(tmp_path, newest_python):
    server, client = redis(tmp_path, newest_python, "BLPOP jobs 0")
    until("redis-server is named", lambda: "process %d (redis-server) sends over" % server
          in diagnosed(client)["chain"][0]["summary"])
    said = not_hung("BLPOP at an idle redis", client)
    assert [link["pid"] for link in said["chain"]] == [client, server], said
    assert said["chain"][0]["state"] == "blocked", said
    assert "which waits for events" in said["chain"][0]["summary"], said


def test_redis_is_stopped(tmp_path, newest_python):
    server, client = redis(tmp_path, newest_python, "BLPOP jobs 0")
    os.kill(server, signal.SIGSTOP)
    said = named_first("redis, stopped", client, "stopped", "certain", "is stopped")
    assert said["chain"][-1]["pid"] == server, said
