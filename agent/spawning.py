# Processes that the program starts while an editor wants a session for each of them
# (`subProcess`): one that is this Python again, or is forked, waits before its first
# line until that session has set its breakpoints; some seconds at most, and no longer
# than we are here.
#
# The program reaches what starts a process by a name in a module. There a function of
# ours is until the session ends. It starts a Python with our text as its script, which
# waits and then does what was to be done (python/start.py).

_holders = []  # sessions
_spaces = []  # the names of our functions

# The program may keep these functions for longer than we are here, and fork with them:
# so they use nothing but themselves, and do then what they stand for.
_STARTERS = r"""
def fork_exec(*words):
    fd = -1
    if texts is not None and len(words) > 4 and not any(map(callable, words[12:])):
        try:
            new, fd = held(words[0], words[1], texts[0])
            if fd >= 0:
                words = new, words[1], words[2], tuple(sorted({*words[3], fd})), *words[4:]
        except OSError:
            pass
    try:
        return real["fork_exec"](*words)
    finally:
        if fd >= 0:
            posix.close(fd)


def posix_spawn(path, argv, *others, **options):
    fd = -1
    if texts is not None:
        try:
            new, fd = held(argv, [path], texts[0])
        except OSError:
            pass
    try:
        actions = options.get("file_actions") or ()
        if fd >= 0 and not any([fd in action[1:3] for action in actions]):
            # The last one, since it may close all from 3 on.
            ours = (posix.POSIX_SPAWN_OPEN, fd, "/proc/%d/fd/%d" % (posix.getpid(), fd),
                    posix.O_RDONLY, 0)
            try:
                return real["posix_spawn"](
                    path, new, *others, **dict(options, file_actions=[*actions, ours]))
            except OSError:
                pass  # as it would be without us
        return real["posix_spawn"](path, argv, *others, **options)
    finally:
        if fd >= 0:
            posix.close(fd)


def execv(path, argv):
    become("execv", path, argv, ())


def execve(path, argv, env):
    become("execve", path, argv, (env,))


def become(name, path, argv, others):
    fd = -1
    if texts is not None and texts[1]:
        try:
            argv, fd = held(argv, [path], texts[1])
            if fd >= 0:
                posix.set_inheritable(fd, True)
        except OSError:
            pass
    try:
        real[name](path, argv, *others)
    finally:
        if fd >= 0:
            posix.close(fd)


def fork():
    pid = real["fork"]()
    if pid == 0:
        forked()
    return pid


def forkpty():
    pid, fd = real["forkpty"]()
    if pid == 0:
        forked()
    return pid, fd


def forked():
    # A failure is not the program's.
    if texts is None:
        return
    try:
        module = programs = sys.modules.get("hangdbg")
        if programs is None:
            module = type(sys)("hangdbg")
            exec(compile(package, "<hangdbg>/__init__.py", "exec"), module.__dict__)
            module._watched = watched
            sys.modules["hangdbg"] = module
        try:
            if module.__dict__.get("__hangdbg__") is True:
                module._hold_fork(patience)
        finally:
            if programs is None:
                del sys.modules["hangdbg"]
    except Exception:
        pass


def held(argv, paths, text):
    # (The words that start it so that it waits, the file with that text); (argv, -1): it
    # is not this Python, or has nothing to run.
    if type(argv) not in (list, tuple) or not is_this_python(paths):
        return argv, -1
    words = list(argv)
    begin = place(words)
    if begin is None or not os_exists(watched[0]):
        return argv, -1
    at, flags, inner = begin
    if hasattr(posix, "memfd_create"):
        fd = posix.memfd_create("hangdbg", posix.MFD_CLOEXEC)
    else:  # 3.7
        fd = posix.open("/tmp", posix.O_TMPFILE | posix.O_RDWR | posix.O_CLOEXEC, 0o700)
    try:
        name = "/dev/fd/%d" % fd
        if fd < 3 or not os_exists(name):
            posix.close(fd)
            return argv, -1
        posix.write(fd, text)
    except BaseException:
        posix.close(fd)
        raise
    return words[:at] + flags + [name] + inner, fd


def is_this_python(paths):
    for path in paths:
        if not isinstance(path, (str, bytes)):
            return False
        try:
            found = posix.stat(path)
        except OSError:
            continue
        return (found.st_dev, found.st_ino) == python
    return False


def place(words):
    # (Where the words begin that say what Python runs; its options among the first of
    # these; what follows), or None.
    texts = [word.decode("latin-1") if isinstance(word, bytes) else word for word in words]
    if not all([isinstance(text, str) for text in texts]):
        return None
    at = 1
    while at < len(texts):
        text = texts[at]
        if text == "--check-hash-based-pycs":
            at += 2
            continue
        if text[:1] != "-":
            return (at, [], words[at:]) if text else None
        if text == "-" or text[1] == "-":
            return None
        for i in range(1, len(text)):
            if text[i] in "cm":
                rest = [words[at][i + 1:]] if text[i + 1:] else words[at + 1:at + 2]
                if not rest or "multiprocessing.resource_tracker" in str(rest[0]):
                    return None
                after = words[at + (1 if text[i + 1:] else 2):]
                return at, [text[:i]] if i > 1 else [], ["-" + text[i]] + rest + after
            if text[i] in "WX":
                at += 0 if text[i + 1:] else 1
                break
            if text[i] not in "bBdEIOPqRsSuv":
                return None
        at += 1
    return None


def os_exists(path):
    try:
        posix.stat(path)
        return True
    except OSError:
        return False
"""


