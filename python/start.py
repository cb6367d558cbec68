# What the child of `hangdbg run` runs in place of the script, and then the script, as
# `python3 SCRIPT ...` or `python3 -m MODULE ...` would. The program puts it together
# (server/session/program.cpp): `package` is the text of hangdbg/__init__.py, `options` what
# was asked for.
#
# With `held` it is run by another Python in place of what that was to run, the words of which
# follow (-c CODE, -m MODULE, or a script): see agent/spawning.py. Nothing stays then of the
# package either.
#
# Nothing of it is left in __main__. Its frames are below those of the script; they are
# taken off what the script's exceptions have, before anybody can see them.
import os
import sys


def start():
    file = sys.argv[0]
    if file.startswith("/dev/fd/"):
        os.close(int(file.rpartition("/")[2]))
    for path in file, os.path.dirname(file):
        sys.path_importer_cache.pop(path, None)
    programs = sys.modules.get("hangdbg")
    sys.modules["hangdbg"] = hangdbg = options["hangdbg"] = type(sys)("hangdbg")
    exec(compile(package, "<hangdbg>/__init__.py", "exec"), hangdbg.__dict__)
    if options["tell"]:
        tell_who_we_are()
        hangdbg._allow_tracers(True)
    if options["ready"] >= 0:  # what was started may be a script that starts Python
        options["caller"] = os.getppid()
    if options["caller"]:
        hangdbg._caller = (
            options["caller"], os.getpid(), options["patience"], options["signal"])
        if "PYTHONBREAKPOINT" not in os.environ:
            sys.breakpointhook = hangdbg.set_trace
    if options["post_mortem"]:
        watch_threads()
    if options["hold_forks"]:
        os.register_at_fork(
            after_in_child=lambda: hold_fork(sys._getframe(1)))
    if options["ready"] >= 0:
        if not options["tell"]:
            os.write(options["ready"], b"%d\n" % os.getpid())
        os.close(options["ready"])
    if options["entry"]:
        hangdbg._wait("entry", None, options["patience"])
    try:
        if options["held"] is not None:
            kind = take_words()
            wait_for_editor(programs)
        else:
            kind = "m" if options["module"] else ""
        {"c": run_code, "m": run_module, "": run_script}[kind]()
    except SystemExit as error:
        hangdbg._tell_end(error)
        raise
    except BaseException as error:
        report(error)
        raise


def take_words():
    """How Python was called, and sys.argv as if each of that had a word of its own. Which of
    -c and -m it is; "": a script."""
    first = sys.argv[1]
    kind = next((letter for letter in first if letter in "cm"), "") if first[0] == "-" else ""
    flags, _, what = first.partition(kind) if kind else ("", "", "")
    # The flags among the first of these are a word in front of us, too.
    say_how_we_were_called(sys.argv[1:], 1 if len(flags) > 1 else 0)
    if kind:
        sys.argv[1:2] = ["-" + kind] + ([what] if what else [])
    return kind


def wait_for_editor(programs):
    options["hangdbg"]._hold(*options["held"])
    if programs is None:
        del sys.modules["hangdbg"]
    else:
        sys.modules["hangdbg"] = programs


def hold_fork(caller):
    """Where agent/starters.py does so itself, it can let a signal's handler raise."""
    if "__hangdbg__" not in caller.f_globals:
        options["hangdbg"]._hold_fork(options["hold_forks"])


def tell_who_we_are():
    """To hangdbg, which has had another start us."""
    options["ready"] = os.open(options["tell"], os.O_WRONLY)
    os.write(options["ready"], b"%d\n" % os.getpid())
    options["caller"] = os.getppid()


def run_script():
    if options["held"] is None:
        say_how_we_were_called(sys.argv[1:])
    del sys.argv[0]
    script = sys.argv[0]
    if is_package(script):
        if not set_first_path(absolute(script)):
            sys.path.insert(0, absolute(script))
        import runpy
        runpy._run_module_as_main("__main__", False)
        return
    if os.path.isabs(script) or current_folder():
        set_first_path(os.path.dirname(os.path.realpath(script)))
    main = sys.modules["__main__"].__dict__
    main["__file__"] = path = absolute(script)
    code, main["__loader__"] = loaded(script, path)
    exec(code, main)


