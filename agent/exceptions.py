# Exceptions at which threads of the program stop: where they are raised; where
# they were not caught; where they leave the user's own code.
#
# Whether an exception will be caught is not known beforehand. So where it was not,
# the functions that it has left are shown by its traceback, which keeps them.

_FILTERS = ("raised", "uncaught", "userUnhandled")
_BREAK_MODES = {"raised": "always", "uncaught": "unhandled",
                "userUnhandled": "userUnhandled"}
# These end generators and loops: not what the user looks for.
_USUAL = (StopIteration, StopAsyncIteration, GeneratorExit)


def at_exception(kind, frame, error, ends=False):
    """On a thread of the program. What it raises is the program's. ends: the program ends
    with it."""
    raised = None
    try:
        ident = _ident()
        if is_usual(error) or is_ours(ident) or (
                isinstance(error, SystemExit) and kind != "raised" and not ends):
            return
        for session, filters in list(_filters.items()):
            if raised is None and kind in filters and not is_dormant(session) and (
                    kind != "raised" or _is_first_shown(session, frame, error)):
                wanted = wants_exception(session, filters[kind], frame, error)
                if wanted:
                    raised = stand_here(
                        session, ident, "exception", error=(error, kind),
                        description=_one_line(error), text=type_name(type(error)),
                        **({"hitBreakpointIds": [wanted.id]} if type(wanted) is Rule else {}))
    except BaseException as failure:
        if is_programs(failure):
            raise
    if raised is not None:
        raise raised


def is_usual(error):
    return isinstance(error, _USUAL)


def wants_exception(session, condition, frame, error):
    """A condition is an expression, in which __exception__ is the exception; or
    classes. Or there are rules: the one that chooses it."""
    if condition is None:
        return not (isinstance(error, SystemExit) and _is_success(error))
    if type(condition) is tuple:
        return _chosen_by(error, *condition)
    try:
        value = eval(condition, {**frame.f_globals, **locals_in(frame),
                                 "__exception__": error})
    except Exception as failure:
        speak(session, "output", category="console", output="the condition: %s\n" %
              _one_line(failure))
        return True
    if isinstance(value, (type, tuple)):
        return isinstance(error, value)
    return bool(value)


def _is_success(error):
    code = SystemExit.__dict__["code"].__get__(error)
    return code is None or issubclass(type(code), int) and int.__eq__(code, 0) is True


def _is_first_shown(session, frame, error):
    """Of the functions that it passes. Before the first line of a program that `launch`
    starts, and where the interpreter ends, none is."""
    if _is_passed_by(session, frame.f_code):
        return False
    trace = error.__traceback__.tb_next
    while trace is not None:
        if not _is_passed_by(session, trace.tb_frame.f_code):
            return False
        trace = trace.tb_next
    main, is_started = sys.modules.get("__main__"), False
    names = main.__dict__ if type(main) is type(sys) else None
    while frame.f_back is not None:
        is_started = is_started or frame.f_globals is names
        frame = frame.f_back
        if frame.f_code.co_filename == "<hangdbg run>":
            return is_started
    return not (frame.f_code.co_name in _AT_END and is_library(frame.f_code))


# In threading, weakref, logging, concurrent.futures.thread, multiprocessing.util.
_AT_END = ("_shutdown", "_exitfunc", "shutdown", "_python_exit", "_exit_function")


def _is_passed_by(session, code):
    """What imports, which uses exceptions to find its way; with justMyCode libraries."""
    return code.co_filename.startswith(
        ("<frozen importlib", "<frozen zipimport", "<hangdbg")) or (
            session.just_my_code and is_library(code))


def _one_line(error):
    need("errors")
    return explain(error)[1]


def set_exception_breakpoints(session, arguments):
    wanted, answers = {}, []
    options = field(arguments, "filterOptions", list, [])
    rules = [Rule(session, one) for one in field(arguments, "exceptionOptions", list, [])]
    for one in [{"filterId": name} for name in field(arguments, "filters", list)] + options:
        kind, text = field(one, "filterId", str), one.get("condition")
        answer = {"verified": kind in _FILTERS}
        if not answer["verified"]:
            answer["message"] = "no filter %s: %s" % (kind[:100], ", ".join(_FILTERS))
        else:
            cost = cost_of_exceptions(kind)
            answer.update({"message": cost} if cost else {})
            try:
                wanted[kind] = compile(text.strip(), "<condition>", "eval", 0,
                                       True) if text else None
            except SyntaxError as error:
                answer = {"verified": False, "message": str(error)}
        answers.append(answer)
    for kind in _FILTERS:
        if any(rule.mode == _BREAK_MODES[kind] for rule in rules):
            wanted[kind] = _BREAK_MODES[kind], rules
    answers += [rule.described() for rule in rules]
    _filters.pop(session, None)
    if wanted:
        _filters[session] = wanted
    try:
        watch()
    except BaseException:
        _filters.pop(session, None)
        raise
    return {"breakpoints": answers}


