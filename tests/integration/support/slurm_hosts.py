"""A real Slurm of hosts in namespaces (sshd_hosts): slurmctld here, a slurmd on each."""

import os
import socket
import subprocess

import launchers
from harness import die_with_us, track, until


class SlurmOfHosts:
    def __init__(self, nodes, folder):
        self.nodes, self.folder = nodes, folder
        self.root = launchers.cached("slurm")
        libraries = self.root / launchers.LIBRARIES
        self.variables = {"SLURM_CONF": str(folder / "slurm.conf"),
                          "LD_LIBRARY_PATH": "%s:%s/slurm-wlm" % (libraries, libraries)}
        (folder / "state").mkdir()
        (folder / "slurm.conf").write_text(self.configuration())
        self.start([self.root / "usr/sbin/slurmctld-wlm", "-D", "-i"], "slurmctld.log")
        words = " ".join("%s=%s" % pair for pair in self.variables.items())
        for name in nodes.names:
            nodes.ssh(name, "mkdir %s/spool-%s; %s %s -D -N %s -d %s >%s/slurmd-%s.log 2>&1 "
                      "</dev/null &" % (
                          folder, name, words, self.root / "usr/sbin/slurmd-wlm", name,
                          self.root / "usr/sbin/slurmstepd-wlm", folder, name))
        until("all slurmd are there", lambda: self.ask(
            "sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * len(nodes.names), 60)

    def configuration(self):
        host = socket.gethostname().partition(".")[0]
        return "\n".join([
            "ClusterName=hosts", "SlurmctldHost=%s(%s.254)" % (host, self.nodes.net),
            "SlurmUser=root", "SlurmctldPort=" + launchers.free_port(),
            "SlurmdPort=" + launchers.free_port(), "AuthType=auth/none", "CredType=cred/none",
            "PluginDir=%s/slurm-wlm" % (self.root / launchers.LIBRARIES),
            "ProctrackType=proctrack/pgid", "TaskPlugin=task/none", "MpiDefault=none",
            "JobAcctGatherType=jobacct_gather/none", "SelectType=select/linear",
            "SlurmdParameters=config_overrides", "ReturnToService=2",
            "StateSaveLocation=%s/state" % self.folder,
            "SlurmdSpoolDir=%s/spool-%%n" % self.folder,
            "SlurmctldPidFile=%s/ctld.pid" % self.folder,
            "SlurmdPidFile=%s/spool-%%n/d.pid" % self.folder,
            *["NodeName=%s NodeAddr=%s.%d CPUs=8 State=UNKNOWN" % (name, self.nodes.net, at + 1)
              for at, name in enumerate(self.nodes.names)],
            "PartitionName=all Nodes=ALL Default=YES State=UP", ""])

    def environment(self, **more):
        """The hosts have one cache, as with a home that they share."""
        return dict(os.environ, PATH="%s:%s" % (self.root / "usr/bin", self.nodes.path),
                    XDG_CACHE_HOME=str(self.folder), **self.variables, **more)

    def start(self, words, log):
        file = open(self.folder / log, "wb")
        return track(subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            start_new_session=True, preexec_fn=die_with_us, env=self.environment()))

    def run(self, *words):
        """A job of one task on each host. Its number."""
        self.start(["srun", "-n", len(self.nodes.names), "--ntasks-per-node=1", *words],
                   "srun.log")
        until("the job has begun", lambda: self.ask("squeue", "-h", "-t", "R", "-o", "%i"), 60)
        return self.ask("squeue", "-h", "-t", "R", "-o", "%i").split()[0]

    def ask(self, *words):
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              timeout=60, env=self.environment(), check=False).stdout
