"""A seccomp filter from a list of rules, for this process or a command.

    install({"default": ALLOW, "rules": {"socketpair": KILL}})
    python seccomp_filter.py '{"default": ..., "rules": ...}' COMMAND...

A rule is an action, or [mask, action]: that action if the call's first argument
has none of the mask's bits. Numbers: arch/x86/entry/syscalls/syscall_64.tbl.

NOTIFY asks a supervisor, and there is none that answers.

A Python without ctypes needs $SECCOMP_LIBRARY, made of seccomp_on_load.c.
"""

import json
import os
import struct
import sys
import tempfile

try:
    import ctypes
except ImportError:
    import _imp
    from importlib.machinery import ModuleSpec

    ctypes = None

ALLOW = 0x7FFF0000
ERRNO = 0x00050000  # | errno
KILL = 0x80000000
NOTIFY = 0x7FC00000

NUMBERS = {
    "fstat": 5, "poll": 7, "mprotect": 10, "sched_yield": 24, "socket": 41, "sendto": 44,
    "shutdown": 48, "socketpair": 53, "clone": 56, "getppid": 110, "rt_sigtimedwait": 128,
    "prctl": 157, "restart_syscall": 219,
    "pipe2": 293, "perf_event_open": 298, "process_vm_readv": 310, "memfd_create": 319,
    "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438,
}

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
SECCOMP, SECCOMP_SET_MODE_FILTER, NEW_LISTENER = 317, 1, 1 << 3
AUDIT_ARCH_X86_64 = 0xC000003E
LOAD, AND, EQUAL, RETURN = 0x20, 0x54, 0x15, 0x06  # linux/bpf_common.h


def program(spec):
    lines = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, AUDIT_ARCH_X86_64),
             (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    for call, rule in spec["rules"].items():
        number = NUMBERS[call] if call in NUMBERS else int(call)
        if isinstance(rule, list):
            mask, action = rule
            body = [(LOAD, 0, 0, 16), (AND, 0, 0, mask), (EQUAL, 0, 1, 0),
                    (RETURN, 0, 0, action), (LOAD, 0, 0, 0)]
        else:
            body = [(RETURN, 0, 0, rule)]
        lines += [(EQUAL, 0, len(body), number)] + body
    lines.append((RETURN, 0, 0, spec["default"]))
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def install(spec):
    if ctypes is None:
        install_by_library(program(spec))
        return
    code = ctypes.create_string_buffer(program(spec))
    header = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(code))
    )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no new privileges")
    # Without a listener such a call fails at once.
    done = (libc.syscall(SECCOMP, SECCOMP_SET_MODE_FILTER, NEW_LISTENER, header)
            if NOTIFY in spec["rules"].values()
            else libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0))
    if done < 0:
        raise OSError(ctypes.get_errno(), "the filter")


def install_by_library(code):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(code)
    os.environ["SECCOMP_PROGRAM"] = file.name
    try:
        _imp.create_dynamic(
            ModuleSpec("seccomp_on_load", None, origin=os.environ["SECCOMP_LIBRARY"]))
    except ImportError:  # it is no module, and has done its work
        pass


if __name__ == "__main__":
    install(json.loads(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
