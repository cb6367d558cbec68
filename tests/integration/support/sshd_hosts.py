"""Hosts on this machine: each has namespaces of its own (network, PIDs, mounts, host
name) and a real sshd. What a host does wrong is in its sshd's configuration, or in what is
mounted there."""

import os
import secrets
import shutil
import subprocess

import pytest

import harness

SSHD = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")


class Nodes:
    """`faults`: by the host's name what its sshd is told besides; `mounts`: what is mounted
    there first, as in sh."""

    def __init__(self, folder, names, faults=None, mounts=None):
        for tool in ("ip", "ssh", "ssh-keygen", "unshare"):
            if not shutil.which(tool):
                pytest.skip("needs " + tool)
        if SSHD is None or os.geteuid() != 0:
            pytest.skip("needs root and sshd (openssh-server)")
        self.folder, self.names, self.started, self.links = folder, names, [], {}
        number = os.getpid() % 200
        self.net, self.bridge = "10.%d.%d" % (201 + number % 50, number), "hdb%d" % os.getpid()
        self.variables = {}
        os.makedirs("/run/sshd", exist_ok=True)
        for key in ("host", "user"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key)
        try:
            self._up(faults or {}, mounts or {})
        except BaseException:
            self.down()
            raise

    def _up(self, faults, mounts):
        try:
            run("ip", "link", "add", self.bridge, "type", "bridge")
        except AssertionError as error:
            pytest.skip("this kernel makes no bridge: %s" % error)
        run("ip", "addr", "add", self.net + ".254/24", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")
        config = ("Host *\n  User root\n  IdentityFile %s/user\n  StrictHostKeyChecking no\n"
                  "  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n" % self.folder)
        for at, name in enumerate(self.names):
            config += "Host %s\n  HostName %s.%d\n" % (name, self.net, at + 1)
            self._start(name, at + 1, faults.get(name, ""),
                        mounts.get(name, ":").format(
                            cache=self.folder / name, folder=self.folder / name, net=self.net))
        (self.folder / "ssh_config").write_text(config)
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "ssh").write_text("#!/bin/sh\nexec %s -F %s/ssh_config \"$@\"\n" % (
            shutil.which("ssh"), self.folder))
        os.chmod(bin_folder / "ssh", 0o755)
        self.path = "%s:%s" % (bin_folder, os.environ["PATH"])
        for name in self.names:
            if "REFUSES" not in faults.get(name, ""):
                harness.until(name + " listens", lambda: b"SSH-2" in self.banner(name))

    def _start(self, name, number, fault, mounts):
        cache, home = self.folder / name, self.folder / "home"
        cache.mkdir()
        home.mkdir(exist_ok=True)  # what a login of root's runs here is not the tests'
        address = "%s.%d" % (self.net, number)
        config = self.folder / (name + ".sshd")
        config.write_text(
            "ListenAddress %s\nPort 22\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\n"
            "StrictModes no\nPermitRootLogin yes\nUsePAM no\nPidFile none\nMaxStartups 100\n"
            "SetEnv HOME=%s XDG_CACHE_HOME=%s TMPDIR=/var/tmp\n%s\n" % (
                address, self.folder, self.folder, home, cache, fault.replace("REFUSES", "")))
        server = "exec sleep 1000" if "REFUSES" in fault else "exec %s -D -e -f %s" % (SSHD, config)
        log = open(self.folder / (name + ".log"), "w")
        process = subprocess.Popen(
            ["unshare", "--net", "--uts", "--pid", "--mount", "--fork", "--mount-proc",
             "--kill-child", "sh", "-c", "hostname %s; %s; read go; ip link set lo up; "
             "ip link set eth0 up; ip addr add %s/24 dev eth0; %s" % (
                 name, mounts, address, server)],
            stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True)
        self.started.append(process)
        self.links[name] = ours = "h%s%d" % (secrets.token_hex(4), number)
        inside = "/proc/%d/task/%d/children" % (process.pid, process.pid)
        harness.until(name + " has begun", lambda: open(inside).read().split())
        child = open(inside).read().split()[0]
        run("ip", "link", "add", ours, "type", "veth", "peer", "name", "eth0", "netns", child)
        run("ip", "link", "set", ours, "master", self.bridge, "up")
        process.stdin.write(b"\n")
        process.stdin.close()

    def banner(self, name):
        config = (self.folder / (name + ".sshd")).read_text()
        address = config.split()[1]
        return subprocess.run(
            ["timeout", "5", "bash", "-c", "head -c 5 </dev/tcp/%s/22" % address],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout

    def narrow(self, name, mtu):
        """The way to it drops larger packets silently."""
        run("ip", "link", "set", self.links[name], "mtu", mtu)

    def drop(self, name):
        """What this machine sends to it goes to a neighbour that does not exist."""
        address = "%s.%d" % (self.net, self.names.index(name) + 1)
        run("ip", "neigh", "replace", address, "lladdr", "02:00:00:00:00:99", "dev", self.bridge,
            "nud", "permanent")

    def environment(self):
        return dict(os.environ, PATH=self.path)

    def hangdbg(self, *words):
        return harness.hangdbg(*words, env=self.environment())

    def ssh(self, name, command):
        return run(str(self.folder / "bin" / "ssh"), name, command)

    def start(self, name, python, target, **variables):
        """The PID there."""
        words = " ".join("%s=%s" % pair for pair in variables.items())
        started = self.ssh(name, "%s %s %s >/dev/null 2>&1 </dev/null & echo $!" % (
            words, python, harness.in_targets(target)))
        return int(started.split()[-1])

    def down(self):
        for process in self.started:
            harness.kill_group(process)
            process.wait()
        subprocess.run(["ip", "link", "del", self.bridge], stderr=subprocess.DEVNULL,
                       check=False)


def run(*words):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, "%s: %s" % (words, text)
    return text
