"""NCCL by ctypes: ncclCommInitRank of two ranks, of which the other one never comes."""

import ctypes
import glob
import os
import sys

import target
from device import use_primary_context


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


def library():
    try:
        return ctypes.CDLL("libnccl.so.2")
    except OSError as error:
        found = [path for folder in sys.path for path in
                 glob.glob(os.path.join(folder, "nvidia", "nccl", "lib", "libnccl.so.2"))]
        return ctypes.CDLL(found[0]) if found else target.cannot(error)


def init_rank(nccl):
    unique, comm = UniqueId(), ctypes.c_void_p()
    assert nccl.ncclGetUniqueId(ctypes.byref(unique)) == 0
    target.ready("init_rank")
    return nccl.ncclCommInitRank(ctypes.byref(comm), 2, unique, 0)


nccl = library()
nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
version = ctypes.c_int()
nccl.ncclGetVersion(ctypes.byref(version))
target.imported(nccl=version.value)
use_primary_context()
target.went_on(value=init_rank(nccl))
