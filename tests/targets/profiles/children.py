"""Starts short children and threads all the time, each of which works for a moment, until a line
comes on stdin; prints how many there were."""

import json
import subprocess
import sys
import threading
import time

CHILD = """
import time
def in_child():
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
in_child()
"""


def in_thread():
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass


def main():
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), over.set())).start()
    print("ready", flush=True)
    counts = {"threads": 0, "children": 0}
    while not over.is_set():
        child = subprocess.Popen([sys.executable, "-c", CHILD])
        counts["children"] += 1
        while child.poll() is None:
            thread = threading.Thread(target=in_thread)
            thread.start()
            thread.join()
            counts["threads"] += 1
        assert child.returncode == 0
    print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
