"""The real torch behind a stale lock file: torch_file_baton.py EXTENSIONS_DIR.

cpp_extension.load finds EXTENSIONS_DIR/fused/lock taken and waits in
torch.utils.file_baton. Once that file is gone it takes the library to have been
built by the lock's owner and loads it: so a ready library is put there before
(a copy of an extension module of this Python; is_python_module=False only loads
it), and no compiler is needed.
"""

import os
import shutil
import sys

import _ctypes
from torch.utils import cpp_extension

from common import finish, ready

directory = os.path.join(sys.argv[1], "fused")
os.makedirs(directory)
shutil.copy(_ctypes.__file__, os.path.join(directory, "fused.so"))
lock_path = os.path.join(directory, "lock")
open(lock_path, "w").close()
source = os.path.join(directory, "fused.cpp")
open(source, "w").close()

ready(
    "wait",
    ["clock_nanosleep", "select", "pselect6"],
    go_on="unlink",
    path=lock_path,
    loops=True,
)
cpp_extension.load(
    name="fused",
    sources=[source],
    build_directory=directory,
    is_python_module=False,
)
finish(loaded=True)
