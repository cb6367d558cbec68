# Answers the client: one DAP message in, framed messages out. The last file of
# the core proper: handle() and forget() are what the bootstrap calls.
#
# Compiling is paid with the program's GIL held, so what few sessions need comes
# in parts, as text or compiled already (scripts/assemble-agent), run by need().


def handle(session, message):
    """Zero or more framed DAP messages in answer to one message body, as
    bytes. Never raises."""
    try:
        state = _sessions.get(session)
        if state is None:
            state = _sessions[session] = Session(session)
        state.runs_on(_ident())
        return _answer(state, message)
    except BaseException:
        return _LAST_RESORT


def forget(session):
    """Drops what is kept for a session that has ended."""
    state = _sessions.pop(session, None)
    if state is not None:
        for end in ("end_coordination", "end_process_groups", "end_spawning", "end_stops"):
            try:
                if end in globals():
                    globals()[end](state)
            except BaseException:  # a signal's handler: the other is to be done, too
                pass


class Session:
    """What one client's requests share: the sequence number of our messages,
    the frames that it knows by number, the output of its evaluation."""

    MAX_FRAMES = 20000

    def __init__(self, index):
        self.index = index  # by which the bootstrap knows it
        self.ident = 0  # of its executor
        self.given_up = set()  # of those that it had before, while they run
        self.sequence = 0
        self.numbers = {}  # key of a frame -> number; oldest first
        self.keys = {}  # number -> (ident, depth from the outermost, fingerprint)
        self.extras = {}  # key of a frame -> names that only our expressions have (meanings.py)
        self.next_number = 1
        self.references = None  # what can be expanded (variables.py)
        self.stacks = None  # without a GIL, of all threads while a request lasts
        self.has_device = False  # its thread has the program's GPU (tensors.py)
        self.claims = {}  # number -> ident of a thread that is to be held (engine.py)
        self.standing = {}  # ident -> Parked, of one that is
        self.limited = False  # its threads are suspended for a limited time (coordination.py)
        self.coordinator = None  # permits each stop (coordination.py)
        self.just_my_code = False  # steps pass by libraries (stepping.py)
        self.data_breakpoints = []  # (data_breakpoints.py)

    def runs_on(self, ident):
        """Another thread than before, if that is in an expression that was given up
        (bootstrap/give_up.c): it will find itself cancelled."""
        if ident != self.ident:
            if self.ident:
                self.given_up.add(self.ident)
            self.ident = ident
            self.has_device = False

    def frame_number(self, key):
        number = self.numbers.get(key)
        if number is None:
            if len(self.numbers) >= self.MAX_FRAMES:
                oldest = next(iter(self.numbers))
                del self.keys[self.numbers.pop(oldest)]
                self.extras.pop(oldest, None)
            number = self.numbers[key] = self.next_number
            self.keys[number] = key
            self.next_number += 1
        return number

    def frame_message(self, type, **message):
        self.sequence += 1
        return encode_framed({"type": type, "seq": self.sequence, **message})


class Failure(Exception):
    """Ends a request: Failure(id, message, type, traceback)."""


def field(arguments, name, kind, *default):
    """arguments[name], checked to be of type kind. Failure bad-message."""
    value = arguments.get(name)
    if value is None and default:
        return default[0]
    if type(value) is not kind:
        raise Failure("bad-message", "%s must be of type %s" % (name, kind.__name__))
    return value


def need(part):
    """Runs a later part of the core, the first time that it is needed."""
    code = parts[part]
    if type(code) is int:
        exec(_part(code), globals())
    elif code is not None:
        run_source(code)
    parts[part] = None


def run_source(source):
    exec(compile(source, "<hangdbg>", "exec", 0, True), globals())


def means_more(session, text, keep=False):
    """Whether names in the text may mean more than the frame's (meanings.py). Failure
    needs-part: the client is to send those, and to ask again."""
    if not (keep or session.extras or hasattr(sys, "__hangdbg_names_1__") or any(map(
            text.count, ("$_", "super", "import *"))) or "__" in text and _has_private(text)):
        return False
    if "meanings" not in _sent_parts:
        raise Failure("needs-part", "owner meanings")
    forget_extras(session)
    return True


def _has_private(text):
    """Whether one of its words begins with "__" and does not end with it, or is the cell
    __class__. Others, as __import__, are in many texts."""
    text = text.replace(".__class__", "")
    words = "".join([one if one.isalnum() or one == "_" else " " for one in text]).split()
    return any([one[:2] == "__" != one[-2:] or one == "__class__" for one in words])


