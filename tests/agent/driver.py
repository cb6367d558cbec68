"""driver.py NAME: runs one scenario in this process; says nothing if it holds."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import scenarios  # noqa: E402
from harness import Skip  # noqa: E402

try:
    getattr(scenarios, sys.argv[1])()
except Skip as skip:
    print(skip)
    sys.exit(77)
