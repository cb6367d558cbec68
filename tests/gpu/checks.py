"""The checks, the most valuable first: what is started, what is needed, what is expected.

`on_device` names rows of a hang (hangs.py) that count on a device only: a stand-in cannot
show them, or the tool does not say them yet.
"""

import socket
from dataclasses import dataclass, field
from typing import Callable

import errors
import hangs
import nccl
import no_harm
from hangs import GPU

SYNCHRONIZE = r"cu(da)?(Device|Ctx|Stream|Event)Synchronize"
COPY = SYNCHRONIZE + r"|cu(da)?Memcpy\w*"
# Of what the tool does not know yet.
UNKNOWN = ("hung", "verdict", "call", "place", "own", "next")


@dataclass
class Check:
    name: str
    script: str
    run: Callable = hangs.run
    args: tuple = ()
    needs: tuple = ("torch",)  # modules
    words: str = GPU  # of the first line of diagnose
    calls: str = SYNCHRONIZE  # the C function in which it waits
    env: dict = field(default_factory=dict)
    expression: str = "1 + 1"
    seconds: int = 45
    kind: str = ""
    ranks: int = 0
    started: int = 0  # ranks that are started; 0: all
    may_return: bool = False  # the call does not wait on every driver
    gil_held: bool = False
    killed: bool = False  # it cannot be released
    uses_device: bool = True
    tells_since: bool = True  # not of who sleeps again and again: then that is not known
    waits_for_gpu: bool = True  # and not for a peer, a lock, a callback
    on_device: tuple = ("own",)

    def targets(self):
        """(script, arguments, environment) of each process."""
        if not self.ranks:
            return [(self.script, self.args, self.env)]
        port = free_port()
        recorder = nccl.recorder()
        started = self.started or self.ranks
        return [(self.script, (*self.args, rank, self.ranks),
                 dict(recorder, **self.env, RANK=str(rank), LOCAL_RANK=str(rank),
                      LOCAL_WORLD_SIZE=str(self.ranks), WORLD_SIZE=str(self.ranks),
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
                for rank in range(started)]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def waits(name, way, *schedule, **more):
    return Check(name, "torch_waits", args=(way, *schedule), **more)


CHECKS = (
    waits("synchronize-device", "synchronize_device", calls=r"cu(da)?(Device|Ctx)Synchronize"),
    waits("item", "take_item", calls=COPY),
    Check("nccl-queued", "nccl_group", nccl.run_group, ("queued",), ranks=1, seconds=60),
    waits("synchronize-stream-blocking", "synchronize_stream", "blocking"),
    Check("no-harm", "steady", no_harm.run, seconds=60),
    waits("eval-tensor", "take_item", run=hangs.run_tensor),
    waits("long-steps", "take_long_steps", run=hangs.run_long_steps, seconds=60),
    waits("backward", "pass_backward", calls=COPY),
    waits("backward-queue", "fill_queue_backward", calls=r"cu(da)?LaunchKernel\w*"),
    Check("nccl-init", "nccl_group", nccl.run_ranks, ("lazy_init",), ranks=2, seconds=60,
          words="all_?reduce", calls="all_?reduce", killed=True, waits_for_gpu=False,
          on_device=("verdict", "call", "own")),
    waits("launch-queue", "fill_launch_queue", calls=r"cu(da)?LaunchKernel\w*"),
    waits("callback-gil", "callback_wants_gil", words="GIL", calls=SYNCHRONIZE, gil_held=True,
          killed=True, on_device=()),
    Check("error-illegal-address", "errors", errors.run, ("illegal",), kind="illegal"),
    waits("synchronize-event-yield", "synchronize_event", "yield",
          calls=r"cu(da)?EventSynchronize"),
    waits("synchronize-device-spin", "synchronize_device", "spin",
          calls=r"cu(da)?(Device|Ctx)Synchronize"),
    Check("nccl-timeout", "nccl_group", nccl.run_timeout, ("timeout",), ranks=1, seconds=60,
          env=nccl.ENDS_SOON),
    Check("nccl-store", "nccl_group", hangs.run, ("store",), ranks=2, started=1, seconds=40,
          words=r"store|rendezvous|init_process_group|rank", calls=r".", killed=True,
          on_device=(*UNKNOWN, "native", "device"), uses_device=False, waits_for_gpu=False,
          tells_since=False),
    Check("nccl-raw", "nccl_raw", needs=(), env={"NCCL_SET_THREAD_NAME": "1"},
          words="NCCL|ncclCommInitRank", calls=r"ncclCommInitRank\w*", killed=True,
          on_device=(), waits_for_gpu=False),
    Check("error-assert", "errors", errors.run, ("assert",), kind="assert"),
    Check("error-memory", "errors", errors.run, ("memory",), kind="memory"),
    Check("no-harm-fork", "steady", no_harm.run, ("fork",), seconds=60),
    waits("cpu", "copy_to_cpu", calls=COPY),
    waits("print", "print_tensor", calls=COPY),
    waits("nonzero", "find_nonzero", calls=COPY),
    waits("free", "free_memory", calls=r"cu(da)?(MemFree|Free)\w*|" + SYNCHRONIZE),
    waits("graph", "replay_graph"),
    waits("wait-event", "wait_for_event"),
    waits("wait-value", "wait_for_value"),
    waits("launch-blocking", "launch_and_wait", env={"CUDA_LAUNCH_BLOCKING": "1"},
          calls=r"cu(da)?LaunchKernel\w*", on_device=()),
    waits("malloc", "allocate_memory", calls=r"cu(da)?(MemAlloc|Malloc)\w*", may_return=True),
    waits("pin-memory", "load_pinned", words=GPU + "|pin", calls=r"cu(da)?(HostAlloc|MemHostAlloc"
          r"|HostRegister|MemHostRegister)\w*|" + SYNCHRONIZE, may_return=True,
          on_device=(*UNKNOWN, "device")),
    Check("triton", "triton_launch", needs=("torch", "triton"),
          calls=r"cuModuleLoad\w*|cuLibraryLoad\w*|cuLaunchKernel\w*|" + SYNCHRONIZE),
    Check("cupy", "cupy_get", needs=("cupy",), calls=COPY),
    Check("jax", "jax_callback", needs=("jax",), calls=".", killed=True, seconds=60,
          words=GPU + r"|JAX|XLA|callback|Event\.wait", waits_for_gpu=False, on_device=(),
          env={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}),
    Check("numba", "numba_wait", needs=("numba",)),
    Check("compile-lock", "compile_lock", needs=(), words="lock", calls="lock",
          uses_device=False, waits_for_gpu=False, on_device=("native",)),
    waits("managed", "poll_managed_memory"),
)


def named(patterns):
    """The checks with these names, in their order; LookupError(pattern) if there is none."""
    import fnmatch

    chosen = set()
    for pattern in patterns:
        found = {check.name for check in CHECKS if fnmatch.fnmatchcase(check.name, pattern)}
        if not found:
            raise LookupError(pattern)
        chosen |= found
    return [check for check in CHECKS if not patterns or check.name in chosen]
