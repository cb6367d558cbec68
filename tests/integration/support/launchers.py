"""The real launchers of parallel jobs: what scripts/get-launchers has got, or this
machine has itself. Each starts four ranks of tests/targets/jobs/launched.py."""

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

import torches
from harness import ROOT, die_with_us, in_targets, kill_group, track, until

CACHE = ROOT / ".cache" / "launchers"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
PYTHON = "/usr/bin/python3"
RANKS = 4

_slurm_jobs = itertools.count(os.getpid() * 10)  # other clusters' are others


class Launched:
    """A job of four ranks. `pid`: of their starter. `started`: what is done with each
    process that is begun for it."""

    kind = "torch"
    waits = "gloo"

    def __init__(self, folder, waits=None, started=track):
        self.folder = folder
        self.started = started
        self.waits = waits or self.waits
        self.process = self.start([*self.command(), *map(str, self.program())])
        self.pid = self.process.pid
        self.name = str(self.pid)

    def start(self, words):
        self.errors = open(self.folder / "job.err", "wb")
        return self.started(subprocess.Popen(
            [str(word) for word in words], stdout=self.errors, stderr=self.errors,
            start_new_session=True, preexec_fn=die_with_us, env=dict(
                os.environ, OMP_NUM_THREADS="1", HOME=str(self.folder), **self.environment())))

    def program(self):
        return [in_targets("launched.py"), self.waits]

    def python(self):
        return a_torch() if self.waits.startswith("tcp:") else PYTHON

    def environment(self):
        return {}

    def said(self):
        return (self.folder / "job.err").read_text(errors="replace")[-2000:]

    def end(self):
        """What does not end with the launcher's process group."""


class Torchrun(Launched):
    name = "torchrun"

    def command(self):
        return [*torches.torchrun(a_torch(), RANKS), "--master_port=" + free_port()]


class Container(Torchrun):
    """torchrun with namespaces of its own: its 127.0.0.1:29500 is not another's."""

    name = "container"

    def command(self):
        if os.geteuid() != 0:
            pytest.skip("needs root, to make namespaces")
        words = super().command()
        words[-1] = "--master_port=29500"
        return ["unshare", "--mount", "--pid", "--net", "--uts", "--fork", "--kill-child",
                "--mount-proc", PYTHON, "-c", LOOPBACK_UP, *words]


# With a network of its own a process has no 127.0.0.1 until that is set up.
LOOPBACK_UP = """
import fcntl, os, socket, struct, sys
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
    fcntl.ioctl(asked, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
os.execv(sys.argv[1], sys.argv[1:])
"""


class Accelerate(Launched):
    """--multi_gpu is its way to start several here; it does not look for a GPU."""

    name = "accelerate"

    def command(self):
        return [cached(self.name) / "bin" / "accelerate", "launch", "--multi_gpu",
                "--num_processes=%d" % RANKS, "--num_machines=1", "--mixed_precision=no",
                "--dynamo_backend=no", "--main_process_port=" + free_port()]


class DeepSpeed(Launched):
    name = "deepspeed"

    def command(self):
        return [cached(self.name) / "bin" / "deepspeed", "--num_gpus=%d" % RANKS,
                "--no_local_rank", "--master_port=" + free_port()]

    def environment(self):
        folder = str(cached(self.name) / "bin")
        return {"DS_ACCELERATOR": "cpu", "PATH": folder + ":" + os.environ["PATH"]}


class WithFolder(Launched):
    """It leaves files when it is killed: they are in `session`."""

    def environment(self):
        # Sockets' names must be short.
        self.session = tempfile.mkdtemp(dir="/tmp", prefix=self.name + "-")
        return {}

    def end(self):
        kill_group(self.process)

        def removed():
            shutil.rmtree(self.session, ignore_errors=True)
            return not os.path.exists(self.session)
        until("the files of %s are gone" % self.name, removed)


class Ray(WithFolder):
    name = "ray"

    def command(self):
        return [cached(self.name) / "bin" / "python"]

    def program(self):
        return [in_targets("ray_job.py"), free_port()]

    def environment(self):
        super().environment()
        return {"TMPDIR": self.session, "RAY_AUTH_MODE": "disabled",
                "RAY_USAGE_STATS_ENABLED": "0"}


class OpenMpi(WithFolder):
    name = "openmpi"
    kind = "Open MPI"
    waits = "plain"
    library = "libmpi.so.40"

    starter = "mpirun.openmpi"

    def command(self):
        return [program(self.starter, self.name), "--allow-run-as-root", "--oversubscribe",
                "-n", RANKS, self.python()]

    def environment(self):
        super().environment()
        return self.variables(self.session)

    @classmethod
    def variables(cls, session):
        ours = {"OMPI_MCA_orte_tmpdir_base": session,  # else /tmp
                "OMPI_MCA_btl_vader_backing_directory": session}  # else /dev/shm
        if shutil.which(cls.starter):
            return ours
        root = cached(cls.name)
        libraries = root / LIBRARIES
        return {
            **ours, "OPAL_PREFIX": str(root / "usr"), "OPAL_LIBDIR": str(libraries),
            "OPAL_PKGLIBDIR": str(libraries / "openmpi/lib/openmpi3"),
            "OPAL_PKGDATADIR": str(root / "usr/share/openmpi"),
            "OPAL_SYSCONFDIR": str(root / "etc"),
            "PMIX_INSTALL_PREFIX": str(libraries / "pmix2"),
            "LD_LIBRARY_PATH": "%s:%s/openmpi/lib" % (libraries, libraries),
        }


