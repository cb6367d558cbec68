"""Sessions that another one looks after hold no thread without its leave."""

import types

from harness import Agent, unframe


class Overseen:
    """An agent in which session 1 may coordinate session 2, and what they are told."""

    def __init__(self):
        self.told, self.limits, self.let_go, self.counted = [], [], [], 0
        self.agent = Agent(
            _limit=self.limits.append, _has_room=lambda index: 1, _let_go=self.let_go.append,
            _send_to=lambda index, framed: self.told.append((index, unframe(framed)[0])))
        for part in "engine", "stops", "breakpoints", "coordination", "waits":
            self.agent.load(part)
        self.names = self.agent.names
        self.names.update(watch=lambda codes=(): None, was_watching=lambda: False)

    def events(self):
        """Those since the last look: (session, event, body)."""
        told = [(index, message["event"], message.get("body", {}))
                for index, message in self.told]
        del self.told[:]
        for _, event, body in told:
            if event == "hangdbg/suspended":
                assert body.pop("number") > self.counted
        return told

    def set_line(self, line):
        self.agent.request("setBreakpoints", session=2, source={"path": "/nowhere.py"},
                           breakpoints=[{"line": line}])
        self.names["_sessions"][2].ident = 0  # another executor than session 1's
        return self.names["_breakpoints"][-1]


def check_an_coordinator_is_joined():
    overseen = Overseen()
    agent = overseen.agent
    assert agent.refused("hangdbg/join", session=2, job="one").id == "bad-message"
    agent.request("hangdbg/coordinate", job="one")
    assert agent.refused("hangdbg/join", session=2, job="another").id == "bad-message"
    agent.request("hangdbg/limit", milliseconds=5000)
    assert overseen.limits == []  # it has no threads of its own
    agent.request("hangdbg/join", session=2, job="one")
    assert overseen.limits == [2 << 32 | 5000]
    agent.request("hangdbg/limit", milliseconds=200)
    assert overseen.limits[1:] == [2 << 32 | 200]


def check_breakpoints_are_live_when_it_lets_them():
    overseen = Overseen()
    agent = overseen.agent
    frame = types.SimpleNamespace()
    free = overseen.set_line(3)
    assert free.live and free.reached(frame)
    agent.request("hangdbg/coordinate", session=1, job="one")
    agent.request("hangdbg/join", session=2, job="one")
    assert agent.refused("hangdbg/hold", session=2, threadId=1).id == "not-permitted"
    assert agent.refused("hangdbg/takeWaiting", session=2).id == "not-permitted"
    one = overseen.set_line(4)
    assert overseen.events() == [(1, "hangdbg/suspended", {"threads": 0, "waiting": 1})]
    assert not one.live and not one.reached(frame)
    one.line = 4
    assert "not yet" in one.described()["message"] and not one.described()["verified"]

    begun = []
    overseen.names["is_due"] = lambda after, seen: after[0] in begun
    agent.request("hangdbg/coordinate", session=1, job="one", live=True, milliseconds=900,
                  after=["the 7th"])
    assert overseen.limits[1:] == [2 << 32 | 900]
    changed, standing = overseen.events()
    assert changed[:2] == (2, "breakpoint") and changed[2]["breakpoint"]["verified"]
    assert standing == (1, "hangdbg/suspended", {"threads": 0, "waiting": 0})
    assert not one.reached(frame)
    # Who has not come there yet may be told of another place.
    agent.request("hangdbg/coordinate", session=1, job="one", live=True, milliseconds=900,
                  after=["the 9th"])
    assert len(overseen.limits) == 2  # the time goes on
    begun.append("the 7th")
    assert not one.reached(frame)
    # The file's breakpoints are set again: that one waits as before.
    one = overseen.set_line(4)
    assert one.live and not one.reached(frame)
    begun.append("the 9th")
    assert one.reached(frame)
    # The same again keeps what it has been let; a new one waits.
    assert overseen.set_line(4).live
    overseen.events()
    assert not overseen.set_line(5).live
    assert overseen.events() == [(1, "hangdbg/suspended", {"threads": 0, "waiting": 1})]


def check_all_go_on_when_it_ends():
    overseen = Overseen()
    agent = overseen.agent
    agent.request("hangdbg/coordinate", session=1, job="one", live=True, milliseconds=900)
    agent.request("hangdbg/join", session=2, job="one")
    overseen.set_line(3)
    member = overseen.names["_sessions"][2]
    overseen.names["plan_dropped"] = lambda ident, plan: None
    overseen.names["_plans"][18] = types.SimpleNamespace(session=member)
    member.standing[17] = types.SimpleNamespace(number=9, leaves=False)
    overseen.events()
    overseen.names["forget"](1)
    assert overseen.let_go == [9] and overseen.limits[-1] == 2 << 32 | 1
    assert overseen.names["_plans"] == {}
    assert overseen.names["_breakpoints"] == []
    (number, event, body), last = overseen.events()
    assert (number, event) == (2, "breakpoint")
    assert "time for which ranks" in body["breakpoint"]["message"]
    assert last == (2, "hangdbg/coordinatorLeft", {})
    member.standing.clear()
    assert agent.refused("hangdbg/hold", session=2, threadId=1).id == "not-permitted"
    assert not overseen.set_line(3).live
