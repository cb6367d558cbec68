"""Reads a file of a FUSE file system whose server never answers that; the first argument
says how: "direct", by read(2), or "mapped", by a page fault. With "unmaps" it maps other
memory over what it has written to such a file: the kernel waits for the server, with the
lock on this process's memory, and so does whoever reads that memory; with "unmaps_later"
once a line has come, and beside a thread that calls all the time. The second is a folder
to mount it on. It says that it is ready, with the server's pid, and is killed, the
server first. Run it as root in a mount namespace of its own.

The server speaks the protocol itself (include/uapi/linux/fuse.h): a folder with one file."""

import ctypes
import mmap
import os
import stat
import struct
import sys
import threading
import time

from common import ready

LOOKUP, GETATTR, OPEN, READ, WRITE, INIT = 1, 3, 14, 15, 16, 26
FORGET, BATCH_FORGET = 2, 42  # want no answer
ENOSYS = 38
DIRECT_IO = 1
ROOT, FILE = 1, 2
SIZE = 1 << 16


def attributes(node):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o644
    return struct.pack("<6Q10I", node, SIZE, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer_to(code, node, how):
    if code == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 12, 10, 4096, 1, 0, 0, *[0] * 8)
    if code == LOOKUP:
        return struct.pack("<4Q2I", FILE, 0, 1000, 1000, 0, 0) + attributes(FILE)
    if code == GETATTR:
        return struct.pack("<Q2I", 1000, 0, 0) + attributes(node)
    if code == READ:
        return bytes(4096)
    if code == OPEN:
        return struct.pack("<Q2I", 1, DIRECT_IO if how == "direct" else 0, 0)
    return None


def serve(device, how):
    while True:
        request = os.read(device, 1 << 17)
        _, code, unique, node = struct.unpack_from("<2I2Q", request)
        if code == (WRITE if how.startswith("unmaps") else READ):
            time.sleep(1000)
        if code in (FORGET, BATCH_FORGET):
            continue
        answer = answer_to(code, node, how)
        head = struct.pack("<IiQ", 16 + len(answer or b""), 0 if answer else -ENOSYS, unique)
        os.write(device, head + (answer or b""))


def mount(device, folder):
    libc = ctypes.CDLL(None, use_errno=True)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0" % device
    if libc.mount(b"tests", folder.encode(), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), "mount")


def main(how, folder):
    device = os.open("/dev/fuse", os.O_RDWR)
    mount(device, folder)
    server = os.fork()
    if server == 0:
        serve(device, how)
    os.close(device)
    unmaps = how.startswith("unmaps")
    file = os.open(folder + "/file", os.O_RDWR if unmaps else os.O_RDONLY)
    if unmaps:
        memory = mmap.mmap(file, 4096)
        memory[0] = 1
    ready("main", [], go_on="kill", server=server)
    if how == "mapped":
        mmap.mmap(file, SIZE, prot=mmap.PROT_READ)[0]
    if how == "unmaps_later":
        threading.Thread(target=calls, daemon=True).start()
        sys.stdin.readline()
    if unmaps:
        unmap(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    os.read(file, 100)


def calls():
    while True:
        os.access("/nowhere", os.R_OK)
        time.sleep(0.01)


def unmap(address):
    libc = ctypes.CDLL(None)
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    fixed, anonymous = 0x10, 0x20
    libc.mmap(address, 4096, 0, mmap.MAP_PRIVATE | fixed | anonymous, -1, 0)


main(*sys.argv[1:3])
