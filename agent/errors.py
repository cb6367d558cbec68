# What an exception looks like to the client. A later part of the core
# (dispatch.py, need).


def explain(error, id="expression-failed", most=100):
    """The arguments of the Failure that tells of an exception: id, one line, type
    and traceback lines, of so many frames at most. Runs its __str__."""
    name, lines = described(error)
    where = _syntax(error) if issubclass(type(error), SyntaxError) else _traceback(error, most)
    by = raised_by(error) if id == "agent-failed" else ""  # whose frames are hidden
    return id, " ".join(lines) + by, name, where + lines


def _syntax(error):
    lines = ['  File "%s", line %s' % (error.filename, error.lineno)]
    if type(error.text) is str:
        lines.append("    " + error.text.rstrip("\n")[:1000])
        if type(error.offset) is int and 0 < error.offset <= 1000:
            lines.append(" " * (3 + error.offset) + "^")
    return lines


def _traceback(error, most):
    lines = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == "<hangdbg run>":  # below a script that it runs
            lines = []
        elif code.co_filename != "<hangdbg>":
            lines.append('  File "%s", line %s, in %s' % (
                code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    if len(lines) > most:
        first, last = most // 5, most // 5 * 3
        lines[first:-last] = ["  ... %d more frames ..." % (len(lines) - first - last)]
    return ["Traceback (most recent call last):"] + lines
