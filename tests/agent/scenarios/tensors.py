"""Tensors whose values would have to come from a GPU, with a torch that is faked."""

import sys
import _thread

from harness import PY, Agent, unframe


class FakeTensor:
    """What the agent asks of a tensor; its values never come if it is on a GPU."""

    dtype, requires_grad = "torch.float32", False
    is_cuda = property(lambda self: self.device.type == "cuda")

    def __init__(self, device, shape):
        self.device = type("device", (), {"type": device.split(":")[0],
                                          "__repr__": lambda self: device})()
        self.shape = shape

    def tolist(self):
        if self.device.type != "cpu":
            raise AssertionError("it waited for the GPU")
        return [0.0] * self.shape[0]

    def __repr__(self):
        return "tensor(%s)" % self.tolist()

    def __format__(self, spec):
        return format(self.tolist()[0], spec)


def fake_torch(**cuda):
    """A module torch, in sys.modules; .set is the devices that were set."""
    torch = type(sys)("torch")
    torch.Tensor = type("Tensor", (FakeTensor,), {
        "__repr__": FakeTensor.__repr__, "__format__": FakeTensor.__format__})
    torch.Parameter = type("Parameter", (torch.Tensor,), {
        "__repr__": lambda self: "Parameter containing:\n" + super(torch.Parameter, self).__repr__()})
    torch.set = []
    contexts = cuda.get("contexts", [])
    torch.cuda = type("cuda", (), {"is_initialized": lambda: cuda.get("initialized", False)})
    torch._C = type("_C", (), {
        "_cuda_getDeviceCount": lambda: 8, "_cuda_setDevice": torch.set.append,
        "_cuda_hasPrimaryContext": lambda device: device in contexts})
    sys.modules["torch"] = torch
    return torch


def check_gpu_tensors_show_metadata():
    import collections
    agent = Agent()
    torch = fake_torch()
    original = torch.Tensor.__dict__["__repr__"]
    main = sys.modules["__main__"]
    main.gpu = torch.Tensor("cuda:3", (4, 2))
    main.cpu = torch.Tensor("cpu", (2,))
    main.weight = torch.Parameter("cuda:0", (9,))
    shown = "<Tensor shape=(4, 2) dtype=torch.float32 device=cuda:3 requires_grad=False>"
    main.ordered = collections.OrderedDict(a=main.gpu)
    main.Own = type("Own", (), {"__repr__": lambda self: "Own(%r)" % main.gpu})
    main.Formats = type("Formats", (), {"__repr__": lambda self: "loss {:.3}".format(main.gpu)})
    assert agent.result("gpu") == shown
    assert agent.result("cpu") == "tensor([0.0, 0.0])"
    assert agent.result("[gpu, cpu]") == "[%s, tensor([0.0, 0.0])]" % shown
    assert agent.result("{'a': (gpu,)}") == "{'a': (%s,)}" % shown
    assert agent.result("ordered").count(shown) == 1
    assert agent.result("Own()") == "Own(%s)" % shown
    assert agent.result("Formats()") == "loss " + shown
    assert "<Parameter shape=(9,)" in agent.result("weight")
    if PY >= (3, 7):
        agent.result("import dataclasses\n@dataclasses.dataclass\nclass Batch:\n  x: object\n")
        assert agent.result("Batch(gpu)") == "Batch(x=%s)" % shown
    assert agent.refused("evaluate", expression="raise ValueError(gpu)").text == (
        "ValueError: " + shown)
    agent.load("objects")
    assert agent.result("[gpu] * 3", hangdbg_pretty=20).count(shown) == 3
    # As typed: it is the user who asks for the values.
    for text in ("gpu.tolist()", "repr(gpu)", "print(gpu)", "str(gpu)"):
        assert agent.refused("evaluate", expression=text).type == "AssertionError", text
    assert agent.result("repr(cpu)") == repr("tensor([0.0, 0.0])")
    assert torch.Tensor.__dict__["__repr__"] is original


def check_gpu_tensors_of_other_threads():
    """A repr that blocks in one session: others go on, and the program's own
    threads see the usual repr."""
    agent = Agent()
    torch = fake_torch()
    original = torch.Tensor.__dict__["__repr__"]
    main = sys.modules["__main__"]
    main.cpu = torch.Tensor("cpu", (1,))
    main.gpu = torch.Tensor("cuda:1", (1,))
    inside, leave, left = [_thread.allocate_lock() for _ in range(3)]
    for lock in (inside, leave, left):
        lock.acquire()
    main.Blocks = type("Blocks", (), {
        "__repr__": lambda self: (inside.release(), leave.acquire(), "free %r" % main.gpu)[2]})
    answers = []

    def other():
        answers.extend(unframe(agent.handle(
            2, b'{"command":"evaluate","arguments":{"expression":"Blocks()"}}')))
        left.release()

    _thread.start_new_thread(other, ())
    inside.acquire()
    assert agent.result("gpu").startswith("<Tensor")
    assert torch.Tensor.__dict__["__repr__"] is not original
    assert repr(main.cpu) == "tensor([0.0])"
    try:
        repr(main.gpu)
    except AssertionError:
        pass
    else:
        raise AssertionError("the program's own repr shows metadata")
    leave.release()
    left.acquire()
    assert answers[0]["body"]["result"].startswith("free <Tensor shape=(1,)"), answers
    assert torch.Tensor.__dict__["__repr__"] is original


def check_device_of_the_rank():
    import os
    for contexts, rank, chosen in (
            ([], None, []), ([0], None, []), ([5], None, [5]), ([5], "3", [5]),
            ([0, 5], "5", [5]), ([0, 5], None, []), ([3, 5], None, [3]), ([0], "0", []),
            ([0, 2], "x", [])):
        torch = fake_torch(initialized=True, contexts=contexts)
        os.environ.pop("LOCAL_RANK", None)
        if rank:
            os.environ["LOCAL_RANK"] = rank
        agent = Agent()
        assert agent.result("1 + 1") == agent.result("2") == "2"
        assert torch.set == chosen, (contexts, rank, torch.set)
    torch = fake_torch(initialized=False, contexts=[4])
    agent = Agent()
    assert agent.result("1") == "1" and torch.set == []
    sys.modules["torch"] = type(sys)("torch")  # an import that has just begun
    assert Agent().result("1") == "1"
