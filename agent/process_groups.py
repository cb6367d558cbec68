# The process groups of torch.distributed: how far each has come, and its timeout,
# which is raised while a thread of any rank may be held: the other ranks wait for
# that one, and die of it. The timeouts are put back when the sessions that raised
# them have ended. (torch/distributed/distributed_c10d.py: _set_pg_timeout.)
#
# A collective has the timeout that its group had when it began. gloo's send and
# receive have that with which the group was made.

_raisers = {}  # session -> milliseconds
_raised = {}  # (group, device) -> (timeout that it had, timeout that we gave it)


def process_groups(session, arguments):
    """What groups this rank is in; `raiseByMs`: with timeouts that are so much longer
    from now on, until the session ends."""
    if arguments.get("raiseByMs") is not None:
        _raisers[session] = field(arguments, "raiseByMs", int)
    groups = []
    for name, device, backend, ranks in _backends():
        groups.append(_group_body(name, device, backend, ranks))
    return {"groups": groups, "inside": _inside(session)}


def _backends():
    """(name of the group, kind of device, its backend, its global ranks)"""
    names = getattr(sys.modules.get("torch.distributed.distributed_c10d"), "__dict__", {})
    for group in list(names.get("_pg_map") or ()):
        name = str((names.get("_pg_names") or {}).get(group, ""))
        ranks = sorted((names.get("_pg_group_ranks") or {}).get(group) or ())
        seen = []
        for device in getattr(group, "_device_types", None) or [None]:
            try:
                backend = group if device is None else group._get_backend(device)
            except Exception:  # it is being made, or destroyed
                continue
            # With TORCH_DISTRIBUTED_DEBUG=DETAIL another is around it.
            backend = getattr(backend, "wrapped_pg", backend)
            if not any(backend is other for other in seen):
                seen.append(backend)
                yield name, getattr(device, "type", ""), backend, ranks


def _group_body(name, device, backend, ranks):
    body = {"name": name, "device": device, "backend": type_name(type(backend)),
            "ranks": ranks, "timeoutMs": None, "raisedToMs": None, "sequence": None}
    try:
        body["timeoutMs"] = _in_ms(_raise_or_put_back(name, device, backend))
        if (name, device) in _raised:
            body["raisedToMs"] = _in_ms(_raised[name, device][1])
    except Exception as error:
        body["problem"] = "%s: %s" % (type_name(type(error)), str(error)[:300])
    try:
        body["sequence"] = backend._get_sequence_number_for_group()
    except Exception:  # no collective yet, or a backend that does not count
        pass
    return body


def has_begun(collective):
    """Whether this rank has come as far: {"group", "device", "number"}. By that several
    ranks stop in the same round of a loop, although each is asked at another moment."""
    for name, device, backend, _ in _backends():
        if (name, device) == (collective["group"], collective["device"]):
            try:
                return backend._get_sequence_number_for_group() >= collective["number"]
            except Exception:
                break
    return True  # it has been destroyed


def _in_ms(timeout):
    return int(timeout.total_seconds() * 1000)


def _raise_or_put_back(name, device, backend):
    """The timeout that it has without us."""
    now = backend.options._timeout
    had, given = _raised.get((name, device), (now, None))
    if now != given:
        had = now  # the program's own
    wanted = had
    if _raisers:
        wanted = had + type(had)(milliseconds=max(_raisers.values()))
    if wanted != now:
        if hasattr(backend, "_set_default_timeout"):
            backend._set_default_timeout(wanted)
        else:  # torch 1.13
            backend.options._timeout = wanted
        if backend.options._timeout != wanted:
            raise RuntimeError("its timeout stays as it is")
    if _raisers:
        _raised[name, device] = had, wanted
    else:
        _raised.pop((name, device), None)
    return had


def _inside(session):
    """The threads that are in a function of torch.distributed."""
    inside = []
    for ident, frame in _other_frames(session).items():
        for _, code, _, _ in _places(frame):
            if code.co_filename.endswith("/torch/distributed/distributed_c10d.py"):
                inside.append({"threadId": _thread_id(ident), "function": code.co_name})
                break
    return inside


def end_process_groups(session):
    """The session ends; what it raised goes back where it was."""
    if _raisers.pop(session, None) is None:
        return
    for name, device, backend, _ in _backends():
        try:
            if (name, device) in _raised:
                _raise_or_put_back(name, device, backend)
        except Exception:  # a group that is being destroyed
            pass


def limit_hold(session, arguments):
    """So long its threads stand at most, from now on or from when the first comes
    to stand; 0: for ever. Then they go on, and `continued` says so: its breakpoints
    are gone with that."""
    session.limited = arguments.get("milliseconds") != 0
    _limit(field(arguments, "milliseconds", int))
    return {}


handlers.update({"hangdbg/processGroups": process_groups, "hangdbg/limit": limit_hold})
