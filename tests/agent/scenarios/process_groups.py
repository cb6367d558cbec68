"""Timeouts of process groups are raised for a session, and put back after it."""

import datetime
import json
import sys
import time
import types

from harness import Agent


class Options:
    def __init__(self, seconds):
        self._timeout = datetime.timedelta(seconds=seconds)


class Gloo:
    def __init__(self, seconds, sequence):
        self.options = Options(seconds)
        self.sequence = sequence

    def _set_default_timeout(self, timeout):
        self.options._timeout = timeout

    def _get_sequence_number_for_group(self):
        if self.sequence is None:
            raise RuntimeError("no collective yet")
        return self.sequence

    @property
    def seconds(self):
        return self.options._timeout.total_seconds()


class Old:  # as of torch 1.13: the group is its own backend
    def __init__(self, seconds):
        self.options = Options(seconds)


class OldGloo(Old):
    pass


class Group:
    _device_types = [types.SimpleNamespace(type="cpu"), types.SimpleNamespace(type="cuda")]

    def __init__(self, backend):
        self.backend = backend

    def _get_backend(self, device):
        return self.backend


def fake_torch(*backends):
    module = types.ModuleType("torch.distributed.distributed_c10d")
    groups = [one if isinstance(one, Old) else Group(one) for one in backends]
    module._pg_map = {group: ("gloo", None) for group in groups}
    module._pg_names = {group: str(i) for i, group in enumerate(groups)}
    module._pg_group_ranks = {group: {1: 1, 0: 0} for group in groups}
    sys.modules[module.__name__] = module
    return module


def loaded_agent():
    agent = Agent(_limit=lambda milliseconds: None)
    for part in "engine", "process_groups":
        agent.load(part)
    return agent


def check_without_torch():
    assert loaded_agent().request("hangdbg/processGroups", raiseByMs=1000) == {
        "groups": [], "inside": []}


def check_raised_and_put_back():
    first, second, old = Gloo(20, 17), Gloo(1800, None), Old(5)
    fake_torch(first, second, old)
    agent = loaded_agent()

    def ask(**arguments):
        return agent.request("hangdbg/processGroups", **arguments)["groups"]

    assert ask()[0] == {"name": "0", "device": "cpu", "backend": "Gloo", "ranks": [0, 1],
                        "timeoutMs": 20000, "raisedToMs": None, "sequence": 17}
    groups = ask(raiseByMs=60000)
    assert [(one["timeoutMs"], one["raisedToMs"], one["sequence"]) for one in groups] == [
        (20000, 80000, 17), (1800000, 1860000, None), (5000, 65000, None)]
    assert (first.seconds, second.seconds, old.options._timeout.total_seconds()) == (
        80, 1860, 65)
    # A second client that wants less changes nothing, one that wants more does.
    ask(session=2, raiseByMs=1000)
    assert first.seconds == 80
    ask(session=3, raiseByMs=90000)
    assert first.seconds == 110
    agent.names["forget"](3)
    assert first.seconds == 80
    ask(session=2, raiseByMs=0)
    assert first.seconds == 80
    assert [one["raisedToMs"] for one in ask(raiseByMs=0)] == [None] * 3
    assert (first.seconds, old.options._timeout.total_seconds()) == (20, 5)
    ask(raiseByMs=60000)
    assert first.seconds == 80
    agent.names["forget"](2)
    agent.names["forget"](1)
    assert (first.seconds, second.seconds, old.options._timeout.total_seconds()) == (
        20, 1800, 5)


def check_old_gloo_keeps_its_timeout():
    """And says so: it would go by what its connections were made with."""
    gloo = OldGloo(20)
    fake_torch(gloo)
    (group,) = loaded_agent().request("hangdbg/processGroups", raiseByMs=60000)["groups"]
    assert (group["timeoutMs"], group["raisedToMs"], gloo.options._timeout.seconds) == (
        20000, None, 20)
    assert "keeps the timeout" in group["problem"]


def check_what_the_program_changes_stays():
    first, second = Gloo(20, 1), Gloo(20, 1)
    module = fake_torch(first)
    agent = loaded_agent()
    agent.request("hangdbg/processGroups", raiseByMs=60000)
    first._set_default_timeout(datetime.timedelta(seconds=7))
    # A group that was made meanwhile is raised when it is seen.
    later = Group(second)
    module._pg_map[later] = ("gloo", None)
    module._pg_names[later] = "later"
    groups = agent.request("hangdbg/processGroups")["groups"]
    assert [(one["timeoutMs"], one["raisedToMs"]) for one in groups] == [
        (7000, 67000), (20000, 80000)]
    first._set_default_timeout(datetime.timedelta(seconds=9))
    agent.names["forget"](1)
    assert (first.seconds, second.seconds) == (9, 20)


