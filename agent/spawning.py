# Processes that the program starts while an editor wants a session for each of them
# (`subProcess`): one that is this Python again, or is forked, waits before its first
# line until that session has set its breakpoints; some seconds at most, and no longer
# than we are here.
#
# The program reaches what starts a process by a name in a module. There an object of ours is
# meanwhile. It starts a Python with our text as its script, which waits (python/start.py).

_holders = []  # sessions
_spaces = []  # the names of our functions
_loaded = []  # (a module of C's that the program had not imported, how often it is referred to)

# The program may keep these for longer than we are here, and fork with them: so they use
# nothing but themselves. Whatever is not as they know it is started as it was to be.
_STARTERS = r"""
class Starter:
    # Like the builtin function that it stands for: not bound to objects of a class that
    # has it, found in os.supports_fd, pickled by its name.
    __hangdbg__ = True

    def __init__(self, real, start):
        self.real, self.start, self.__wrapped__ = real, start, real
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self, name, getattr(real, name, None))

    __self__ = property(lambda self: self.real.__self__)

    def __call__(self, *words, **named):
        if texts is not None and posix.getpid() != home:  # C code has forked it
            give_back()
        if texts is None:
            return self.current()(*words, **named)
        return self.start(self.real, words, named)

    def current(self):
        # os.spawnv takes exec before it forks: the child may have one of its own by now.
        for names, name, starter in places:
            now = names.get(name)
            if starter is self and now is not self and (
                    type(now).__dict__.get("__hangdbg__") is True):
                return now
        return self.real

    def __eq__(self, other):
        return self is other or self.real == other

    def __hash__(self):
        return hash(self.real)

    def __repr__(self):
        return repr(self.real)

    def __reduce__(self):
        return self.__name__


CLOSE_FROM = getattr(posix, "POSIX_SPAWN_CLOSEFROM", -1)


def fork_exec(real, words, named):
    # What comes last: another user, a function before exec, ...
    if named or len(words) < 15 or type(words[3]) is not tuple or not all(
            [type(word) in (bool, type(None)) or word == -1 for word in words[14:]]):
        return real(*words, **named)
    argv, fd = held(words[0], words[1], 0)
    if fd < 0:
        return real(*words)
    try:
        return real(argv, words[1], words[2], tuple(sorted({*words[3], fd})), *words[4:])
    finally:
        let_go(fd)


def posix_spawn(real, words, named):
    actions = named.get("file_actions")
    actions = () if actions is None else actions
    if len(words) != 3 or named.get("resetids") or not (
            type(actions) in (tuple, list) and all(map(is_harmless, actions))):
        return real(*words, **named)
    kinds = [action[0] for action in actions]
    closes = CLOSE_FROM in kinds  # ours, too: then it is opened again by its name
    if closes and posix.POSIX_SPAWN_OPEN in kinds:  # which may not do twice
        return real(*words, **named)
    argv, fd = held(words[1], [words[0]], 1)
    if fd < 0:
        return real(*words, **named)
    try:
        ours = (posix.POSIX_SPAWN_OPEN, fd + 1, "/proc/%d/fd/%d" % (home, fd), 0, 0) if (
            closes) else (posix.POSIX_SPAWN_DUP2, fd, fd + 1)
        try:
            return real(words[0], argv, words[2], **dict(named, file_actions=[*actions, ours]))
        except OSError:
            if not closes:
                raise
    finally:
        let_go(fd)
    return real(*words, **named)


def is_harmless(action):
    # It is known, and does not touch our descriptors.
    return type(action) is tuple and len(action) > 1 and type(action[0]) is int and action[0] in (
        posix.POSIX_SPAWN_OPEN, posix.POSIX_SPAWN_CLOSE, posix.POSIX_SPAWN_DUP2, CLOSE_FROM) and (
        all([type(word) is not int or word < lowest for word in action[1:3]]))


def execv(real, words, named):
    if named or not 2 <= len(words) <= 3:
        return real(*words, **named)
    argv, fd = held(words[1], [words[0]], 0, 1)
    if fd < 0:
        return real(*words)
    try:
        posix.set_inheritable(fd, True)
        return real(words[0], argv, *words[2:])
    finally:
        let_go(fd)


execve = execv


def fork(real, words, named):
    answer = real(*words, **named)
    if (answer[0] if type(answer) is tuple else answer) == 0:
        forked()
    return answer


forkpty = fork


def forked():
    # A failure is not the program's.
    try:
        give_back()
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


def give_back():
    global texts
    texts = None
    for names, name, starter in places:
        if names.get(name) is starter:
            names[name] = starter.real


def held(argv, paths, more, which=0):
    # (The words that start it so that it waits, the descriptor of its text, `more` less than
    # its number there); (argv, -1): it is not this Python, has nothing to run, or has no
    # place for our text.
    if type(argv) not in (list, tuple) or not is_this_python(paths):
        return argv, -1
    words = list(argv)
    begin = place(words)
    text = (texts or (None, None))[which]
    fd = in_pipe(text) if begin and text and exists(watched[0]) else -1
    if fd < 0:
        return argv, -1
    at, flags = begin
    return words[:at] + flags + ["/dev/fd/%d" % (fd + more)] + words[at:], fd


def in_pipe(text):
    # Its descriptor, or -1. Nobody else has numbers that high: the name of that file stays
    # in the child as that of a frame, and may be opened for a traceback.
    try:
        number = numbers.pop()
    except IndexError:
        return -1
    if is_open(number) or is_open(number + 1):
        return -1  # it is the program's, and is not tried again
    try:
        ends = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
        try:
            if ends[1] < lowest and posix.write(ends[1], text) == len(text):
                posix.dup2(ends[0], number, False)
                if exists("/dev/fd/%d" % number):
                    return number
                posix.close(number)
        finally:
            posix.close(ends[0])
            posix.close(ends[1])
    except OSError:
        pass
    numbers.append(number)
    return -1


def is_open(number):
    try:
        return bool(posix.fstat(number))
    except OSError:
        return False


def let_go(number):
    posix.close(number)
    numbers.append(number)


def is_this_python(paths):
    # By its absolute path, since the child may begin in another folder.
    if type(paths) not in (list, tuple):
        return False
    for path in paths:
        if type(path) not in (str, bytes) or path[:1] not in ("/", b"/"):
            return False
        try:
            found = posix.stat(path)
        except (OSError, ValueError):
            continue
        return (found.st_dev, found.st_ino) == python
    return False


def place(words):
    # (Where the words begin that say what Python runs, its options among the first of
    # these), or None.
    texts = [word.decode("latin-1") if type(word) is bytes else word for word in words]
    if not all([type(text) is str for text in texts]):
        return None
    at = 1
    while at < len(texts):
        text = texts[at]
        if text == "--check-hash-based-pycs":
            at += 2
            continue
        if text[:1] != "-":
            return (at, []) if text else None
        if text == "-" or text[1] == "-":
            return None
        for i in range(1, len(text)):
            if text[i] in "cm":
                what = text[i + 1:] or (texts + [""])[at + 1]
                if not what or "multiprocessing.resource_tracker" in what:
                    return None
                return at, [text[:i]] if i > 1 else []
            if text[i] in "WX":
                at += 0 if text[i + 1:] else 1
                break
            if text[i] not in "bBdEIOPqRsSuv":
                return None
        at += 1
    return None


def exists(path):
    try:
        return bool(posix.stat(path))
    except (OSError, ValueError):
        return False
"""

