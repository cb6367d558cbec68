# Processes that the program starts while an editor wants a session for each of them
# (`subProcess`): one that is this Python again, or is forked, waits before its first
# line until that session has set its breakpoints; some seconds at most, and no longer
# than we are here.
#
# The program reaches what starts a process by a name in a module. There an object of ours is
# meanwhile. It starts a Python with our text as its script, which waits (python/start.py).

_holders = []  # sessions
_debuggers = {}  # session -> the file by which its process is seen here
_spaces = []  # the names of our functions
_modules = set()  # those that were there before
_loaded = []  # (a module of C's that the program had not imported, how often it is referred to)

# Where the program may find what starts a process.
_PLACES = [("_posixsubprocess", "fork_exec", "fork_exec"),
           ("subprocess", "_fork_exec", "fork_exec")] + [
    (module, name, name) for name in ("posix_spawn", "execv", "execve", "fork", "forkpty")
    for module in ("posix", "os")]


def hold_children(session, arguments):
    """starters: the text of starters.py. text: what a child is to run, with @watched@ for the
    list of files without which it does not wait. debugger: the client's process, 0 if it is
    not seen here. patience: seconds; 0 to hold none any more."""
    starters = field(arguments, "starters", str)
    text = field(arguments, "text", str)
    package = field(arguments, "package", str)
    patience = field(arguments, "patience", int)
    debugger = field(arguments, "debugger", int)
    if patience == 0:
        end_spawning(session)
        return {}
    posix = sys.modules["posix"]
    control, python = _control_thread(posix), _own_file(posix)
    most = posix.sysconf("SC_OPEN_MAX")
    most = min(most, 1024) if most > 0 else 1024
    if session in _holders or control is None or python is None or most < 256:
        return {}
    here = ["/proc/%d/task/%d" % (posix.getpid(), control)]
    _watch(here)
    _holders.append(session)
    if debugger:
        _debuggers[session] = "/proc/%d" % debugger
    if _spaces:
        return {}
    for name in "_posixsubprocess", "fcntl", "select":
        _load(name)
    # Without a name nothing warns of threads at a fork: they may be ours, from 3.12 on.
    space = {"__name__": None, "__hangdbg__": True, "posix": posix, "sys": sys,
             "home": posix.getpid(), "package": package, "patience": patience, "text": text,
             "watched": here, "debuggers": _debuggers, "python": python, "places": [],
             "lowest": most - 40}
    if _take(space, "fcntl", "fcntl", "F_DUPFD_CLOEXEC") and _take(
            space, "select", "poll", "POLLHUP"):
        exec(compile(starters, "<starters of hangdbg>", "exec"), space)
        _spaces.append(space)
        _modules.update(sys.modules)
        made = {}
        for module, name, start in _PLACES:
            _put_in_place(space, module, name, start, made)
    return {}


def _take(space, module, function, number):
    """These two of a module. False: the program has another function there, and the builtin
    one is not known."""
    names = getattr(sys.modules.get(module), "__dict__", {})
    found, monkey = names.get(function), sys.modules.get("gevent.monkey")
    if type(found) is not type(len) and monkey is not None:
        found = monkey.get_original(module, function)
    space[function], space[number] = found, names.get(number)
    return type(found) is type(len) and space[number] is not None


def _put_in_place(space, module, name, start, made):
    """Unless the program has something else there."""
    names = getattr(sys.modules.get(module), "__dict__", {})
    before = names.get(name)
    if type(before).__dict__.get("__hangdbg__") is True:  # was forked from one that had it
        before = names[name] = before.real
    if type(before) is type(len):
        if start not in made:
            made[start] = space["Starter"](before, space[start])
        if made[start].real is before:
            space["places"].append((names, name, made[start]))
            names[name] = made[start]


def _own_file(posix):
    """Of a Python that reads its command line itself, the numbers of its file. Another
    program that Python is a part of may have sys.executable, too."""
    try:
        if not posix.readlink("/proc/self/exe").rpartition("/")[2].startswith("python") or (
                "frozen" in sys.__dict__):
            return None
        found = posix.stat("/proc/self/exe")
        return found.st_dev, found.st_ino
    except OSError:
        return None


def _control_thread(posix):
    for _ in range(1000):  # it may have begun, and have no name yet
        for task in posix.listdir("/proc/self/task"):
            try:
                fd = posix.open("/proc/self/task/%s/comm" % task, posix.O_RDONLY | posix.O_CLOEXEC)
                try:
                    if posix.read(fd, 100) == b"hangdbg-ctl\n":
                        return int(task)
                finally:
                    posix.close(fd)
            except OSError:  # it has ended
                pass
        posix.sched_yield()
    return None


def _watch(files):
    """For those that are forked where the program was launched by us (python/start.py)."""
    names = getattr(sys.modules.get("hangdbg"), "__dict__", {})
    if names.get("__hangdbg__") is True and "_watched" in names:
        names["_watched"] = files


def _load(name):
    """A module of C's, before the program imports it; its finders are not asked."""
    if name in sys.modules:
        return
    bootstrap = sys.modules["_frozen_importlib"]
    external = sys.modules["_frozen_importlib_external"]
    spec = bootstrap.BuiltinImporter.find_spec(name)
    folders = [path for path in sys.path if type(path) is str]
    kind = external.ExtensionFileLoader, sys.modules["_imp"].extension_suffixes()
    for path in sorted(folders, key=lambda path: not path.endswith("/lib-dynload")):
        spec = spec or external.FileFinder(path, kind).find_spec(name)
    if spec is not None:
        bootstrap._load(spec)
        _loaded.append((name, sys.getrefcount(sys.modules[name])))


def _unload():
    for name, references in _loaded:
        if name in sys.modules and sys.getrefcount(sys.modules[name]) <= references and not (
                name == "_posixsubprocess" and "subprocess" in sys.modules):
            del sys.modules[name]
    del _loaded[:]


def end_spawning(session):
    if session not in _holders:
        return
    _holders.remove(session)
    _debuggers.pop(session, None)
    if not _holders:
        _watch([""])
        for space in _spaces:
            space["give_back"]()
            del space["places"][:]
            _give_back_in_new_modules(space["Starter"])
        del _spaces[:]
        _modules.clear()
        _unload()


def _give_back_in_new_modules(kind):
    """They have imported ours: `from os import fork`."""
    for key, module in list(sys.modules.items()):
        if key not in _modules and type(module) is type(sys):
            names = module.__dict__
            for name, value in list(names.items()):
                if type(value) is kind:
                    names[name] = value.real


handlers["hangdbg/holdChildren"] = hold_children