def check_a_group_that_is_being_destroyed():
    class Gone(Group):
        def _get_backend(self, device):
            raise RuntimeError("no backend of it any more")

    first = Gloo(20, 3)
    module = fake_torch(first)
    module._pg_map = {Gone(None): None, **module._pg_map}
    agent = loaded_agent()
    (only,) = agent.request("hangdbg/processGroups", raiseByMs=1000)["groups"]
    assert only["raisedToMs"] == 21000
    agent.names["forget"](1)
    assert first.seconds == 20


def check_how_far_it_has_come():
    first, second = Gloo(20, 3), Gloo(20, None)
    fake_torch(first, second)
    agent = loaded_agent()

    def is_due(*numbers, group="0", device="cpu", seen=None):
        return agent.names["is_due"](
            [{"group": group, "device": device, "number": number} for number in numbers],
            [] if seen is None else seen)

    assert is_due(3) and is_due(4, 3)
    assert not is_due(4)
    # Of one that has been destroyed, or does not count, nobody waits for a number.
    assert is_due(4, device="cuda") and is_due(4, group="1")
    # Nor of one that does not go on while the thread comes by.
    seen = []
    assert not is_due(9, seen=seen)
    agent.names["_PATIENCE"] = 0
    first.sequence = 4
    assert not is_due(9, seen=seen)
    assert is_due(9, seen=seen)


def check_one_that_cannot_be_raised():
    class Mpi:
        pass

    fake_torch(Mpi(), Gloo(20, 3))
    agent = loaded_agent()
    first, second = agent.request("hangdbg/processGroups", raiseByMs=1000)["groups"]
    assert first["timeoutMs"] is None and "options" in first["problem"]
    assert second["raisedToMs"] == 21000


def recorded(number, **more):
    """An entry of torch 2.13's Flight Recorder."""
    return {"collective_seq_id": number, "input_dtypes": ["Float"], "input_sizes": [[4, 2]],
            "is_p2p": False, "p2p_seq_id": 0, "process_group": ["0", "undefined"],
            "profiling_name": "gloo:all_reduce", "retired": True, "state": "scheduled",
            "time_created_ns": int((time.time() - 60) * 1e9), **more}


def fake_recorder(*entries):
    module = types.ModuleType("torch._C._distributed_c10d")
    module.asked = []

    def dump(*arguments):
        module.asked.append(arguments)
        return json.dumps({"version": "2.10", "entries": list(entries)}).encode()

    module._dump_fr_trace_json = dump
    sys.modules[module.__name__] = module
    return module


def check_what_torch_has_recorded():
    fake_torch(Gloo(20, 9))
    recorder = fake_recorder(
        *[recorded(number) for number in range(1, 6)],
        recorded(6, retired=False), recorded(7, retired=False),
        recorded(1, process_group=["1", ""], state="completed", retired=False,
                 input_dtypes=["Float"] * 5, input_sizes=[[1]] * 5),
        recorded(0, process_group=["1", ""], is_p2p=True, p2p_seq_id=3),
        {"of": "another version"})
    agent = loaded_agent()
    assert "recorded" not in agent.request("hangdbg/processGroups")
    assert recorder.asked == []
    body = agent.request("hangdbg/processGroups", recorded=True)["recorded"]
    assert [(one["group"], one["number"], one["over"]) for one in body] == [
        ("0", 5, True), ("0", 6, False), ("0", 7, False), ("1", 1, True), ("1", 3, True)]
    assert body[0]["name"] == "gloo:all_reduce" and body[0]["tensors"] == "Float[4, 2]"
    assert 59000 < body[0]["ageMs"] < 90000
    assert body[3]["tensors"] == "Float[1], Float[1], Float[1], and 2 more"


def check_many_that_are_not_over():
    fake_torch(Gloo(20, 9))
    fake_recorder(*[recorded(number, retired=False) for number in range(2000)])
    body = loaded_agent().request("hangdbg/processGroups", recorded=True)["recorded"]
    assert [one["number"] for one in body] == list(range(1970, 2000))


def check_a_torch_without_a_recorder():
    fake_torch(Gloo(20, 9))
    sys.modules.pop("torch._C._distributed_c10d", None)
    assert loaded_agent().request("hangdbg/processGroups", recorded=True)["recorded"] is None
    # Of one without groups it is not asked, which would make one.
    recorder = fake_recorder()
    sys.modules["torch.distributed.distributed_c10d"]._pg_map = {}
    assert "recorded" not in loaded_agent().request("hangdbg/processGroups", recorded=True)
    assert recorder.asked == []
