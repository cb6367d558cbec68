#!/usr/bin/env python3
"""A stand-in for kubectl that does what its documentation says of `get pods` and `exec`: each pod is
this machine, in an environment of its own. `install()` puts it into a folder for PATH.

Of `exec --stdin --tty`: the command has a terminal there, whose size comes after it has begun, and
again whenever it changes here; keys go there as they are, Ctrl-C too; the terminal here is put back."""

import argparse
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import tty

FOLDER = "KUBECTL_PODS"  # names of pods, a line each


def install(folder, pods):
    """What is to be in the environment."""
    (folder / "pods").write_text("".join(pod + "\n" for pod in pods))
    (folder / "kubectl").write_text("#!/bin/sh\nexec %s %s \"$@\"\n" % (sys.executable, __file__))
    os.chmod(folder / "kubectl", 0o755)
    return {"PATH": "%s:%s" % (folder, os.environ["PATH"]), FOLDER: str(folder / "pods")}


def main():
    words = sys.argv[1:]
    command = words[words.index("--") + 1:] if "--" in words else []
    words = words[:len(words) - len(command) - bool(command)]
    parser = argparse.ArgumentParser(prog="kubectl", allow_abbrev=False)
    commands = parser.add_subparsers(dest="what", required=True)
    get = commands.add_parser("get", allow_abbrev=False)
    get.add_argument("kind", choices=["pods"])
    for option in ("--selector", "--field-selector", "--output", "--namespace"):
        get.add_argument(option)
    run = commands.add_parser("exec", allow_abbrev=False)
    run.add_argument("pod")
    for flag in (("-i", "--stdin"), ("-t", "--tty"), ("-q", "--quiet")):
        run.add_argument(*flag, action="store_true")
    for option in (("-c", "--container"), ("-n", "--namespace")):
        run.add_argument(*option)
    args = parser.parse_args(words)
    with open(os.environ[FOLDER]) as file:
        pods = file.read().split()
    if args.what == "get":
        assert args.selector and args.output == "name", args
        print("".join("pod/%s\n" % pod for pod in pods), end="")
        return 0
    if args.pod not in pods:
        print('Error from server (NotFound): pods "%s" not found' % args.pod, file=sys.stderr)
        return 1
    # Nothing of the environment here gets into a container.
    inside = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", "HOSTNAME": args.pod,
              "XDG_CACHE_HOME": os.environ["HOME"]}
    if args.tty and not os.isatty(0):
        print("Unable to use a TTY - input is not a terminal or the right kind of file", file=sys.stderr)
    if args.tty and os.isatty(0):
        return on_terminal(command, dict(inside, TERM="xterm"))
    return subprocess.run(command, env=inside, check=False,
                          stdin=None if args.stdin else subprocess.DEVNULL).returncode


def on_terminal(command, environment):
    ours, theirs = pty.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
                               preexec_fn=take_terminal)
    os.close(theirs)
    before = termios.tcgetattr(0)
    tty.setraw(0)

    def resize(*_):
        fcntl.ioctl(ours, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0)))

    signal.signal(signal.SIGWINCH, resize)
    try:
        first = True
        while True:
            ready = select.select([0, ours], [], [])[0]
            if ours in ready:
                try:
                    said = os.read(ours, 65536)
                except OSError:  # EIO: nobody has the other end
                    break
                if not said:
                    break
                os.write(1, said)
                if first:
                    resize()
                    first = False
            if 0 in ready:
                typed = os.read(0, 65536)
                if not typed:
                    break
                os.write(ours, typed)
    finally:
        os.close(ours)
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
