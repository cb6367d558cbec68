"""What one sees who types `hangdbg` for the first time, in tmux, on a screen of 80 by 24
and on one of 200 by 50: where there is nothing to show, one hang, a job, no right to look.

Each scene is alone in a PID namespace, in a root of its own, so that neither this machine's
processes nor whether it is a container changes the screen. Numbers and times are not
compared. With HANGDBG_WRITE_DOCS=1 the screens in tests/integration/project/screens are written
anew.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time

import pytest

from harness import PATIENCE, PROGRAM, die_with_us, in_targets, until

SCREENS = pathlib.Path(__file__).parent / "screens"
SIZES = {"80x24": (80, 24), "200x50": (200, 50)}
WRITE = bool(os.environ.get("HANGDBG_WRITE_DOCS"))
PYTHON = "/usr/bin/python3"
RANKS = "for rank in 0 1; do RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 " \
        "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 %s lock_main.py & done; wait" % PYTHON
AS_NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups "

# Its processes; how many must hang before one looks; as whom; the ptrace_scope that
# Yama would have; whether it is a container.
SCENES = {
    "nothing": ("sleep 1000", 0, "", None, False),
    "one-hang": ("%s lock_main.py" % PYTHON, 1, "", None, False),
    "job": (RANKS, 2, "", None, False),
    "other-user": ("%s lock_main.py" % PYTHON, 1, AS_NOBODY, None, False),
    "ptrace-scope": ("%s lock_main.py" % PYTHON, 1, AS_NOBODY, 3, False),
    "container": ("%s lock_main.py" % PYTHON, 1, AS_NOBODY, None, True),
}

# What begins a namespace: all of / but what says that this is a container, the targets
# and the program where they are for everybody, and /proc as the namespace has it.
ROOT = r"""
set -e
new=$1; shift
mount -t tmpfs none "$new"
for each in /*; do
  if [ -L "$each" ]; then cp -P "$each" "$new$each"
  elif [ -d "$each" ] && [ "$each" != /proc ] && [ "$each" != /home ]; then
    mkdir "$new$each"; mount --rbind "$each" "$new$each"
  fi
done
mkdir -p "$new/proc" "$new/home/ada" "$new/run"
cp "$PROGRAM" "$new/home/ada/hangdbg"
cp "$TARGETS"/lock_main.py "$TARGETS"/common.py "$new/home/ada"
mount -t proc none "$new/proc"
[ -z "$CONTAINER" ] || touch "$new/.dockerenv"
if [ -n "$SCOPE" ]; then
  mkdir -p "$new/home/kernel/yama"
  echo "$SCOPE" > "$new/home/kernel/yama/ptrace_scope"
  mount --bind "$new/home/kernel" "$new/proc/sys/kernel"
fi
exec chroot "$new" sh -c "cd /home/ada; $SCENE"
"""


@pytest.fixture(scope="module")
def tmux(tmp_path_factory):
    if shutil.which("tmux") is None:
        pytest.skip("no tmux here")
    socket = str(tmp_path_factory.mktemp("tmux") / "socket")

    def run(*words):
        return subprocess.run(["tmux", "-S", socket, "-f", "/dev/null", *words],
                              stdout=subprocess.PIPE, text=True, check=True).stdout

    run("new-session", "-d", "-s", "base", "sleep", "10000")  # the server ends with its last one
    yield run
    subprocess.run(["tmux", "-S", socket, "kill-server"], stderr=subprocess.DEVNULL, check=False)


@pytest.fixture(scope="module", params=SCENES)
def scene(request, tmp_path_factory):
    """(its name, the words before a command that runs in it)"""
    if os.geteuid() != 0:
        pytest.skip("only root makes namespaces")
    processes, hung, who, scope, container = SCENES[request.param]
    # Of the module: what track() has is ended after each test.
    init = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c", ROOT, "sh",
         str(tmp_path_factory.mktemp("root"))],
        env={"PATH": os.environ["PATH"], "PROGRAM": str(PROGRAM),
             "TARGETS": str(in_targets("lock_main.py").parent),
             "SCENE": processes, "CONTAINER": "1" if container else "",
             "SCOPE": "" if scope is None else str(scope)},
        stdout=subprocess.DEVNULL, preexec_fn=die_with_us, start_new_session=True)

    def first():
        words = pathlib.Path("/proc/%d/task/%d/children" % (init.pid, init.pid)).read_text().split()
        root = words and os.path.exists("/proc/%s/root/home/ada/hangdbg" % words[0]) \
            and os.path.exists("/proc/%s/root/proc/1/stat" % words[0])
        return words[0] if root else None

    try:
        pid = until("the scene", first)
        yield from prepared(request.param, pid, who, hung)
    finally:
        init.kill()
        init.wait()


def prepared(name, pid, who, hung):
    enter = "nsenter --target %s --pid --mount --root --wd -- " % pid

    def hang():
        listed = subprocess.run(shlex.split(enter) + ["/home/ada/hangdbg", "ps", "--json"],
                                stdout=subprocess.PIPE, text=True, check=False).stdout
        return listed.count('"stalled":true') == hung
    until("it hangs", hang, 2 * PATIENCE)
    yield name, enter + who


def screen(tmux, size, command, *options):
    """What is on the screen when the command has ended."""
    columns, rows = SIZES[size]
    line = "%s; tmux -S \"${TMUX%%%%,*}\" wait-for -S done; exec sleep 1000" % command
    tmux("new-session", "-d", "-s", "one", "-x", str(columns), "-y", str(rows),
         "env", "-u", "NO_COLOR", "sh", "-c", line)
    try:
        tmux("wait-for", "done")
        seen = tmux("capture-pane", "-p", *options, "-t", "one")
        joined = tmux("capture-pane", "-p", "-J", "-t", "one")  # without the screen's line breaks
        history = tmux("display-message", "-p", "-t", "one", "#{history_size}").strip()
    finally:
        tmux("kill-session", "-t", "one")
    assert int(history) == 0, seen
    return seen.rstrip("\n") + "\n", joined.rstrip("\n").split("\n")


def masked(text, columns):
    """Without numbers and times, without how wide they were, and so without where what is too
    long for the screen goes on, or is cut."""
    text = re.sub(r"(?m)^(.{%d})\n" % columns, r"\1", text)
    text = re.sub(r"\n  (?!try: )", " ", text).replace(" ...", "...")
    text = re.sub(r"\d[\d.,]*(?: ?(?:ms|s|min|h)\b)?", "#", text)
    text = re.sub(r" \(#\)", "", text)  # a time that is long enough to be told
    return re.sub(r"(# ?)+", "#", re.sub(r" +", " ", text)).replace("\n ", "\n")


@pytest.mark.parametrize("size", SIZES)
def test_first_screen(scene, size, tmux):
    name, enter = scene
    columns, rows = SIZES[size]
    golden = SCREENS / ("%s-%s.txt" % (name, size))
    end = time.monotonic() + 60
    while True:
        seen, lines = screen(tmux, size, enter + "/home/ada/hangdbg")
        # With no CPU to spare, since when a process waits is not known yet.
        if WRITE or time.monotonic() > end or (
                masked(seen, columns) == masked(golden.read_text(), columns)):
            break
    assert len(seen.splitlines()) < rows, seen  # there is room for a prompt
    assert max(map(len, seen.splitlines())) <= columns, seen
    assert lines[-1].startswith("  try: "), seen  # it ends with what to type next
    if WRITE:
        golden.write_text(seen)
    assert masked(seen, columns) == masked(golden.read_text(), columns), seen


def colours(text):
    return set(re.findall(r"\x1b\[([\d;]*)m", text))


def test_colours(scene, tmux):
    """Such as can be read on white and on black: bold, dim and red."""
    name, enter = scene
    seen, _ = screen(tmux, "80x24", enter + "/home/ada/hangdbg", "-e")
    used = colours(seen)
    assert "1" in used and used <= {"", "0", "1", "2", "31", "39", "49"}, (used, seen)
    plain, _ = screen(tmux, "80x24", "export NO_COLOR=1; " + enter + "/home/ada/hangdbg", "-e")
    assert colours(plain) == set(), plain


def test_no_colour_in_a_pipe(scene):
    _, enter = scene
    done = subprocess.run(shlex.split(enter) + ["/home/ada/hangdbg"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert "\x1b" not in done.stdout + done.stderr, done
