"""Hangs in the function of a library that its first two arguments name, or calls it again
and again where it comes back; threads that have the names in the others wait beside it.
After "--keep-gil" it has the GIL meanwhile."""

import ctypes
import sys

from common import ready


def waits(path, name, *threads):
    kind = ctypes.CDLL
    if path == "--keep-gil":
        kind, path, name, threads = ctypes.PyDLL, name, threads[0], threads[1:]
    library = kind(path)
    for thread in threads:
        assert library.begin_thread(thread.encode()) == 0
    function = getattr(library, name)
    ready("waits", [], go_on="kill")
    rounds = 0
    while True:
        function(None)
        rounds += 1


waits(*sys.argv[1:])
