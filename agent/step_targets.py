# Which calls a line makes, for a step into one of them.
#
# They are read from the syntax tree of the source, which the client sends: the agent
# opens no file. A call is known again, when it is made, by the instruction at which
# its caller is. From 3.11 on bytecode says which columns it is of; before, the
# calls of a statement and its call instructions are in the same order.


def step_in_targets(session, arguments):
    place = find_frame(session, arguments)
    number = arguments["frameId"]
    ident, depth, _ = session.keys[number]
    standing = session.standing.get(ident)
    if standing is None or depth != len(_stack(session, ident)[0]) - 1:
        return {"targets": []}
    text = field(arguments, "hangdbg/source", str)
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    line = _line(place[0], place[1], place[2])
    standing.calls, targets = {}, []
    found, first, last = _calls_ahead(text, line, place[1], place[2])
    for call, offsets in found:
        standing.calls[len(targets)] = offsets, first, last
        targets.append(_as_target(call, len(targets), text.split("\n")))
    return {"targets": targets}


def _calls_ahead(text, line, code, lasti):
    """([(node, offsets of the instructions that make the call)] in the order in which
    they are written, first line of the statement, last line)."""
    try:
        need("statements")
        module = _read(text)
    except SyntaxError:  # not the source of what runs
        return [], line, line
    first, last, calls = line, line, []
    for start, end, statement in _spans(module):
        if start <= line <= end:
            first, last = min(first, start), max(last, end)
            calls += _calls_of(statement)
    if hasattr(code, "co_positions"):
        places = list(code.co_positions())
        found = [(call, [at for at in range(lasti + 2, 2 * len(places), 2)
                         if _makes(call, places[at // 2])]) for call in calls
                 if not _makes(call, places[lasti // 2])]
    else:
        found = _counted_calls(calls, code, lasti, first, last)
    found = [(call, offsets) for call, offsets in found if offsets]
    found.sort(key=lambda one: (one[0].lineno, one[0].col_offset))
    return found, first, last


def _spans(statements):
    """(first line, last line, statement) of them and of those in them. A statement
    ends where the next one begins: 3.7 does not say."""
    flat = []
    todo = statements[::-1]
    while todo:
        node = todo.pop()
        flat.append((min(one.lineno for one in [node, *getattr(node, "decorator_list", ())]),
                     node))
        for name in ("finalbody", "orelse", "cases", "handlers", "body"):
            todo += [inner for inner in getattr(node, name, ())[::-1] if _starts(inner)]
    ends = [start - 1 for start, _ in flat[1:]] + [float("inf")]
    return [(start, max(start, end), node) for (start, node), end in zip(flat, ends)]


def _starts(node):
    if type(node).__name__ == "match_case":
        node.lineno = node.pattern.lineno
    return True


# What of a node is evaluated in place, and in which order; else all fields.
_HEADS = {"FunctionDef": ("decorator_list", "args"), "arguments": ("defaults", "kw_defaults"),
          "ClassDef": ("decorator_list", "bases", "keywords"), "For": ("iter", "target"),
          "While": ("test",), "If": ("test",), "With": ("items",), "Try": (), "TryStar": (),
          "ExceptHandler": ("type",), "Match": ("subject",), "match_case": ("guard",),
          "Assign": ("value", "targets"), "AnnAssign": ("value", "target")}
_HEADS.update(AsyncFunctionDef=_HEADS["FunctionDef"], AsyncFor=_HEADS["For"],
              AsyncWith=_HEADS["With"])
if not hasattr((lambda: 0).__code__, "co_positions"):
    # All but the first iterable is code of its own, which is called.
    _HEADS.update(Lambda=("args",), GeneratorExp=("generators",), ListComp=("generators",),
                  SetComp=("generators",), DictComp=("generators",), comprehension=("iter",))


def _calls_of(node):
    """The calls in it, in the order in which they are made."""
    kind = type(node).__name__
    if kind == "Dict":
        children = [one for pair in zip(node.keys, node.values) for one in pair]
    else:
        children = []
        for name in _HEADS.get(kind, getattr(node, "_fields", ())):
            child = getattr(node, name, None)
            children += child if type(child) is list else [child]
        if "generators" in _HEADS.get(kind, ()):
            children = children[:1]
    calls = [call for child in children for call in _calls_of(child)]
    if kind == "Await":  # where the coroutine is entered
        for call in calls:
            if call is node.value:
                call.awaited_at = node.col_offset
    return calls + [node] if kind == "Call" or "generators" in _HEADS.get(kind, ()) else calls


def _makes(call, position):
    """A chain of calls over several lines is at its last name, from 3.12 on."""
    line, end_line, column, end_column = position
    start = call.lineno, getattr(call, "awaited_at", call.col_offset)
    return end_column is not None and (end_line, end_column) == (
        call.end_lineno, call.end_col_offset) and (line, column) >= start


def _counted_calls(calls, code, lasti, first, last):
    made = _call_instructions(code, lasti, first, last)
    if code.co_name.startswith("<") and code.co_name != "<module>" or len(made) < len(calls):
        return []
    return [(call, [at, at + 6] if hasattr(call, "awaited_at") else [at])  # YIELD_FROM
            for call, at in zip(calls, made) if at > lasti and hasattr(call, "func")]


_CALLS = {131, 141, 142, 161}  # CALL_* in 3.7 to 3.10: Include/opcode.h


def _call_instructions(code, lasti, first, last):
    """Offsets of those around lasti that are of these lines. (The compiler may have
    written a `finally` or a loop's test twice.)"""
    def inside(at):
        return 0 <= at < len(code.co_code) and first <= line_at(code, at) <= last

    start = end = max(lasti, 0)
    while inside(start - 2):
        start -= 2
    while inside(end):
        end += 2
    return [at for at in range(start, end, 2) if code.co_code[at] in _CALLS]


def _as_target(call, number, lines):
    column = _characters(lines[call.lineno - 1], call.col_offset)
    target = {"id": number, "label": _dotted(call.func) + "()", "line": call.lineno,
              "column": column + 1}
    if hasattr(call, "end_lineno"):
        end = _characters(lines[call.end_lineno - 1], call.end_col_offset)
        text = lines[call.lineno - 1:call.end_lineno]
        text[-1] = text[-1][:end]
        text[0] = text[0][column:]
        label = " ".join(" ".join(text).split())
        target["label"] = label if len(label) <= 60 else label[:57] + "..."
        target.update(endLine=call.end_lineno, endColumn=end + 1)
    return target


def _dotted(node):
    if type(node).__name__ == "Attribute":
        return _dotted(node.value) + "." + node.attr
    return getattr(node, "id", "(...)")


def _characters(line, size):
    """How many are in so many bytes of UTF-8."""
    return len(line.encode()[:size].decode("utf-8", "replace"))


handlers["stepInTargets"] = step_in_targets