# ---- exceptionOptions: names in a tree, each with when to stop

class Rule:
    """One of the client's. What it says of an exception: when to stop for it."""

    def __init__(self, session, option):
        self.mode = field(option, "breakMode", str)
        self.names = None  # all; else those of classes, with or without their module
        self.negate = False  # all but these
        for segment in field(option, "path", list, []):
            own = field(segment, "names", list)
            if "Python Exceptions" not in own:  # the category, of which there is one
                self.names, self.negate = own, field(segment, "negate", bool, False)
        old = next((old for condition in _filters.get(session, {}).values()
                    if type(condition) is tuple for old in condition[1] if old.is_as(self)), None)
        self.id = next_breakpoint_id() if old is None else old.id

    def is_as(self, other):
        return (self.mode, self.names, self.negate) == (other.mode, other.names, other.negate)

    def is_of(self, names):
        return self.names is None or self.negate != any(one in names for one in self.names)

    def described(self):
        kind = next((kind for kind in _FILTERS if _BREAK_MODES[kind] == self.mode), None)
        cost = cost_of_exceptions(kind) if kind else None
        return {"id": self.id, "verified": True, **({"message": cost} if cost else {})}


def _chosen_by(error, mode, rules):
    """The last rule that the exception is under, if that has this mode."""
    names = {name for kind in type.__dict__["__mro__"].__get__(type(error))
             for name in (type_name(kind), "%s.%s" % (type_module(kind), type_name(kind, True)))}
    found = next((rule for rule in rules[::-1] if rule.is_of(names)), None)
    return found if found is not None and found.mode == mode and (
        found.names is not None or not (
            isinstance(error, SystemExit) and _is_success(error))) else None


def exception_info(session, arguments):
    ident = _ident_of(session, field(arguments, "threadId", int))
    standing = session.standing.get(ident)
    if standing is None or standing.error is None:
        raise Failure("bad-message", "the thread has not stopped for an exception")
    error, kind = standing.error

    def describe():
        details = _details(error, 5)
        return {"exceptionId": details["fullTypeName"], "description": details["message"],
                "breakMode": _BREAK_MODES[kind], "details": details}

    return run_user_code(session, describe)


def list_exceptions(session, arguments):
    """That which the thread has stopped for, and what belongs to it; `show`: from now on
    the stack has the functions that this one has left."""
    ident = _ident_of(session, field(arguments, "threadId", int))
    standing = session.standing.get(ident)
    if standing is None or standing.error is None:
        raise Failure("bad-message", "the thread has not stopped for an exception")
    if standing.errors is None:
        # An exception may have a class whose attributes are the program's code.
        standing.errors = run_user_code(session, lambda: _related(standing.error[0]))
    wanted = field(arguments, "show", int, -1)
    if wanted >= len(standing.errors):
        raise Failure("bad-message", "no exception has the number %d" % wanted)
    if wanted >= 0:
        chosen = standing.errors[wanted][1]
        if chosen.__traceback__ is None:
            raise Failure("bad-message", "exception %d has left no function" % wanted)
        standing.error = chosen, "uncaught"
        session.stacks = None
    shown = standing.error[0]
    return run_user_code(session, lambda: {"exceptions": [
        {"text": _one_line(error), "depth": depth, "shown": error is shown}
        for depth, error in standing.errors]})


def _related(error):
    """[(in how many groups it is, exception)]: what it came of before it, as in pdb,
    and members after their group."""
    chain, found = [], []
    while error is not None and len(chain) < 100 and all(error is not one for one in chain):
        chain.append(error)
        cause = error.__cause__
        error = error.__context__ if cause is None and not error.__suppress_context__ else cause
    left = [(0, one) for one in chain]
    group = __builtins__.get("BaseExceptionGroup")
    while left and len(found) < 1000:
        depth, one = left.pop()
        found.append((depth, one))
        if group is not None and issubclass(type(one), group):
            left += [(depth + 1, member) for member in reversed(
                group.exceptions.__get__(one)) if depth < 20]
    return found


def _details(error, depth):
    need("errors")
    _, line, name, trace = explain(error, most=1000)
    inner = error.__cause__
    if inner is None and not error.__suppress_context__:
        inner = error.__context__
    details = {"message": line.partition(": ")[2] or line, "typeName":
               type_name(type(error)), "fullTypeName": name,
               "stackTrace": "\n".join(trace)}
    if inner is not None and depth:
        details["innerException"] = [_details(inner, depth - 1)]
    return details


handlers.update({"setExceptionBreakpoints": set_exception_breakpoints,
                 "exceptionInfo": exception_info, "hangdbg/exceptions": list_exceptions})
