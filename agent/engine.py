# Threads of the program that a client has suspended: what they do meanwhile, and
# how they are resumed. Sent when the first is to be held (dispatch.py, load).
#
# A thread comes into stand() from bootstrap/hold.c, out of the call in which it
# was blocked. Requests about its frames then run on itself: with its own
# thread-locals, context variables and CUDA device.


def hold(session, arguments):
    """A place for the injector to send the thread to."""
    if is_dormant(session):
        raise Failure("not-permitted", DORMANT)
    ident = _ident_of(session, field(arguments, "threadId", int))
    for other in list(_sessions.values()):
        standing = other.standing.get(ident)
        if standing is not None and standing.leaves:
            raise Failure("no-safe-thread", "the thread is about to go on")
        if standing is not None or ident in other.claims.values():
            raise Failure("held-already", "the thread is already suspended")
    number, held, entry = _claim()
    session.claims[number] = ident
    return {"number": number, "held": held, "entry": entry}


def stand(index, number):
    """The thread itself, until it is let go. The signal that is to be sent to it
    then; 0 none."""
    session = _sessions.get(index)
    ident = session.claims.get(number) if session else None
    if ident is None:
        return 0
    raised = keep_standing(session, number, ident, "pause", in_call=True,
                           description="held")
    if raised is not None and _thread_id(ident) == process_id() and (
            "break_call" in globals()):
        return break_call(raised)
    if raised is KeyboardInterrupt:
        return 2  # SIGINT, which ends its call
    if raised is not None:
        raise raised if isinstance(raised, type) else type(raised)
    return 0


def keep_standing(session, number, ident, reason, error=None, in_call=False,
                  returned=(), left=None, **more):
    """What is to be raised in the program's own code, or None: in the main thread
    Python runs the handlers of signals in between, and in any it raises what another
    thread has set for it. So there is no line here that may not be broken off."""
    standing, told, raised, tries = None, False, None, 0
    while tries < 1000:
        try:
            if is_dormant(session):
                session.claims.pop(number, None)
                break
            if standing is None:
                standing = Parked(number, error, in_call, returned, left)
            session.standing[ident] = standing
            session.claims.pop(number, None)
            if not told and session.limited and not _has_room(session.index):
                break  # its client does not read: no wait for that
            if not told:
                told = True
                tell(session, "stopped", reason=reason, threadId=_thread_id(ident),
                     allThreadsStopped=False, **more)
                if session.coordinator is not None:
                    tell_coordinator(session.coordinator)
            if not _stand(number):
                if not standing.leaves:
                    time_is_up(session, ident)
                break
            standing.work()
        except BaseException as error:
            raised = type(error) if is_programs(error) else raised
            tries += 1
    try:
        if session.standing.pop(ident, None) is not None and session.coordinator is not None:
            tell_coordinator(session.coordinator)
    except BaseException as error:
        raised = type(error) if is_programs(error) else raised
    if standing is not None and standing.raises is not None:
        raised = standing.raises
    elif standing is not None and standing.debugs is not None:
        raised = debugged(session, number, ident, standing)
    elif standing is not None and standing.plan is not None:
        try:
            step(session, ident, left, *standing.plan)
        except BaseException as error:
            raised = type(error) if is_programs(error) else raised
    return raised


def is_programs(error):
    """Whether what came up in our code is not our own mistake, nor the end of a
    stack or of memory that we need: a signal's handler has raised it, or another
    thread has set it for this one."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    kind = type(error)
    return (trace.tb_frame.f_code.co_filename != "<hangdbg>" or
            kind in (KeyboardInterrupt, SystemExit) or
            type_module(kind) not in ("builtins", "hangdbg"))


def held(session, arguments):
    ident = _ident_of(session, field(arguments, "threadId", int))
    standing = session.standing.get(ident)
    return {"stands": standing is not None,
            "busy": standing is not None and standing.work is not None,
            "comes": ident in session.claims.values()}


def let_go(session, arguments):
    """Resumes a suspended thread; one that is still to arrive is not waited for."""
    ident = _ident_of(session, field(arguments, "threadId", int))
    for number in [number for number, of in session.claims.items() if of == ident]:
        del session.claims[number]
        _let_go(number)
    if ident in session.standing:
        goes_on(session, ident)
    return {"allThreadsContinued": False}


def goes_on(session, ident):
    """What of its values can be expanded ends with that."""
    if session.references is not None:
        session.references.forget(lambda frame: session.keys.get(frame, (0,))[0] == ident)
    session.standing[ident].leaves = True
    _let_go(session.standing[ident].number)


def time_is_up(session, ident):
    """It was not resumed in the time allowed, or its client has gone. Nothing else is
    to stop for a client that may be asleep."""
    goes_on(session, ident)
    if session.limited and "give_up_breakpoints" in globals():  # breakpoints.py
        give_up_breakpoints(session)
    if _has_room(session.index):
        tell(session, "continued", threadId=_thread_id(ident), allThreadsContinued=False)


def tell(session, event, **body):
    _send(session.frame_message("event", event=event, body=body))


def tell_aside(session, event, **body):
    """To that client, from a thread that is not its own. What finds no room is lost: no
    thread waits for a client that does not read."""
    if _sessions.get(session.index) is session:
        _send_to(session.index, session.frame_message("event", event=event, body=body))


DORMANT = ("not yet: a collective that began before has a timeout that was not raised; "
           "the session of the whole job says which")


def is_dormant(session):
    """Whether no thread may stop for it yet (coordination.py)."""
    return session.coordinator is not None and not session.coordinator.live


def places_of_error(error, frame):
    """The stack of a thread that stopped for an exception: with the functions that
    it has left; innermost first, as in frames.py."""
    places, trace = [], error.__traceback__
    while trace is not None:
        inner = trace.tb_frame
        if inner.f_code.co_filename != "<hangdbg>":
            places.append((inner, inner.f_code, trace.tb_lasti, inner.f_globals))
        trace = trace.tb_next
    frame = places[0][0].f_back if places else frame
    return places[::-1] + _places(frame)[::-1]


class Parked:
    """A suspended thread, and its requests."""

    def __init__(self, number, error, in_call, returned, left):
        self.number = number
        self.returned = returned  # (name, value) of what has returned in its last step
        self.left = left  # its innermost frame, by id, if it has returned: its caller is shown
        self.in_call = in_call  # that was blocked when it was entered
        self.leaves = False  # it was let go
        self.error = error  # (exception, kind), if it has stopped for one
        self.errors = None  # what belongs to it (exceptions.py)
        self.work = None
        self.raises = None  # what is to be raised in its own code when it goes
        self.plan = None  # how it is to be stepped when it goes (stepping.py)
        self.debugs = None  # what it is let go for (debugged.py)
        self.calls = {}  # into which it may be stepped: number -> their offsets

    def run(self, handler, session, arguments):
        """handler(session, arguments) in that thread."""
        if self.work is not None:
            raise Failure("no-safe-thread", "the thread is still inside an expression "
                          "that does not react; it is cancelled when its C call returns")
        outcome = []

        def work():
            # What failed leaves as a tuple, as in run_in_frame.
            try:
                outcome[:] = None, handler(session, arguments)
            except Failure as failure:
                outcome[:] = [failure.args]
            except BaseException as error:
                outcome[:] = [told(error, "agent-failed")]

        self.work = work
        _ask(self.number)
        self.work = None
        if len(outcome) != 2:
            raise Failure(*outcome[0] if outcome else (
                "no-such-frame", "the thread has ended"))
        return outcome[1]


handlers.update({"hangdbg/hold": hold, "hangdbg/held": held, "continue": let_go})
