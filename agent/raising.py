# raise: an exception of the client's choice is raised in a thread that is held.
#
# Where it is at a line, it is raised there. Out of a call in which the main
# thread is blocked (lock.acquire, sleep) it is broken by a signal whose handler, for
# this once, raises it; other threads' calls cannot be broken, and raise it when they
# return.


def raise_in(session, arguments):
    ident = _ident_of(session, field(arguments, "threadId", int))
    standing = session.standing.get(ident)
    if standing is None:
        raise Failure("bad-message", "the thread is not suspended")
    wanted = run_in_frame(session, arguments, lambda value, statement: value)
    if not isinstance(wanted, BaseException) and not (
            isinstance(wanted, type) and issubclass(wanted, BaseException)):
        raise Failure("expression-failed", "exceptions must derive from BaseException")
    in_call = standing.in_call
    breaks = in_call and _thread_id(ident) == process_id()
    if breaks and _handler_of_sigint() is None:
        raise Failure("bad-message", "SIGINT is not Python's here: nothing can break the "
                      "call")
    standing.raises = wanted
    goes_on(session, ident)
    return {"when": "later" if in_call and not breaks else "now"}


def _handler_of_sigint():
    signals = sys.modules.get("_signal")
    return signals.getsignal(signals.SIGINT) if signals is not None else None


def break_call(wanted):
    """On the main thread, held in a call. The signal that is to end that."""
    signals = sys.modules["_signal"]
    signals.signal(signals.SIGINT, _Once(signals.signal, _handler_of_sigint(), wanted))
    return int(signals.SIGINT)


class _Once:
    """The agent may be gone when it is called: it uses nothing but itself."""

    __slots__ = ("set", "before", "wanted")

    def __init__(self, set, before, wanted):
        self.set = set
        self.before = before
        self.wanted = wanted

    def __call__(self, number, frame):
        self.set(number, self.before)
        raise self.wanted


handlers["hangdbg/raise"] = raise_in
