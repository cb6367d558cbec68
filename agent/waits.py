# Threads of the program that wait for a debugger by the package hangdbg
# (python/hangdbg), and the end of those that `hangdbg run` watches: they call us, and
# stand for the clients that have said that they want them.

_takers = {}  # session -> whether the program stops for it at its first line


def take_waiting(session, arguments):
    """Those that wait, and from now on those that would."""
    if is_dormant(session):  # they go on waiting
        raise Failure("not-permitted", DORMANT)
    names = sys.modules["hangdbg"].__dict__
    _takers[session] = field(arguments, "entry", bool, True)
    names["_stand_in"] = process_id()
    names["_stand"] = stand_for_debugger
    for lock in list(names["_waiting"]):
        try:
            lock.release()
        except RuntimeError:  # another client has done so
            pass
    return {}


def stand_for_debugger(reason, error):
    """On the thread. (Whether it has stood, what the program is to raise then)."""
    stood, raised = False, None
    try:
        ident = _ident()
        for session in list(_takers):
            if is_ours(ident) or raised is not None:
                break
            if reason == "entry":
                if _takers[session]:
                    plan_entry(session, ident)
                stood = True
                continue
            number = _come(session.index)
            if number is not None:
                stood = True
                try:
                    raised = keep_standing(session, number, ident, reason,
                                           **_about(error))
                finally:
                    _gone(number)
    except BaseException as failure:
        if is_programs(failure):
            raised = failure
    return stood, raised


def _about(error):
    if error is None:
        return {}
    need("errors")
    return {"error": (error, "uncaught"), "description": explain(error)[1],
            "text": type_name(type(error))}


def end_waits(session):
    if session in _takers:
        del _takers[session]
        if not _takers:
            sys.modules["hangdbg"].__dict__["_stand"] = None


handlers["hangdbg/takeWaiting"] = take_waiting
