"""Hangs in the function of a library that its first two arguments name; threads that have
the names in the others wait beside it."""

import ctypes
import sys

from common import ready


def waits(path, name, *threads):
    library = ctypes.CDLL(path)
    for thread in threads:
        assert library.begin_thread(thread.encode()) == 0
    function = getattr(library, name)
    ready("waits", [], go_on="kill")
    function(None)


waits(*sys.argv[1:])
