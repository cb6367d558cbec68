"""Has as many threads and descriptors as its arguments say, and waits behind a lock that
one of the threads keeps: for bench/diagnose."""

import json
import os
import resource
import socket
import sys
import threading
import time

threads, descriptors = int(sys.argv[1]), int(sys.argv[2])


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    threading.stack_size(128 * 1024)
    lock = threading.Lock()
    taken = threading.Event()

    def keep():
        with lock:
            taken.set()
            os.read(os.pipe()[0], 1)

    def wait(depth):
        if depth:
            return wait(depth - 1)
        with lock:
            pass

    threading.Thread(target=keep, daemon=True).start()
    taken.wait()
    for _ in range(threads - 2):
        threading.Thread(target=wait, args=(10,), daemon=True).start()
    kept = []
    while len(kept) < descriptors - 20:
        kept += os.pipe()
        kept += (one.detach() for one in socket.socketpair())
        kept.append(os.open(__file__, os.O_RDONLY))
    time.sleep(0.5)  # until the last of the threads waits
    sys.stdout.write(json.dumps({"ready": True, "threads": threading.active_count(),
                                 "descriptors": len(os.listdir("/proc/self/fd"))}) + "\n")
    sys.stdout.flush()
    with lock:
        pass


main()
