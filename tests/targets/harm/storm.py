"""Its main thread waits for a lock in a storm of signals: storm.py KIND

KIND: timer (SIGALRM, each 0.5 ms), profile (SIGPROF, while another thread works),
children (SIGCHLD, as fast as they come), faults (handlers for SIGTRAP, SIGSEGV
and SIGPROF that are there to be seen called once). The last line counts.
"""

import os
import signal
import sys
import threading
import warnings

from common import finish, on_sigusr1, ready

SIGNALS = "SIGALRM", "SIGPROF", "SIGCHLD", "SIGTRAP", "SIGSEGV"
names = {getattr(signal, name): name for name in SIGNALS}
caught = dict.fromkeys(SIGNALS, 0)


def catch(signum, frame, answer=41):
    """May be the innermost frame when a test asks for the answer; it calls no other."""
    caught[names[signum]] += 1


def work():
    while not stop:
        if kind == "children" and os.fork() == 0:
            os._exit(0)
        if kind == "children":
            os.wait()


def wait_in_storm():
    answer = 41
    ready("wait_in_storm", ["futex"], loops=True)
    lock.acquire()
    return answer


def go_on():
    global stop
    stop = True
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    lock.release()


# From 3.12 on, that this program forks beside a thread of its own.
warnings.simplefilter("ignore", DeprecationWarning)
kind = sys.argv[1]
stop = False
lock = threading.Lock()
lock.acquire()
on_sigusr1(go_on)
for name in SIGNALS:
    signal.signal(getattr(signal, name), catch)
# Python runs handlers in main only, which a signal to another would not wake.
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
threads = []
if kind in ("profile", "children"):
    threads.append(threading.Thread(target=work))
    threads[0].start()
signal.pthread_sigmask(signal.SIG_UNBLOCK, range(1, 32))
if kind == "timer":
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
if kind == "profile":
    signal.setitimer(signal.ITIMER_PROF, 0.0005, 0.0005)
answer = wait_in_storm()
for thread in threads:
    thread.join()
finish(answer=answer, caught={name: n for name, n in caught.items() if n})
