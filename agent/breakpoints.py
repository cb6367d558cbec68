# Breakpoints: on lines and on functions; with a condition, a count of hits, a
# message to print instead of stopping.
#
# Code is found by the name of its file as the interpreter knows it; one that is
# relative matches the end of a path. No file is opened, on any thread.

_KINDS = {"==": lambda hits, n: hits == n, ">=": lambda hits, n: hits >= n,
          "<=": lambda hits, n: hits <= n, ">": lambda hits, n: hits > n,
          "<": lambda hits, n: hits < n, "%": lambda hits, n: hits % n == 0}
_next_id = 1


class Breakpoint:
    """On a line of the file `path`, or on the functions of that `name`."""

    def __init__(self, session, path, name, wanted):
        self.session = session
        self.path = path
        self.name = name
        self.wanted = wanted
        self.id = 0
        self.line = None  # where it really is, once such code has been seen
        self.file = None
        self.codes = {}  # id -> code that has that line
        self.in_graph = False  # they have it, and other code is run in their place
        self.is_new = True  # its client has not been answered yet
        self.hits = 0
        self.live = session.coordinator is None  # else that one lets it (coordination.py)
        self.error = None
        self.condition = self.count = self.message = self.after = None
        self.seen = []  # of what it waits for (process_groups.py)
        try:
            self._read()
        except SyntaxError as error:
            self.error = "SyntaxError: " + str(error.msg)
        except ValueError as error:
            self.error = str(error)

    def _read(self):
        asked = self.wanted.get("line", 0), self.wanted.get("condition")
        if self.name is None and type(asked[0]) is not int:
            raise Failure("bad-message", "line must be of type int")
        if asked[1]:
            self.condition = expression(asked[1], "<condition>")
        if self.wanted.get("hitCondition"):
            self.count = read_count(self.wanted["hitCondition"])
        message = self.wanted.get("logMessage") or self.wanted.get("hangdbg/logMessage")
        if message:
            self.message = read_message(message)
        self.after = self.wanted.get("hangdbg/after")

    def reached(self, frame):
        """Whether the thread is to stop here."""
        if not self.live:
            return False
        if self.after is not None:
            if not is_due(self.after, self.seen):
                return False
            self.after = None
        try:
            if self.condition is not None and not self.condition(frame):
                return False
        except Exception as error:
            # It stops, as pdb does: the user does not want to miss the place.
            _say(self.session, frame, "the breakpoint's condition: %s: %s" % (
                type_name(type(error)), error))
        self.hits += 1
        ignored = self.wanted.get("hangdbg/ignore") or 0
        if self.hits <= ignored or self.count and not self.count(self.hits):
            return False
        if self.message is None:
            return True
        _say(self.session, frame, "".join(
            part if type(part) is str else _text_in(frame, part) for part in self.message))
        return False

    def described(self):
        body = {"id": self.id, "verified": self.error is None and self.line is not None,
                "hangdbg/hits": self.hits}
        if self.path is not None:
            path = self.path if self.path.startswith("/") else self.file or self.path
            body["source"] = {"name": path[path.rfind("/") + 1:], "path": path}
            body["line"] = self.line or self.wanted["line"]
        if self.error is not None:
            body.update(message=self.error, reason="failed")
        elif self.line is None:
            body.update(message="no such code has run yet", reason="pending")
        elif not self.live:
            body.update(verified=False, reason="pending", message=DORMANT if is_dormant(
                self.session) else "in a moment: all ranks are to have it")
        self.in_graph = _is_in_graph(self)
        if self.in_graph:
            body.update(verified=False, reason="pending", message=(
                "torch.compile runs this line in a graph: it stops here only if that breaks here"))
        return body

    def is_as(self, other):
        """Whether they differ in nothing that tells one from the other."""
        return all(self.wanted.get(key) == other.wanted.get(key) for key in (
            "line", "name", "condition", "hitCondition", "logMessage", "hangdbg/path",
            "hangdbg/after", "hangdbg/logMessage"))

    def becomes(self, old):
        self.id, self.hits, self.line, self.file = old.id, old.hits, old.line, old.file
        self.codes, self.in_graph = old.codes, old.in_graph
        self.after, self.seen, self.live = old.after, old.seen, old.live


