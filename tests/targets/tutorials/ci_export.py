"""Tests of a tool that exports rows. pytest test_export.py"""
import subprocess
import sys

EXPORT = [sys.executable, "-c", "for n in range(20000): print('row', n)"]


def test_the_first_row():
    export = subprocess.Popen(EXPORT, stdout=subprocess.PIPE, text=True)
    assert export.stdout.readline() == "row 0\n"
    export.kill()
    export.wait()


def test_export_succeeds():
    export = subprocess.Popen(EXPORT, stdout=subprocess.PIPE)
    assert export.wait() == 0
