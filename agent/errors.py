# What an exception looks like to the client. A later part of the core
# (dispatch.py, need).


def explain(error, id="expression-failed"):
    """The arguments of the Failure that tells of an exception: id, one line, type
    and traceback lines. Runs its __str__."""
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
    summary = (name + ": " + text if text else name)[:10000]
    where = _syntax(error) if issubclass(kind, SyntaxError) else _traceback(error)
    return id, " ".join(summary.splitlines()), name, where + summary.splitlines()


def forget_our_frames(error):
    """An exception of the program's own that was raised again lives on: leaves
    on it the traceback that it had, not our frames and the names in them."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename in ("<hangdbg>", "<expression>"):
        trace = trace.tb_next
    error.__traceback__ = trace


def _syntax(error):
    lines = ['  File "%s", line %s' % (error.filename, error.lineno)]
    if type(error.text) is str:
        lines.append("    " + error.text.rstrip("\n")[:1000])
        if type(error.offset) is int and 0 < error.offset <= 1000:
            lines.append(" " * (3 + error.offset) + "^")
    return lines


def _traceback(error):
    lines = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != "<hangdbg>":
            lines.append('  File "%s", line %s, in %s' % (
                code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    if len(lines) > 100:
        lines[20:-60] = ["  ... %d more frames ..." % (len(lines) - 80)]
    return ["Traceback (most recent call last):"] + lines