def read_count(text):
    """"3", "== 3", ">= 3", "% 3"... as what tells whether so many hits count."""
    text = text.strip()
    kind = next((kind for kind in ("==", ">=", "<=", ">", "<", "%")
                 if text.startswith(kind)), "")
    digits = text[len(kind):].strip()
    if not digits.isdigit() or kind == "%" and int(digits) == 0:
        raise ValueError("no count of hits: %s (3, > 3, >= 3, %% 3)" % text[:100])
    return lambda hits, number=int(digits): _KINDS[kind or "=="](hits, number)


def read_message(text):
    """The text, and code for what is in braces; doubled, they are braces."""
    parts, at = [""], 0
    while at < len(text):
        if text[at:at + 2] in ("{{", "}}"):
            parts[-1] += text[at]
            at += 2
        elif text[at] == "{":
            depth, end = 1, at + 1
            while end < len(text) and depth:
                depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(
                    text[end], 0)
                end += 1
            if depth:
                raise ValueError("a brace is not closed: " + text[at:at + 100])
            parts += [expression(text[at + 1:end - 1], "<message>"), ""]
            at = end
        else:
            parts[-1] += text[at]
            at += 1
    return parts


def expression(text, name):
    """What gives its value in a frame, on the frame's own thread; it binds no name
    there."""
    code = compile(text.strip(), name, "eval", 0, True)
    if has_functions(code):
        return lambda frame: eval(code, {**frame.f_globals, **locals_in(frame)})
    if sys.version_info < (3, 13) or ":=" in text or "(" in text:
        return lambda frame: eval(code, frame.f_globals, locals_in(frame))
    # A view of the frame, which nothing here writes to.
    return lambda frame: eval(code, frame.f_globals, frame.f_locals)


def locals_in(frame):
    if sys.version_info >= (3, 13) or not frame.f_code.co_flags & 1:
        return dict(frame.f_locals)
    return _locals_of(frame)


def _text_in(frame, value):
    try:
        return str(value(frame))
    except Exception as error:
        return "{%s: %s}" % (type_name(type(error)), error)


def _say(session, frame, text):
    speak(session, "output", category="console", output=text[:3000] + "\n",
          source=source_of(frame.f_code), line=frame.f_lineno)


# ---- which code has them

def lines_of(code):
    """{line: [breakpoint]}; empty for most."""
    found = _lines.get(id(code))
    if found is not None:
        return found[1]
    lines = {}
    for breakpoint in _breakpoints:
        line = None
        if breakpoint.error is not None:
            continue
        if breakpoint.name is not None:
            if _is_called(code, breakpoint.name, breakpoint.wanted.get("hangdbg/path")):
                line = _first_line(code)
        elif _is_in(code, breakpoint.path):
            line = _line_at(code, breakpoint.wanted["line"])
        if line is not None:
            lines.setdefault(line, []).append(breakpoint)
            breakpoint.codes[id(code)] = code
            if breakpoint.line is None:
                breakpoint.line, breakpoint.file = line, code.co_filename
                _tell_changed(breakpoint)
            elif breakpoint.in_graph:
                _tell_changed(breakpoint)
        elif breakpoint.line is not None and not breakpoint.in_graph and (
                _is_in_graph(breakpoint)):
            _tell_changed(breakpoint)
    if lines:
        _lines[id(code)] = code, lines
    return lines


def _tell_changed(breakpoint):
    if not breakpoint.is_new:
        speak(breakpoint.session, "breakpoint", reason="changed",
              breakpoint=breakpoint.described())