def hold_children(session, arguments):
    """text: what a child is to run, with `watched` for the list of files without which
    it does not wait. debugger: the client's process, 0 if it is not seen here."""
    text = field(arguments, "text", str)
    package = field(arguments, "package", str)
    patience = field(arguments, "patience", int)
    debugger = field(arguments, "debugger", int)
    forks = field(arguments, "forks", bool)
    posix = sys.modules["posix"]
    control = _control_thread(posix)
    if session in _holders or control is None:
        return {}
    here = ["/proc/%d/task/%d" % (posix.getpid(), control)]
    package_names = sys.modules.get("hangdbg")
    if getattr(package_names, "__hangdbg__", False) is True:
        package_names._watched = here
    _holders.append(session)
    if _spaces:
        return {}
    ours = posix.stat(sys.executable)
    space = {"__name__": "hangdbg", "__hangdbg__": True, "posix": posix, "sys": sys, "real": {},
             "package": package, "patience": patience, "watched": here,
             "python": (ours.st_dev, ours.st_ino), "texts": (
                 text.replace("@watched@", repr(here)).encode(),
                 text.replace("@watched@", repr(["/proc/%d" % debugger])).encode()
                 if debugger else None)}
    exec(compile(_STARTERS, "<starters of hangdbg>", "exec"), space)
    _load("_posixsubprocess")
    for module, name, ours in _PLACES:
        if forks or "fork" != ours != "forkpty":
            _replace(space, module, name, ours)
    _spaces.append(space)
    return {}


# Where the program may find what starts a process.
_PLACES = [("_posixsubprocess", "fork_exec", "fork_exec"),
           ("subprocess", "_fork_exec", "fork_exec")] + [
    (module, name, name) for name in ("posix_spawn", "execv", "execve", "fork", "forkpty")
    for module in ("posix", "os")]


def _load(name):
    """A module of C's, before the program imports it; its finders are not asked."""
    if name in sys.modules:
        return
    bootstrap = sys.modules["_frozen_importlib"]
    spec = bootstrap.BuiltinImporter.find_spec(name)
    if spec is None:
        folders = [path for path in sys.path if type(path) is str and
                   path.endswith("/lib-dynload")]
        spec = sys.modules["_frozen_importlib_external"].PathFinder.find_spec(name, folders)
    if spec is not None:
        bootstrap._load(spec)


def _replace(space, module, name, ours):
    """Unless the program has something else there."""
    names = getattr(sys.modules.get(module), "__dict__", {})
    before = names.get(name)
    if type(before) is type(len) and before is space["real"].setdefault(ours, before):
        names[name] = space[ours]


def _control_thread(posix):
    for task in posix.listdir("/proc/self/task"):
        try:
            fd = posix.open("/proc/self/task/%s/comm" % task, posix.O_RDONLY | posix.O_CLOEXEC)
        except OSError:
            continue
        try:
            if posix.read(fd, 100) == b"hangdbg-ctl\n":
                return int(task)
        finally:
            posix.close(fd)
    return None


def end_spawning(session):
    if session not in _holders:
        return
    _holders.remove(session)
    if not _holders:
        for space in _spaces:
            space["texts"] = None
            for module, name, ours in _PLACES:
                names = getattr(sys.modules.get(module), "__dict__", {})
                if names.get(name) is space[ours]:
                    names[name] = space["real"][ours]
        del _spaces[:]


handlers["hangdbg/holdChildren"] = hold_children
