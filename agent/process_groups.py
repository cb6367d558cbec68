# The process groups of torch.distributed: how far each has come, and its timeout,
# which is raised while a thread of any rank may be held: the other ranks wait for
# that one, and die of it. The timeouts are put back when the sessions that raised
# them have ended. (torch/distributed/distributed_c10d.py: _set_pg_timeout.)
#
# A collective has the timeout that its group had when it began. gloo's send and
# receive have that with which the group was made; so has all of gloo in a torch whose
# backends have no _set_default_timeout (2.2 and before; ProcessGroupGloo.cpp).

_raisers = {}  # session -> milliseconds
_raised = {}  # (group, device) -> (timeout that it had, timeout that we gave it)


def process_groups(session, arguments):
    """What groups this rank is in; `raiseByMs`: with timeouts that are so much longer
    from now on, until the session ends or asks for 0; `recorded`: with the last
    collectives that torch has recorded."""
    if arguments.get("raiseByMs") is not None:
        milliseconds = field(arguments, "raiseByMs", int)
        if milliseconds:
            _raisers[session] = milliseconds
        else:
            end_process_groups(session)
    groups = []
    for name, device, backend, ranks in _backends():
        groups.append(_group_body(name, device, backend, ranks))
    body = {"groups": groups, "inside": _inside(session)}
    if arguments.get("recorded") and groups:
        body["recorded"] = _recorded()
    return body


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
        body["timeoutMs"] = _in_ms(backend.options._timeout)
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


_PATIENCE = 3  # seconds


def is_due(collectives, seen):
    """Whether this rank has come as far as any of these: {"group", "device", "number"}.
    By that several ranks stop in the same round of a loop, although each is queried at
    another moment. `seen`: between two looks. If none of them advances while the thread
    comes by again and again, they do not say how far the loop is."""
    now = sys.modules["time"].monotonic()
    begun = [_begun(one) for one in collectives]
    if any(number is None or number >= one["number"]
           for number, one in zip(begun, collectives)):
        return True
    if seen[:1] != [begun]:
        seen[:] = begun, now
    return now - seen[1] > _PATIENCE


def _begun(collective):
    """How many have; None: the group has been destroyed."""
    for name, device, backend, _ in _backends():
        if (name, device) == (collective["group"], collective["device"]):
            try:
                return backend._get_sequence_number_for_group()
            except Exception:
                break
    return None


def _in_ms(timeout):
    return int(timeout.total_seconds() * 1000)


def _raise_or_put_back(name, device, backend):
    """The timeout that it has without hangdbg."""
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
        elif "Gloo" in type_name(type(backend)):
            raise RuntimeError("this torch's gloo keeps the timeout of the group's beginning")
        else:
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


_RECORDED = 3  # the last ones of each group, and so many unfinished ones
_NOT_OVER = 30


def _recorded():
    """The last collectives in torch's Flight Recorder; None where it has none.

    Only the recorder of the host's backends is queried: it takes a lock that is never
    held for longer than a copy. That of NCCL queries the GPU, which may never answer."""
    dump = getattr(sys.modules.get("torch._C._distributed_c10d"), "_dump_fr_trace_json", None)
    json = sys.modules.get("json")
    if dump is None or json is None:
        return None
    last, left = {}, _NOT_OVER
    for entry in reversed(json.loads(dump(True, False)).get("entries", ())):
        try:
            entry = _recorded_body(entry)
        except Exception:  # of a torch that records otherwise
            continue
        kept = last.setdefault(entry["group"], [])
        if len(kept) < _RECORDED or (not entry["over"] and left > 0):
            left -= not entry["over"]
            kept.append(entry)
    return [entry for group in sorted(last) for entry in reversed(last[group])]


def _recorded_body(entry):
    number = entry["p2p_seq_id"] if entry["is_p2p"] else entry["collective_seq_id"]
    tensors = ["%s%s" % (dtype, shape) for dtype, shape in zip(
        entry["input_dtypes"][:3], entry["input_sizes"])]
    if len(entry["input_sizes"]) > 3:
        tensors.append("and %d more" % (len(entry["input_sizes"]) - 3))
    age = int(sys.modules["time"].time() * 1000) - entry["time_created_ns"] // 1000000
    return {"group": str(entry["process_group"][0]), "number": int(number),
            "name": str(entry["profiling_name"]), "tensors": ", ".join(tensors),
            "ageMs": max(age, 0),
            "over": bool(entry["retired"] or entry["state"] == "completed")}


def end_process_groups(session):
    """The session ends, or asks for 0; what it raised goes back where it was."""
    if _raisers.pop(session, None) is None:
        return
    for name, device, backend, _ in _backends():
        try:
            if (name, device) in _raised:
                _raise_or_put_back(name, device, backend)
        except Exception:  # a group that is being destroyed
            pass


handlers["hangdbg/processGroups"] = process_groups
