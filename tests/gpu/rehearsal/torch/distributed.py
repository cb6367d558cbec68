import ctypes
import os
import socket
import threading

from . import cuda

_nccl = ctypes.CDLL("libnccl.so.2")
_group = {}


class Work:
    def wait(self):
        return True


def init_process_group(backend, rank, world_size, timeout):
    assert backend == "nccl" and 0 <= rank < world_size
    store = socket.socket()
    store.settimeout(timeout.total_seconds())
    store.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if rank == 0:
        store.bind(address)
        store.listen()
        for _ in range(world_size - 1):
            store.accept()
    else:
        while store.connect_ex(address):
            threading.Event().wait(0.05)
    for name in (b"pt_nccl_watchdg", b"pt_nccl_heartbt"):
        _nccl.begin_thread(name)
    _group.update(ranks=world_size, timeout=timeout, store=store)


def all_reduce(tensor, async_op=False):
    if _group["ranks"] > 1:
        comm, unique = ctypes.c_void_p(), (ctypes.c_char * 128)(*[7] * 128)
        _init_rank(ctypes.byref(comm), _group["ranks"], unique)
    elif async_op and _group["timeout"].total_seconds() < 60:
        threading.Timer(_group["timeout"].total_seconds(), os.abort).start()
    elif not async_op:
        cuda.synchronize()
    return Work()


def _init_rank(comm, ranks, unique):
    class Id(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_char * 128)]

    _nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int]
    _nccl.ncclCommInitRank(comm, ranks, Id.from_buffer(unique), 0)