def let_live(session, after):
    """Those that were not, and those that have not come to what they were let after."""
    for breakpoint in list(_breakpoints):
        if breakpoint.session is session and not (
                breakpoint.live and breakpoint.after is None):
            breakpoint.live, breakpoint.after, breakpoint.seen = True, after, []
            _tell_changed(breakpoint)


def give_up_breakpoints(session):
    """No client may be there to resume what stops."""
    for breakpoint in list(_breakpoints):
        if breakpoint.session is session:
            breakpoint.error = "the time for which ranks may be held was over: set it anew"
            _tell_changed(breakpoint)
    end_breakpoints(session)


def _is_in_graph(breakpoint):
    """Whether Dynamo runs code without that line, wherever it was seen."""
    entries = getattr(sys.modules.get("torch._C._dynamo.eval_frame"),
                      "_debug_get_cache_entry_list", None)
    if entries is None or breakpoint.line is None or breakpoint.name is not None:
        return False
    try:
        runs = [[entry.code for entry in entries(code)] or [code]
                for code in list(breakpoint.codes.values())]
        return not any(_line_at(code, breakpoint.wanted["line"])
                       for codes in runs for code in codes)
    except Exception:  # another version's
        return False


def reached(frame, line):
    """{session: [ids]} of the breakpoints that want the thread to stop."""
    here = lines_of(frame.f_code).get(line)
    hits = {}
    if here is None or is_ours(_ident()):
        return hits
    for breakpoint in here:
        if breakpoint in _breakpoints and breakpoint.reached(frame):
            hits.setdefault(breakpoint.session, []).append(breakpoint.id)
            if breakpoint.wanted.get("hangdbg/temporary"):
                _breakpoints.remove(breakpoint)
                _lines.clear()
                watch()
    return hits


def reason_of(ids):
    """In DAP's words."""
    named = [one.name is not None for one in _breakpoints if one.id in ids]
    return "function breakpoint" if named and all(named) else "breakpoint"


def _is_in(code, path):
    return is_same_file(code.co_filename, path)


def is_same_file(name, path):
    """A relative one is the end of the other."""
    if name == path:
        return True
    name, path = name[2 * name.startswith("./"):], path[2 * path.startswith("./"):]
    return bool(name and path) and (
        name == path or
        not name.startswith("/") and path.endswith("/" + name) or
        not path.startswith("/") and name.endswith("/" + path))


def _is_called(code, name, path):
    """By its qualified name (of code itself from 3.11 on), with or without its
    module; or in that file."""
    if code.co_filename == "<hangdbg>":
        return False
    qualified = getattr(code, "co_qualname", None)
    if path is not None:
        return code.co_filename == path and (
            qualified == name if qualified else code.co_name == name.rpartition(".")[2])
    qualified = (qualified or code.co_name).replace("<locals>.", "")
    if ("." + qualified).endswith("." + name):
        return True
    module = code.co_filename.rpartition(".py")[0].replace("/", ".")
    return ("." + module + "." + qualified).endswith("." + name)


def _first_line(code):
    lines = lines_in(code)
    return next((line for line in lines if line > code.co_firstlineno),
                code.co_firstlineno)


def _line_at(code, wanted):
    """The first of its lines from there on, unless that is inside another's."""
    lines = set(lines_in(code))
    lines.discard(0)
    if wanted in lines:
        # The line of a `def` is its outer code's.
        is_def = wanted == code.co_firstlineno and len(lines) > 1 and code.co_flags & 1
        return None if is_def else wanted
    if any(inner.co_firstlineno <= wanted <= _last_line(inner)
           for inner in code.co_consts if type(inner) is type(code)):
        return None
    if not lines or not code.co_firstlineno <= wanted <= max(lines):
        return None
    return min(line for line in lines if line > wanted)


def _last_line(code):
    return max(max(lines_in(inner), default=0) for inner in _nested(code))