# Where the program may find what starts a process.
_PLACES = [("_posixsubprocess", "fork_exec", "fork_exec"),
           ("subprocess", "_fork_exec", "fork_exec")] + [
    (module, name, name) for name in ("posix_spawn", "execv", "execve", "fork", "forkpty")
    for module in ("posix", "os")]


def hold_children(session, arguments):
    """text: what a child is to run, with @watched@ for the list of files without which it
    does not wait. debugger: the client's process, 0 if it is not seen here. patience: 0 to
    hold none any more."""
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
    if _spaces:
        return {}
    lowest = most - 40
    space = {"__name__": "hangdbg", "__hangdbg__": True, "posix": posix, "sys": sys,
             "home": posix.getpid(), "package": package, "patience": patience,
             "watched": here, "python": python, "places": [], "lowest": lowest,
             "numbers": list(range(lowest, most - 1, 2)), "texts": (
                 text.replace("@watched@", repr(here)).encode(),
                 text.replace("@watched@", repr(["/proc/%d" % debugger])).encode()
                 if debugger else None)}
    exec(compile(_STARTERS, "<starters of hangdbg>", "exec"), space)
    _spaces.append(space)
    _load("_posixsubprocess")
    starters = {}
    for module, name, start in _PLACES:
        _put_in_place(space, module, name, start, starters)
    return {}


def _put_in_place(space, module, name, start, starters):
    """Unless the program has something else there."""
    names = getattr(sys.modules.get(module), "__dict__", {})
    before = names.get(name)
    if type(before).__dict__.get("__hangdbg__") is True:  # was forked from one that had it
        before = names[name] = before.real
    if type(before) is type(len):
        if start not in starters:
            starters[start] = space["Starter"](before, space[start])
        if starters[start].real is before:
            space["places"].append((names, name, starters[start]))
            names[name] = starters[start]


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
        if name in sys.modules and sys.getrefcount(sys.modules[name]) <= references:
            del sys.modules[name]
    del _loaded[:]


def end_spawning(session):
    if session not in _holders:
        return
    _holders.remove(session)
    if not _holders:
        _watch([""])
        for space in _spaces:
            space["give_back"]()
            del space["places"][:]
        del _spaces[:]
        _unload()


handlers["hangdbg/holdChildren"] = hold_children
