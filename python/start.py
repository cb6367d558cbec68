# What the child of `hangdbg run` runs in place of the script, and then the script, as
# `python3 SCRIPT ...` or `python3 -m MODULE ...` would. The program puts it together
# (server/session/program.cpp): `package` is the text of hangdbg/__init__.py, `options` what
# was asked for.
#
# Nothing of it is left in __main__. Its frames are below those of the script; they are
# taken off what the script's exceptions have, before anybody can see them.
import os
import sys


def start():
    if sys.argv[0].startswith("/dev/fd/"):
        os.close(int(sys.argv[0].rpartition("/")[2]))
    sys.modules["hangdbg"] = hangdbg = type(sys)("hangdbg")
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
            after_in_child=lambda: hangdbg._hold_fork(options["hold_forks"]))
    if options["ready"] >= 0:
        if not options["tell"]:
            os.write(options["ready"], b"%d\n" % os.getpid())
        os.close(options["ready"])
    if options["entry"]:
        hangdbg._wait("entry", None, options["patience"])
    try:
        run_module() if options["module"] else run_script()
    except SystemExit as error:
        hangdbg._tell_end(error)
        raise
    except BaseException as error:
        report(error)
        raise


def tell_who_we_are():
    """To hangdbg, which has had another start us."""
    options["ready"] = os.open(options["tell"], os.O_WRONLY)
    os.write(options["ready"], b"%d\n" % os.getpid())
    options["caller"] = os.getppid()


def run_script():
    script = sys.argv[0] = sys.argv[1]
    del sys.argv[1]
    say_how_we_were_called(sys.argv)
    if is_package(script):
        set_first_path(absolute(script))
        import runpy
        runpy._run_module_as_main("__main__", False)
        return
    set_first_path(os.path.dirname(os.path.realpath(script)))
    main = sys.modules["__main__"].__dict__
    main["__file__"] = path = absolute(script)
    main["__loader__"] = type(main["__loader__"])("__main__", path)
    exec(code_of(script, path), main)


def run_module():
    module = sys.argv[1]
    sys.argv[:2] = ["-m"]
    say_how_we_were_called(["-m", module] + sys.argv[1:])
    set_first_path(os.getcwd())
    import runpy
    runpy._run_module_as_main(module)


def say_how_we_were_called(words):
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[1:] = words


def set_first_path(folder):
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


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
    return path if sys.version_info < (3, 9) else os.path.join(os.getcwd(), path)


def code_of(script, path):
    try:
        with open(script, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write("%s: can't open file '%s': [Errno %d] %s\n" % (
            sys.executable, path, error.errno, error.strerror))
        sys.exit(2)
    if script.endswith(".pyc"):
        import marshal
        return marshal.loads(source[16:])
    return compile(source, path, "exec", 0, True)


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
    caller = sys.modules["hangdbg"]._caller
    if options["post_mortem"] and error.__traceback__ is not None and (
            caller[:2] == (os.getppid(), os.getpid())):
        sys.modules["hangdbg"].post_mortem(error)


start()
