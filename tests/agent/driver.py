"""driver.py FILE NAME: runs the scenario NAME of scenarios/FILE.py in this process;
says nothing if it holds."""

import os
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "scenarios")]

from harness import Skip  # noqa: E402

try:
    getattr(__import__(sys.argv[1]), sys.argv[2])()
except Skip as skip:
    print(skip)
    sys.exit(77)