class Mpich(Launched):
    name = "mpich"
    kind = "MPICH"
    waits = "plain"
    library = "libmpich.so.12"

    starter = "mpiexec.hydra"

    def command(self):
        return [program(self.starter, self.name), "-n", RANKS, self.python()]

    def environment(self):
        return self.variables()

    @classmethod
    def variables(cls, _=None):
        if shutil.which(cls.starter):
            return {}
        return {"LD_LIBRARY_PATH": str(cached(cls.name) / LIBRARIES)}


class Slurm(Launched):
    """A cluster of one machine: slurmctld, slurmd, srun."""

    name = "slurm"
    kind = "Slurm"
    waits = "plain"

    def __init__(self, folder, waits=None, words=(), started=track):
        if os.geteuid() != 0:
            pytest.skip("slurmd needs root")
        self.words = words
        self.root = cached("slurm")
        self.job = str(next(_slurm_jobs))
        (folder / "state").mkdir()
        (folder / "slurm.conf").write_text(self.configuration(folder))
        self.folder = folder
        self.started = started
        self.start([self.root / "usr/sbin/slurmctld-wlm", "-D", "-i"])
        self.start([self.root / "usr/sbin/slurmd-wlm", "-D", "-d",
                    self.root / "usr/sbin/slurmstepd-wlm"])
        until("Slurm has begun", lambda: b"idle" in self.ask("sinfo", "-h", "-o", "%t"))
        super().__init__(folder, waits, started)
        until("the job has begun", lambda: self.job.encode() + b".0" in self.ask(
            "squeue", "-h", "-s"))
        self.name = self.job + ".0"

    def command(self):
        return [self.root / "usr/bin/srun", "-n", RANKS, *self.words, self.python()]

    def environment(self):
        libraries = self.root / LIBRARIES
        return {"SLURM_CONF": str(self.folder / "slurm.conf"),
                "LD_LIBRARY_PATH": "%s:%s/slurm-wlm" % (libraries, libraries)}

    def ask(self, program, *words):
        return subprocess.run(
            [self.root / "usr/bin" / program, *words], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=20,
            env=dict(os.environ, **self.environment())).stdout

    def configuration(self, folder):
        host = socket.gethostname().partition(".")[0]
        return "\n".join([
            "ClusterName=one", "FirstJobId=" + self.job,
            "SlurmctldHost=%s(127.0.0.1)" % host, "SlurmUser=root",
            "SlurmctldPort=" + free_port(), "SlurmdPort=" + free_port(),
            "AuthType=auth/none", "CredType=cred/none",
            "PluginDir=%s/slurm-wlm" % (self.root / LIBRARIES), "ProctrackType=proctrack/pgid",
            "TaskPlugin=task/none", "MpiDefault=none", "JobAcctGatherType=jobacct_gather/none",
            "SelectType=select/linear", "SlurmdParameters=config_overrides",
            "StateSaveLocation=%s/state" % folder, "SlurmdSpoolDir=%s/state" % folder,
            "SlurmctldPidFile=%s/ctld.pid" % folder, "SlurmdPidFile=%s/d.pid" % folder,
            "NodeName=%s NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN" % host,
            "PartitionName=all Nodes=ALL Default=YES State=UP", ""])

    def end(self):
        self.ask("scancel", "--signal=KILL", self.job)
        until("Slurm's job has ended", lambda: not self.ask("squeue", "-h"))


class SlurmBatch(Slurm):
    """srun in a script of sbatch, which is Python and stays."""

    def command(self):
        script = self.folder / "script.py"
        script.write_text("#!%s\nimport os, subprocess, sys\n"
                          "open(%r, 'w').write(str(os.getpid()))\n"
                          "subprocess.call(%r + sys.argv[1:])\n" % (
                              PYTHON, str(self.folder / "script"),
                              [str(word) for word in super().command()]))
        return [self.root / "usr/bin/sbatch", "-n", RANKS, "-o", "/dev/null", script]


class SlurmTorchrun(Slurm):
    """The usual way to many nodes: a torchrun on each, here two on one."""

    kind = "torch"

    def __init__(self, folder):
        self.port = free_port()
        super().__init__(folder)
        self.name = "127.0.0.1:" + self.port

    def command(self):
        return [self.root / "usr/bin/srun", "-n", 2, "sh", "-c",
                'python=$1; shift; exec "$python" -m torch.distributed.run --nnodes=2 '
                '--node-rank=$SLURM_PROCID --nproc-per-node=2 --master-addr=127.0.0.1 '
                '--master-port=%s "$@"' % self.port, "-", a_torch()]


ALL = (Torchrun, Accelerate, DeepSpeed, Ray, OpenMpi, Mpich, Slurm)


def program(name, package):
    return shutil.which(name) or cached(package) / "usr/bin" / name


def cached(name):
    folder = CACHE / name
    if not (folder / "complete").exists():
        why = Path(str(folder) + ".why")
        pytest.skip("%s: %s" % (name, why.read_text().strip() if why.exists() else
                                "scripts/get-launchers has not run"))
    return folder


def a_torch():
    found = torches.found()
    if not found:
        pytest.skip("no Python here has torch")
    return found[-1][1]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])