def _codes_of_modules(wants):
    """Code of functions and classes that are in the modules of such files, also when
    none of it has run yet."""
    for function in _functions_of_modules(wants):
        yield from _nested(function.__code__)


def _functions_of_modules(wants):
    """Only what is in dicts is looked at."""
    for module in list(sys.modules.values()):
        names = object.__getattribute__(module, "__dict__") if type(
            module) is type(sys) else {}
        file = dict.get(names, "__file__")
        if type(file) is str and wants(file):
            yield from _functions_in(list(names.values()), dict.get(names, "__name__"), 3)


def _functions_in(values, module, depth):
    for value in values:
        kind = type(value)
        if kind in (staticmethod, classmethod):
            value = value.__func__
        elif kind is property:
            yield from _functions_in([value.fget, value.fset, value.fdel], module, depth)
        if type(value) is type(_functions_in):
            yield value
            wrapped = value.__dict__.get("__wrapped__")
            if depth and wrapped is not None:
                yield from _functions_in([wrapped], module, depth - 1)
        elif depth and issubclass(kind, type) and (
                type.__dict__["__dict__"].__get__(value).get("__module__") == module):
            yield from _functions_in(list(type.__dict__["__dict__"].__get__(value).values()),
                                     module, depth - 1)


def _nested(code):
    yield code
    for inner in code.co_consts:
        if type(inner) is type(code):
            yield from _nested(inner)


# ---- the requests

def set_breakpoints(session, arguments):
    path = field(field(arguments, "source", dict), "path", str)
    return _set_all(session, arguments.get("breakpoints") or [], path, lambda one: None)


def set_function_breakpoints(session, arguments):
    return _set_all(session, field(arguments, "breakpoints", list), None,
                    lambda one: field(one, "name", str))


def _set_all(session, wanted, path, name_of):
    """Those of this file, or those on functions. One that was there already keeps
    its number and its hits."""
    olds = [one for one in _breakpoints if one.session is session and one.path == path]
    news = []
    for one in wanted:
        if type(one) is not dict:
            raise Failure("bad-message", "a breakpoint must be an object")
        new = Breakpoint(session, path, name_of(one), one)
        old = next((old for old in olds if old.is_as(new)), None)
        if old is not None:
            olds.remove(old)
            new.becomes(old)
        else:
            new.id = next_breakpoint_id()
        news.append(new)
    kept = [one for one in _breakpoints if one.session is not session or one.path != path]
    _breakpoints[:] = kept + news
    _lines.clear()
    try:
        watch(codes_on_stacks(session).values())
    except Failure:
        _breakpoints[:] = kept
        raise
    if any(new.line is None for new in news):
        _look_for(news)
    for new in news:
        new.is_new = False
    if session.coordinator is not None:
        tell_coordinator(session.coordinator)
    return {"breakpoints": [new.described() for new in news]}


def next_breakpoint_id():
    global _next_id
    _next_id += 1
    return _next_id - 1


def _look_for(breakpoints):
    """In what has not run yet since we are here."""
    def wants(file):
        return any(one.line is None and one.error is None and (
            one.name is not None or is_same_file(file, one.path)) for one in breakpoints)

    for code in _codes_of_modules(wants):
        if lines_of(code):
            report(code)


def breakpoint_locations(session, arguments):
    path = field(field(arguments, "source", dict), "path", str)
    first = field(arguments, "line", int)
    last = field(arguments, "endLine", int, first)
    lines = set()
    codes = [code for code in codes_on_stacks(session).values() if _is_in(code, path)]
    for code in codes + list(_codes_of_modules(lambda file: is_same_file(file, path))):
        lines.update(line for line in lines_in(code) if first <= line <= last)
    return {"breakpoints": [{"line": line} for line in sorted(lines)]}


handlers.update({"setBreakpoints": set_breakpoints,
                 "setFunctionBreakpoints": set_function_breakpoints,
                 "breakpointLocations": breakpoint_locations})