def told(error, id):
    """explain(error, id); or less, where an audit hook of the program's, or want of
    memory, keeps us from that part."""
    try:
        need("errors")
        return explain(error, id)
    except Cancelled:
        raise
    except BaseException:
        pass
    name, lines = described(error)
    return id, " ".join(lines) + raised_by(error), name, ()


def described(error):
    """The type of an exception, and the lines that say what it is. Runs its __str__."""
    kind = type(error)
    name = type_name(kind, True)
    if type_module(kind) not in ("builtins", "__main__"):
        name = "%s.%s" % (type_module(kind), name)
    try:
        text = str(error.msg if issubclass(kind, SyntaxError) else error)
    except Cancelled:
        raise
    except BaseException:
        text = "<exception str() failed>"
    return name, (name + ": " + text if text else name)[:10000].splitlines()


def raised_by(error):
    """The code that raised it, if not ours: an audit hook, where we have called
    nothing else of the program's. "" where one forbids us to see that."""
    code, trace = None, error.__traceback__
    try:
        while trace is not None:
            code, line, trace = trace.tb_frame.f_code, trace.tb_lineno, trace.tb_next
    except BaseException:
        return ""
    return "" if code is None or is_made_here(code) else " (raised by %s, %s:%s)" % (
        code.co_name, code.co_filename, line)


def is_made_here(code):
    """Of the agent, or of what the client has typed."""
    return code.co_filename in ("<hangdbg>", "<expression>")


def hello(session, arguments):
    return {"python": "%d.%d.%d" % sys.version_info[:3],
            "implementation": sys.implementation.name, "pid": process_id(),
            "mainThreadId": main_thread_id(session), "executable": sys.executable or "",
            "waits": any_waits()}


def any_waits():
    """Whether a thread of the program waits for a debugger (python/hangdbg)."""
    module = sys.modules.get("hangdbg")
    names = module.__dict__ if type(module) is type(sys) else {}
    return process_id() in list(names.get("_waiting", {}).values()) if (
        names.get("__hangdbg__") is True) else False


def load(session, arguments):
    """Runs a file of the agent that is no part of the core; it enters its
    commands in handlers. Once: all clients share it, and what it knows."""
    name = field(arguments, "name", str)
    source = field(arguments, "source", str)
    if name not in _sent_parts:
        run_source(source)
        _sent_parts.add(name)
    return {}


# A command, and its function or the part that will enter that here.
handlers = {"hangdbg/hello": hello, "hangdbg/load": load, "threads": list_threads,
            "stackTrace": stack_trace, "scopes": "variables", "variables": "variables",
            "setVariable": "assignments", "setExpression": "assignments",
            "hangdbg/arguments": "variables", "evaluate": evaluate,
            "disconnect": lambda session, arguments: {}}
parts = {}
_sent_parts = set()
_sessions = {}
_set_cancelled(Cancelled)


def _answer(state, message):
    request = {"seq": 0, "command": ""}
    try:
        request = _parse(message)
        command = request["command"]
        if type(handlers.get(command)) is str:
            need(handlers[command])
        if command not in handlers:
            raise Failure("bad-message", "unknown command " + command[:100])
        handler, arguments = handlers[command], field(request, "arguments", dict, {})
        number = arguments.get("frameId")
        ident = state.keys.get(number, (0,))[0] if type(number) is int else 0
        if ident in state.standing:
            body = state.standing[ident].run(handler, state, arguments)
        else:
            body = handler(state, arguments)
        return state.frame_message("response", request_seq=request["seq"], success=True,
                                   command=command, body=body)
    except Failure as failure:
        return _error(state, request, *failure.args)
    except BaseException as error:
        return _error(state, request, *told(error, "agent-failed"))
    finally:
        if state.ident == _ident():
            state.stacks = None
        else:
            state.given_up.discard(_ident())


def _parse(message):
    """The request in a message; its seq and command are there and typed."""
    try:
        request = decode(message.decode())
    except (ValueError, IndexError) as error:  # UnicodeDecodeError is a ValueError
        raise Failure("bad-message", "no JSON: %s" % error)
    if type(request) is not dict:
        raise Failure("bad-message", "the message is no object")
    field(request, "command", str)
    request["seq"] = field(request, "seq", int, 0)
    return request


def _error(state, request, id, text, type="", traceback=()):
    return state.frame_message(
        "response", request_seq=request["seq"], success=False,
        command=request["command"], message=text,
        body={"error": {"id": 1, "format": text, "showUser": False},
              "hangdbg": {"id": id, "type": type, "traceback": traceback}})


# Out of memory or of stack: what can be said without either.
_LAST_RESORT = _error(Session(-1), {"seq": 0, "command": ""}, "agent-failed",
                      "the agent is out of memory or stack")
