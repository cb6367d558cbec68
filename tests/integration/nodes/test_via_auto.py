"""--via auto: what on this machine tells where the other ranks are. (That a store's
connections and Slurm do is in test_break_via.py and test_nodes.py.)"""

import os
import subprocess

import pytest

from harness import die_with_us, hangdbg, in_targets, kill_group, start, track, until



def rank_of(job):
    return {"RANK": "0", "WORLD_SIZE": "4", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
            "MASTER_ADDR": "n1", "MASTER_PORT": "2950", "TORCHELASTIC_RUN_ID": job}


@pytest.fixture
def stand_in(tmp_path):
    """An environment in which a program of that name is this script."""
    def make(name, script):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("#!/bin/sh\n%s\n" % script)
        os.chmod(folder / name, 0o755)
        return dict(os.environ, PATH="%s:%s" % (folder, os.environ["PATH"]))
    return make


def test_the_labels_of_a_pod(newest_python, stand_in):
    job = "pods-%d" % os.getpid()
    here = stand_in("kubectl", 'case "$*" in "get pod web-1 --output=json") '
                    'echo \'{"metadata": {"labels": {"job-name": "run-7"}}}\';; '
                    '*selector=job-name=run-7*) echo pod/web-1; echo pod/web-2;; '
                    'exec*) while [ "$1" != -- ]; do shift; done; shift; exec "$@";; esac')
    start("lock_main", newest_python, env=dict(
        rank_of(job), KUBERNETES_SERVICE_HOST="10.0.0.1", HOSTNAME="web-1"))
    done = hangdbg("eval", "21 * 2", "--job", job, "--via", "auto", env=here)
    assert "--via kubectl:job-name=run-7 (a label of rank 0's pod)" in done.err, done
    assert done.out == "[web-[1-2]:0] 42\n", done


def test_the_hostfile_of_a_launcher(newest_python, stand_in, tmp_path):
    """A stand-in for ssh: each host is this machine."""
    job = "hosts-%d" % os.getpid()
    here = stand_in("ssh", 'for word; do :; done; eval "$word"')
    stand_in("mpirun", '"$3" "$4"; true')
    (tmp_path / "hosts").write_text("n1 slots=2\nn2 slots=2\n")
    launcher = track(subprocess.Popen(
        [tmp_path / "bin" / "mpirun", "--hostfile", "hosts", newest_python,
         in_targets("lock_main.py")], cwd=tmp_path, env=dict(os.environ, **rank_of(job)),
        stdout=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_us))
    until("it waits", lambda: "wait_for_lock" in hangdbg("dump", "--job", job).out)
    done = hangdbg("eval", "21 * 2", "--job", job, "--via", "auto", env=here)
    assert "--via ssh:^%s/hosts (words of process %d, which started rank 0)" % (
        tmp_path, launcher.pid) in done.err, done
    assert done.out == "[n[1-2]:0] 42\n", done
    kill_group(launcher)


PEERS = """
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>
struct peer { union { struct sockaddr_in v4; struct sockaddr_in6 v6; } at; int pid; long rest[4]; };
_Static_assert(sizeof(struct peer) == 64, "as in NCCL");
struct peer *rasPeers;
int nRasPeers;
__attribute__((constructor)) static void fill(void) {
  int hosts[] = {3, 4, 4, 5}, family = atoi(getenv("HANGDBG_TEST_FAMILY"));
  rasPeers = calloc(4, sizeof(*rasPeers));
  for (nRasPeers = 0; nRasPeers < 4; ++nRasPeers) {
    rasPeers[nRasPeers].at.v4.sin_family = family;
    rasPeers[nRasPeers].at.v4.sin_addr.s_addr = htonl(0xcb007100 + hosts[nRasPeers]);
    rasPeers[nRasPeers].pid = nRasPeers == 2 ? getpid() : 7;
  }
}
"""


@pytest.mark.parametrize("family", [2, 77], ids=["a list", "another layout"])
def test_the_peers_of_nccl(family, newest_python, stand_in, tmp_path):
    """A library that has its name, and the list that it has (seen of 2.26 to 2.30 in their debug
    information; no NCCL has run here). A stand-in for ssh: each host is this machine."""
    job = "nccl-%d" % os.getpid()
    here = stand_in("ssh", 'for word; do :; done; eval "$word"')
    library = tmp_path / "libnccl.so.2"
    subprocess.run(["gcc", "-shared", "-fPIC", "-fvisibility=hidden", "-o", library, "-x", "c",
                    "-"], input=PEERS, text=True, check=True)
    start("lock_main", newest_python, env=dict(
        rank_of(job), LD_PRELOAD=str(library), HANGDBG_TEST_FAMILY=str(family)))
    done = hangdbg("eval", "21 * 2", "--job", job, "--via", "auto", env=here)
    if family == 77:
        done.assert_refused(2, "nothing here tells where the other ranks of job " + job)
        return
    assert "--via ssh:203.0.113.[3-5] (NCCL's peers, in rank 0)" in done.err, done
    assert done.out == "[203.0.113.[3-5]:0] 42\n", done


def test_nothing_tells(newest_python):
    job = "alone-%d" % os.getpid()
    start("lock_main", newest_python, env=rank_of(job))
    done = hangdbg("dump", "--job", job, "--via", "auto")
    done.assert_refused(2, "nothing here tells where the other ranks of job %s (torch, 4 ranks) "
                        "are" % job, "hangdbg dump --job %s --via ssh:HOSTS" % job)
    none = hangdbg("dump", "--job", "no-such-job", "--via", "auto")
    none.assert_refused(2, "--via auto: no job here is called no-such-job", "--via ssh:HOSTS")
