# What names in typed text mean where that takes more than the frame's own: names that
# expressions made in other frames or sessions, $_frame and its like, `self.__name` and
# super() (owner.py), `from m import *` beside functions. Sent when the first text needs it
# (means_more in dispatch.py). docs/decisions/0092


def run_with_meanings(session, place, text, extra, keep=False):
    """As _run; keep: what the text binds is there in later sessions."""
    text, given = _with_convenience_names(session, place, text)
    try:
        code = compile(text, "<expression>", "eval", 0, True)
    except SyntaxError:
        code = None
    names = sys.modules["__main__"].__dict__ if place is None else place[3]
    others = names_elsewhere(session, names)
    if place is None or _is_module(place):
        return _run_in_module(code, text, names, others, given)
    local = {**others, **locals_of(place), **extra, **given}
    owner = owner_of(place, local) if _may_be_of_class(code, text) else None
    if code is not None and owner is None and ":=" not in text and not has_functions(code):
        return eval(code, names, local), False
    need("statements")
    body = _read(text)
    if owner is not None:
        hidden = put_in_class(body, owner, local, names)
        local.update(hidden)
    mine = {**others, **extra}
    try:
        return _execute_parts(body, place, names, local, mine)
    finally:
        _remember(session, others, extra, mine, keep)


def _run_in_module(code, text, names, others, given):
    if code is None:
        need("statements")
        return _execute_parts(_read(text), None, names, names, {})
    if given or any(name in others for name in code.co_names):
        return eval(code, names, {**others, **given}), False
    return eval(code, names, names), False


def _may_be_of_class(code, text):
    """Whether it may mean something else inside of a class."""
    if code is None or has_functions(code):
        return "__" in text or "super" in text
    return any(name in ("super", "__class__") or is_private(name) for name in code.co_names)


def _execute_parts(body, place, names, local, extra):
    """execute(), one part after another: no function may import *, so such an import is a
    part of its own."""
    parts = [[]]
    for node in body:
        if type(node).__name__ == "ImportFrom" and node.names[0].name == "*":
            parts += [[node], []]
        else:
            parts[-1].append(node)
    if len(parts) > 1 and not _outer_scope(list(body))[0] & _AWAITS:
        _compile(body, None)  # a SyntaxError comes before anything is run
    for part in parts[:-1]:
        execute(part, place, names, local, extra)
    value, statement = execute(parts[-1], place, names, local, extra)
    return value, statement or len(parts) > 1


# ---- pdb's convenience variables

def _with_convenience_names(session, place, text):
    """The text as in Python, and a dict of the names that this puts in it."""
    given = {}
    if "$_" in text and not _is_python(text):  # else it is in a string
        known = _convenience_values(session, place)
        for word, name in _CONVENIENCE.items():
            if word in text:
                if word not in known:
                    raise NameError(word + " has no value here")
                given[name] = known[word]
                text = text.replace(word, name)
    return text, given


_CONVENIENCE = {"$_frame": "__frame__", "$_exception": "__exception__", "$_retval": "__return__"}


def _convenience_values(session, place):
    found = {}
    if place is None:
        return found
    found["$_frame"] = place[0]
    for ident, standing in list(session.standing.items()):
        if any(one[0] is place[0] for one in _stack(session, ident)[0]):
            if standing.error is not None:
                found["$_exception"] = standing.error[0]
            if standing.returned:
                found["$_retval"] = standing.returned[-1][1]
    return found


def _is_python(text):
    try:
        compile(text, "<expression>", "exec", 0, True)
    except SyntaxError:
        return False
    return True


# ---- names that only expressions made
#
# session.extras has them by the key of their frame; None: what outlives its frame. Those to
# keep are in sys, which outlives us.

def forget_extras(session):
    """Of frames that have returned: what may outlive them is the session's from now on."""
    for key in [key for key in session.extras if key and not is_live(session, key)]:
        ended = session.extras.pop(key)
        left = {name: value for name, value in ended.items() if _holds_nothing(value)}
        if left:
            session.extras[None] = {**session.extras.get(None, {}), **left}


KEPT_NAMES = "__hangdbg_names_1__"


def names_elsewhere(session, names):
    """What expressions bound in other frames of this session, or were to keep in an earlier
    one. It hides no global of these names, none of the frame's, no builtin."""
    known = dict(sys.__dict__.get(KEPT_NAMES, {}))
    for extra in [session.extras.get(None, {})] + list(session.extras.values()):
        known.update(extra)
    builtin = _builtins_of(names)
    return {name: known[name] for name in known if name not in names and name not in builtin}


def _builtins_of(names):
    """Where a frame with these globals looks behind them. A program may have taken the
    module out of sys.modules."""
    found = dict.get(names, "__builtins__")
    if type(found) is type(sys):
        found = found.__dict__
    return found if type(found) is dict else {}


def visible_names(session, arguments):
    """frame_names() and those from elsewhere; and owner_of() the frame."""
    scopes = frame_names(session, arguments)
    scopes.append(names_elsewhere(session, scopes[-2]))
    if arguments.get("frameId") is None:
        return scopes, None
    return scopes, owner_of(find_frame(session, arguments), scopes[0])


def _remember(session, others, extra, mine, keep):
    """mine: what others and extra hold, after code has run in the frame."""
    kept = dict(sys.__dict__.get(KEPT_NAMES, {}))
    for name, value in mine.items():
        if name in extra and extra[name] is value or (
                name not in extra and others.get(name, extra) is value):
            continue
        extra[name] = value
        for elsewhere in list(session.extras.values()):
            if name in elsewhere:
                elsewhere[name] = value
        if not _holds_nothing(value):
            session.extras.get(None, {}).pop(name, None)
        if keep:
            kept[name] = value
    for name in [name for name in {**others, **extra} if name not in mine]:
        for elsewhere in [extra] + list(session.extras.values()):
            elsewhere.pop(name, None)
        if keep:
            kept.pop(name, None)
    if keep and kept:
        sys.__dict__[KEPT_NAMES] = kept
    elif keep:
        sys.__dict__.pop(KEPT_NAMES, None)


def _holds_nothing(value):
    """Whether to keep it keeps no object of the program alive: what else an expression
    bound goes when its frame returns."""
    kind = type(value)
    if kind is type(_remember):
        return value.__closure__ is None is value.__defaults__ and (
            value.__code__.co_filename == "<expression>" and not value.__kwdefaults__)
    if kind is type(len):
        return type(value.__self__) is type(sys)
    return any(kind is one for one in (type(None), bool, int, float, str, bytes, type(sys)))
