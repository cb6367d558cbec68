# Sessions that may not suspend threads freely, since other ranks wait for a suspended
# one.
#
# A session may coordinate others in its process: that of an editor for a whole job
# coordinates the one that it has for this rank (server/dap/job_session.cpp). These, its
# members, stop no thread before it permits that, nor at a breakpoint before it has
# permitted that one: so ranks stop in the same round of a loop, although each learns of
# the breakpoint at another moment. It is told how many are suspended; when it ends,
# however that is, they resume.

_coordinators = {}  # session -> its Coordinator


class Coordinator:
    def __init__(self, session, job):
        self.session = session
        self.job = job  # by which its members know it
        self.live = False  # they may hold threads
        self.milliseconds = 0  # for so long; 0: for ever
        self.told = 0  # how often it was told the number of suspended threads

    def members(self):
        return [one for one in list(_sessions.values()) if one.coordinator is self]


def coordinate(session, arguments):
    """From now on, as `job`; with `live`, its members may hold threads, for so many
    milliseconds, and do so at the breakpoints that they have now, `after` a collective."""
    coordinator = _coordinators.get(session)
    if coordinator is None:
        coordinator = _coordinators[session] = Coordinator(session, field(arguments, "job", str))
    if field(arguments, "live", bool, False):
        if not coordinator.live:
            limit_hold(session, arguments)
        coordinator.live = True
        for member in coordinator.members():
            if "let_live" in globals():  # breakpoints.py
                let_live(member, arguments.get("after"))
        tell_coordinator(coordinator)
    return {}


def join(session, arguments):
    """As a member of the coordinator of this process for `job`."""
    job = field(arguments, "job", str)
    for coordinator in list(_coordinators.values()):
        if coordinator.job == job:
            session.coordinator = coordinator
            _limit_session(session, coordinator.milliseconds)
            return {}
    raise Failure("bad-message", "the session of the whole job has ended")


def limit_hold(session, arguments):
    """How long its threads, or those of its members, may be suspended; from now on, or
    from when the first is; 0: for ever. Then they resume, and `continued` says so: the
    session's breakpoints are gone with that."""
    milliseconds = field(arguments, "milliseconds", int)
    coordinator = _coordinators.get(session)
    if coordinator is not None:
        coordinator.milliseconds = milliseconds
    for one in [session] if coordinator is None else coordinator.members():
        _limit_session(one, milliseconds)
    return {}


def _limit_session(session, milliseconds):
    session.limited = milliseconds != 0
    _limit(session.index << 32 | milliseconds & 0xffffffff)


def tell_coordinator(coordinator):
    """How many threads its members hold, and breakpoints that it is to let live."""
    coordinator.told += 1
    number = coordinator.told  # another thread may count later, and be faster
    members = coordinator.members()
    tell_aside(coordinator.session, "hangdbg/suspended", number=number,
               threads=sum(len(one.standing) for one in members),
               waiting=sum(not breakpoint.live for one in members
                           for breakpoint in breakpoints_of(one)))


def breakpoints_of(session):
    return [one for one in list(globals().get("_breakpoints", ()))
            if one.session is session]


def end_coordination(session):
    coordinator = _coordinators.pop(session, None)
    if coordinator is None:
        return
    coordinator.live = False
    for member in coordinator.members():
        _limit_session(member, 1)
        for standing in list(member.standing.values()):
            _let_go(standing.number)
        if "end_plans" in globals():  # stops.py
            end_plans(member)
        if "give_up_breakpoints" in globals():
            give_up_breakpoints(member)
        tell_aside(member, "hangdbg/coordinatorLeft")


handlers.update({"hangdbg/coordinate": coordinate, "hangdbg/join": join,
                 "hangdbg/limit": limit_hold})
