"""The kernel gives the system calls of its main thread to a handler of the program's
own, but for those of libc (syscall user dispatch); a second thread, where one is
wanted, has nothing of that: dispatched.py [THREADS]"""

import ctypes
import sys
import threading

from common import finish, on_sigusr1, ready

PR_SET_SYSCALL_USER_DISPATCH = 59  # linux/prctl.h
BLOCK, ALLOW = b"\x01", b"\x00"


def dispatch():
    (code,) = [line.split()[0] for line in open("/proc/self/maps")
               if "libc.so" in line and "r-xp" in line or "libc-2" in line and "r-xp" in line]
    start, end = (int(part, 16) for part in code.split("-"))
    if ctypes.CDLL(None).prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, ctypes.c_ulong(start),
                               ctypes.c_ulong(end - start), selector):
        raise SystemExit("no syscall user dispatch here")


def hang():
    answer = 41
    ready("hang", ["futex"])
    selector[0] = BLOCK
    lock.acquire()
    selector[0] = ALLOW
    return answer


selector = ctypes.create_string_buffer(ALLOW)
stop = threading.Lock()
stop.acquire()
for _ in range(int(sys.argv[1])):
    threading.Thread(target=lambda: stop.acquire() and stop.release()).start()
lock = threading.Lock()
lock.acquire()
on_sigusr1(lock.release)
dispatch()
answer = hang()
stop.release()
finish(answer=answer)