def run_code():
    code = sys.argv[2]
    sys.argv[:3] = ["-c"]
    if sys.version_info >= (3, 14):
        code = dedented(code)
    compiled = compile(code + "\n", "<string>", "exec", 0, True)
    set_first_path("")
    if sys.version_info >= (3, 13):  # for tracebacks
        import linecache
        of_code = hasattr(linecache, "_interactive_cache")
        linecache._register_code(compiled if of_code else "<string>", code, "<string>")
    main = sys.modules["__main__"].__dict__
    for name in ("__file__", "__cached__"):
        main.pop(name, None)
    main["__loader__"] = sys.modules["_frozen_importlib"].BuiltinImporter
    exec(compiled, main)


def dedented(code):
    lines = [line if line.strip(" \t") else "" for line in code.split("\n")]
    margins = [line[:len(line) - len(line.lstrip(" \t"))] for line in lines if line]
    margin = min(margins, key=len) if margins else ""
    while not all([one.startswith(margin) for one in margins]):
        margin = margin[:-1]
    return "\n".join([line[len(margin):] for line in lines]) if margin else code


def run_module():
    if options["held"] is not None:
        del sys.argv[1]
    else:
        say_how_we_were_called(["-m"] + sys.argv[1:])
    module = sys.argv[1]
    sys.argv[:2] = ["-m"]
    folder = current_folder()
    if set_first_path(folder) and folder is None:
        del sys.path[0]
    import runpy
    runpy._run_module_as_main(module)


def say_how_we_were_called(words, before=0):
    """Behind Python's own options, the last of which may be ours."""
    called = getattr(sys, "orig_argv", [])
    if sys.argv[0] in called:
        called[called.index(sys.argv[0]) - before:] = words


def set_first_path(folder):
    if getattr(sys.flags, "safe_path", False) or sys.flags.isolated:
        return False
    sys.path[0] = folder
    return True


def is_package(path):
    """A folder or an archive with a __main__.py."""
    for hook in sys.path_hooks:
        try:
            hook(path)
            return True
        except ImportError:
            pass
    return False


def absolute(path):
    return path if sys.version_info < (3, 9) else os.path.join(current_folder() or "", path)


def current_folder():
    """None if it has been removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def loaded(script, path):
    """(Its code, its loader)."""
    loaders = sys.modules["_frozen_importlib_external"]
    try:
        with open(script, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write("%s: can't open file '%s': [Errno %d] %s\n" % (
            sys.executable, path, error.errno, error.strerror))
        sys.exit(2)
    if script.endswith(".pyc") or source[:4] == loaders.MAGIC_NUMBER:
        if source[:4] != loaders.MAGIC_NUMBER:
            raise RuntimeError("Bad magic number in .pyc file")
        import marshal
        return marshal.loads(source[16:]), loaders.SourcelessFileLoader("__main__", path)
    return compile(source, path, "exec", 0, True), loaders.SourceFileLoader("__main__", path)


def report(error):
    """What the interpreter does about it is still the interpreter's: the program's
    hook, the exit code, the signal. It only does not see our frames."""
    programs = sys.excepthook

    def hook(kind, error, trace):
        sys.excepthook = programs
        error.__traceback__ = sys.last_traceback = trace = without_ours(trace)
        programs(kind, error, trace)
        stop_for(error)

    sys.excepthook = hook


def without_ours(trace):
    ours, trace = trace.tb_next.tb_frame.f_code.co_filename, trace.tb_next
    while trace is not None and trace.tb_frame.f_code.co_filename == ours:
        trace = trace.tb_next
    return trace


def watch_threads():
    """After what threading says of an exception, whoever has replaced its excepthook."""
    import threading
    make = getattr(threading, "_make_invoke_excepthook", None)  # from 3.8 on

    def make_ours():
        threadings = make()

        def invoke(thread):
            threadings(thread)
            stop_for(sys.exc_info()[1])

        return invoke

    if make is not None:
        threading._make_invoke_excepthook = make_ours


def stop_for(error):
    if options["post_mortem"] and error.__traceback__ is not None and (
            options["hangdbg"]._caller[:2] == (os.getppid(), os.getpid())):
        options["hangdbg"].post_mortem(error)


start()
