"""A port of RoCE, the kernel's own (rdma_rxe) on a network that leads nowhere, while it is up
and when it is down: the first program of a virtual machine, of
tests/integration/support/vm.py. Prints what `hangdbg around` and then `hangdbg diagnose` say of a process in JSON, up and
down.
"""

import glob
import os
import socket
import struct
import subprocess
import sys
import threading  # for the program that waits: what is imported here is there

# rdma/rdma_netlink.h
NETLINK_RDMA, NLDEV_NEWLINK = 20, 5 << 10 | 3
DEV_NAME, LINK_TYPE, NDEV_NAME = 2, 65, 51
NLM_F_REQUEST, NLM_F_ACK = 1, 4  # linux/netlink.h

WAITER = "import os, threading; os.write(1, b'r'); threading.Event().wait()"


def main():
    os.mkdir("/sys")
    busybox("mount", "-t", "sysfs", "none", "/sys")
    for name in sorted(glob.glob("/modules/*")):
        busybox("insmod", name)
    busybox("ip", "link", "set", "dummy0", "up")
    add_rxe("rxe0", "dummy0")
    waiter = subprocess.Popen([sys.executable, "-I", "-S", "-c", WAITER], stdout=subprocess.PIPE)
    waiter.stdout.read(1)
    for state in ("up", "down"):
        busybox("ip", "link", "set", "dummy0", state)
        for command, words in (("around", []), ("diagnose", ["--hung-after", "0.1"])):
            print(subprocess.run(
                ["/hangdbg", command, str(waiter.pid), "--json", *words], stdout=subprocess.PIPE,
                universal_newlines=True).stdout.replace("\n", ""), flush=True)


def add_rxe(name, network):
    """As `rdma link add NAME type rxe netdev NETWORK`."""
    words = b"".join(attribute(kind, text) for kind, text in (
        (DEV_NAME, name), (LINK_TYPE, "rxe"), (NDEV_NAME, network)))
    asked = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
    asked.send(struct.pack("=IHHII", 16 + len(words), NLDEV_NEWLINK,
                           NLM_F_REQUEST | NLM_F_ACK, 1, 0) + words)
    (error,) = struct.unpack_from("=i", asked.recv(4096), 16)
    if error:
        raise OSError(-error, os.strerror(-error))


def attribute(kind, text):
    data = text.encode() + b"\0"
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def busybox(*words):
    subprocess.run(["/bin/busybox", *words], check=True)


main()
