# Data breakpoints: a thread that its client has suspended stops again where what is shown
# of a value is another, whatever function has changed that. While the thread continues
# each of its lines is looked at; while it makes a step they are not.
#
# A dataId is the number of a frame and an expression in it: nothing of the program's is
# kept for it.


class DataBreakpoint:
    def __init__(self, session, wanted):
        self.wanted = wanted
        self.id = 0
        self.hits = 0
        self.error = self.condition = self.count = None
        self.unseen = None  # why no thread stops for it now
        number, _, self.text = field(wanted, "dataId", str).partition(" ")
        self.frame = int(number) if number.isdigit() else 0
        self.ident = session.keys.get(self.frame, (0,))[0]
        try:
            compile(self.text.strip(), "<watch>", "eval", 0, True)
            if wanted.get("condition"):
                self.condition = expression(wanted["condition"], "<condition>")
            if wanted.get("hitCondition"):
                self.count = read_count(wanted["hitCondition"])
        except SyntaxError as error:
            self.error = "SyntaxError: " + str(error.msg)
        except ValueError as error:
            self.error = str(error)

    def is_as(self, other):
        return all(self.wanted.get(key) == other.wanted.get(key) for key in (
            "dataId", "condition", "hitCondition"))

    def described(self):
        why = self.error or self.unseen
        return {"id": self.id, "verified": why is None, **({} if why is None else {
            "message": why, "reason": "failed" if self.error else "pending"})}

    def is_seen(self, session, why):
        """Or why it is not."""
        before, self.unseen = self.unseen, why
        if before != why:
            speak(session, "breakpoint", reason="changed", breakpoint=self.described())
        return why is None

    def counts(self, session, frame):
        """Whether a change is one to stop at."""
        try:
            if self.condition is not None and not self.condition(frame):
                return False
        except Exception as error:  # it stops, as other breakpoints do
            speak(session, "output", category="console", output="the condition: %s: %s\n" % (
                type_name(type(error)), error))
        self.hits += 1
        return self.count is None or self.count(self.hits)


class DataWatch:
    """Of one thread, from when it continues to when it stops."""

    reason = "data breakpoint"

    def __init__(self, session, breakpoints, shown):
        self.session = session
        self.hits = ()
        self.watches = [(one, Watch(one.text, shown[depth])) for one, depth in breakpoints
                        if depth < len(shown)]

    def is_wanted(self):
        return any(one in self.session.data_breakpoints for one, _ in self.watches)

    def change(self, frame):
        for one, watch in self.watches:
            if one.unseen is None and one in self.session.data_breakpoints:
                description, own = watch.change(frame), watch.frame_above(frame)
                if own is None:
                    one.is_seen(self.session, _RETURNED)
                if description is not None and (own is None or one.counts(self.session, own)):
                    self.hits = (one.id,)
                    return description
        return None


def set_data_breakpoints(session, arguments):
    """All of them. One that was there already keeps its number and its hits."""
    news, olds = [], list(session.data_breakpoints)
    for wanted in field(arguments, "breakpoints", list):
        if type(wanted) is not dict:
            raise Failure("bad-message", "a breakpoint must be an object")
        new = DataBreakpoint(session, wanted)
        old = next((old for old in olds if old.is_as(new)), None)
        if old is not None:
            olds.remove(old)
            new = old
        else:
            new.id = next_breakpoint_id()
        new.unseen = why_unseen(session, new.frame)
        news.append(new)
    session.data_breakpoints = news
    for ident, plan in list(_plans.items()):
        if plan.session is session and type(plan.watch) is DataWatch and (
                not plan.watch.is_wanted()):
            give_up_plan(session, ident)
    return {"breakpoints": [new.described() for new in news]}


_RETURNED = "its function has returned, or is suspended"


def why_unseen(session, number):
    """None: the lines of that frame's thread can be looked at once it continues."""
    ident = session.keys.get(number, (0,))[0]
    if not is_live(session, session.keys.get(number)):
        return _RETURNED
    if ident not in session.standing:
        return "its thread runs: pause it first"
    return None


def data_breakpoint_info(session, arguments):
    name, number = field(arguments, "name", str), arguments.get("frameId") or 0
    text = name
    if arguments.get("variablesReference"):
        kind, value, whole, number = references_of(session).find(session, arguments)
        text = _expression_of(session, kind, value, whole, number, name)
    why = why_unseen(session, number) if text and number else (
        "only what an expression reads in a frame can be watched, and no property")
    return {"dataId": None if why else "%d %s" % (number, text),
            "description": why or text, "accessTypes": ["write"], "canPersist": False}


def _expression_of(session, kind, value, whole, frame, name):
    """That of a child, by its label; "": it has none, or is a property."""
    if kind == "lazy" or kind == "Return value" or not frame:
        return ""
    if kind != "value":
        children = _in_scope(session, frame, kind)
    elif name.isdecimal() and len(name) < 19:
        children = elements(value, whole, int(name), int(name) + 1)
    else:
        children = attributes(value, whole, {})
        children += elements(value, whole, 0, min(element_count(value), 20000))
    return next((text for label, text, item in children
                 if label == name and type(item) is not Lazy), "")


def continue_watching(session, arguments):
    """continue, of a thread that has some."""
    ident = _ident_of(session, field(arguments, "threadId", int))
    standing, watched = session.standing.get(ident), []
    for one in session.data_breakpoints:
        if one.ident == ident and one.error is None and standing is not None and (
                one.is_seen(session, why_unseen(session, one.frame))):
            watched.append((one, session.keys[one.frame][1]))
    if not watched:
        return go_on(session, arguments)
    give_up_plan(session, ident)
    standing.plan = "until", 0, None, False, lambda shown: DataWatch(session, watched, shown)
    goes_on(session, ident)
    return {"allThreadsContinued": False}


need("variables")
handlers.update({"dataBreakpointInfo": data_breakpoint_info, "continue": continue_watching,
                 "setDataBreakpoints": set_data_breakpoints})
