"""What a node does when nothing comes from the asking side any more, and the connection stays
open: as where a network dies without a word. (The other way round: live_nodes_test.cpp.)"""

import base64
import json
import os
import subprocess

import processes
from harness import PROGRAM, die_with_us, start, track, until


def order(what, **more):
    return json.dumps({"what": what, "ms": 0, "number": 0, "ranks": "", "text": "",
                       **more}).encode() + b"\n"


def test_it_lets_its_ranks_go(newest_python):
    job = "silent-%d" % os.getpid()
    rank = start("lock_main", newest_python, env={
        "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": "n1", "MASTER_PORT": "2950", "TORCHELASTIC_RUN_ID": job})
    words = ["break", "wait_for_lock", "-c", "where", "--job", job, "--json", "--by-orders"]
    request = {"version": 1, "words": words, "typed": ["hangdbg", *words], "seconds": 600,
               "live": True, "silence": 3.0}
    node = track(subprocess.Popen(
        [PROGRAM, "node", base64.b64encode(json.dumps(request).encode())],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=die_with_us))
    node.stdin.write(order("raise", ms=1000))
    node.stdin.flush()

    def is_held():
        return any(name.startswith("hangdbg-") for name in processes.threads(rank.pid).values())

    def is_attached():
        node.stdin.write(b"{}\n")  # the asking side is there
        node.stdin.flush()
        return is_held()
    until("it is attached", is_attached)
    # The pipe stays open, and nothing more comes.
    frames = node.stdout.read().decode().splitlines()
    assert node.wait() == 0 and frames[-1].split("~")[3] == "X", (frames, node.stderr.read())
    until("the rank is as before", lambda: not is_held())
    assert rank.process.poll() is None
