"""Hangs in the function of a library that its first two arguments name."""

import ctypes
import sys

from common import ready


def waits(path, name):
    function = getattr(ctypes.CDLL(path), name)
    ready("waits", [], go_on="kill")
    function(None)


waits(*sys.argv[1:3])
