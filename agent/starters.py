# What stands for fork, exec and posix_spawn in the program's modules while an editor wants
# sessions for children: agent/spawning.py puts it there. Run in names of its own, with
# these: posix, sys, fcntl, poll, home (our process), text, watched, debuggers, package,
# patience, python, places, lowest.
#
# The program may keep these for longer than we are here, and fork with them: so they use
# nothing but themselves. Whatever is not as they know it is started as it was to be.

class Starter:
    # Like the builtin function that it stands for: an instance of its type, not bound to
    # objects of a class that has it, found in os.supports_fd, pickled by its name.
    __hangdbg__ = True
    __slots__ = "real", "start", "__weakref__"
    __class__ = property(lambda self: type(self.real))
    __doc__ = property(lambda self: self.real.__doc__)
    __module__ = property(lambda self: self.real.__module__)

    def __init__(self, real, start):
        object.__setattr__(self, "real", real)
        object.__setattr__(self, "start", start)

    def __getattr__(self, name):
        return getattr(self.real, name)

    def __setattr__(self, name, value):
        setattr(self.real, name, value)

    def __delattr__(self, name):
        delattr(self.real, name)

    def __call__(self, *words, **named):
        if text is not None and posix.getpid() != home:  # C code has forked it
            give_back()
        if text is None:
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
        return self.real.__name__


CLOSE_FROM = getattr(posix, "POSIX_SPAWN_CLOSEFROM", -1)


def fork_exec(real, words, named):
    # What comes last: another user, a function before exec, ...
    if named or len(words) < 15 or type(words[3]) is not tuple or not all(
            [type(word) in (bool, type(None)) or word == -1 for word in words[14:]]):
        return real(*words, **named)
    argv, numbers = held(words[0], words[1])
    if not numbers:
        return real(*words)
    try:
        return real(argv, words[1], words[2], tuple(sorted({*words[3], *numbers})), *words[4:])
    finally:
        let_go(numbers)


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
    argv, numbers = held(words[1], [words[0]], count=2)
    if not numbers:
        return real(*words, **named)
    here, there = numbers
    try:
        ours = (posix.POSIX_SPAWN_OPEN, there, "/proc/%d/fd/%d" % (home, here), 0, 0) if (
            closes) else (posix.POSIX_SPAWN_DUP2, here, there)
        try:
            return real(words[0], argv, words[2], **dict(named, file_actions=[*actions, ours]))
        except OSError:
            if not closes:
                raise
    finally:
        let_go(numbers)
    return real(*words, **named)


def is_harmless(action):
    # It is known, and does not touch our descriptors.
    return type(action) is tuple and len(action) > 1 and type(action[0]) is int and action[0] in (
        posix.POSIX_SPAWN_OPEN, posix.POSIX_SPAWN_CLOSE, posix.POSIX_SPAWN_DUP2, CLOSE_FROM) and (
        all([type(word) is not int or word < lowest for word in action[1:3]]))


def execv(real, words, named):
    if named or not 2 <= len(words) <= 3:
        return real(*words, **named)
    # Our process is what is still there then.
    argv, numbers = held(words[1], [words[0]], [it for it in list(debuggers.values()) if exists(it)])
    if not numbers:
        return real(*words)
    try:
        posix.set_inheritable(numbers[0], True)
        return real(words[0], argv, *words[2:])
    finally:
        let_go(numbers)


execve = execv


def fork(real, words, named):
    answer = real(*words, **named)
    if (answer[0] if type(answer) is tuple else answer) == 0:
        forked()
    return answer


forkpty = fork


def forked():
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
    except Exception as error:
        # A failure of ours is not the program's. What its signal handlers raise is.
        trace = error.__traceback__
        while trace is not None and "__hangdbg__" in trace.tb_frame.f_globals:
            trace = trace.tb_next
        if trace is not None:
            raise error.with_traceback(trace)


def give_back():
    global text
    text = None
    later = getattr(sys.modules.get("subprocess"), "__dict__", {})  # imported meanwhile
    now = later.get("_fork_exec")
    if type(now) is Starter:
        later["_fork_exec"] = now.real
    for names, name, starter in places:
        if names.get(name) is starter:
            names[name] = starter.real


def held(argv, paths, files=None, count=1):
    # (The words that start it so that it waits while one of these files is there, as many
    # descriptors of its text, the last of them by that number in the new process);
    # (argv, ()): it is not this Python, has nothing to run, or has no place for our text.
    files = watched if files is None else files[:1]
    ours = text
    if ours is None or not files or not exists(files[0]) or (
            type(argv) not in (list, tuple)) or not is_this_python(paths):
        return argv, ()
    words = list(argv)
    begin = place(words)
    numbers = begin and in_pipe(ours.replace("@watched@", repr(files)).encode(), count)
    if not numbers:
        return argv, ()
    at, flags = begin
    return words[:at] + flags + ["/dev/fd/%d" % numbers[-1]] + words[at:], numbers


def in_pipe(content, count):
    # Nobody else has numbers that high: the name of that file stays in the child as that of
    # a frame, and may be opened for a traceback.
    for _ in range(3):
        numbers = []
        try:
            ends = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
            try:
                whole = ends[1] < lowest and posix.write(ends[1], content) == len(content)
                while whole and len(numbers) < count:
                    numbers.append(fcntl(ends[0], F_DUPFD_CLOEXEC, lowest))
            finally:
                let_go(ends)
            if whole and exists("/dev/fd/%d" % numbers[0]) and has_end(numbers[0]):
                return numbers
        except OSError:
            pass
        let_go(numbers)
    return ()


def has_end(number):
    # Nobody can write to it any more. A process that another thread has forked just now can:
    # who reads it would wait for the end of that.
    pipe = poll()
    pipe.register(number, 0)
    return any([event & POLLHUP for _, event in pipe.poll(0)])


def let_go(numbers):
    for number in numbers:
        posix.close(number)


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
