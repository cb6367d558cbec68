"""Interpreters in programs other than python: linked in and exported or not,
stripped, with their symbols elsewhere, opened by another program, not started.

Built here from tests/targets/native/embed.c and Debian's libpython3.11-dev, or what
each interpreter brings along.
"""

import lzma
import os
import shutil
import subprocess

import pytest

import processes
from harness import PATIENCE, Target, as_nobody, behind, hangdbg, in_targets

INCLUDED = "/usr/lib/python3.11/config-3.11-x86_64-linux-gnu/libpython3.11.a"
SHARED = "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"

# What the linker is told, beside the source.
BUILDS = {
    "hidden": ["-no-pie", INCLUDED, "-lexpat", "-lz", "-lm"],
    "no_build_id": ["-no-pie", "-Wl,--build-id=none", INCLUDED, "-lexpat", "-lz", "-lm"],
    "exporting": ["-no-pie", "-rdynamic", INCLUDED, "-lexpat", "-lz", "-lm"],
    "static": ["-static", INCLUDED, "-lexpat", "-lz", "-lm"],
    "static_thread": ["-DIN_THREAD", "-static", INCLUDED, "-lexpat", "-lz", "-lm"],
    "local": ['-DLIBPYTHON="%s"' % SHARED],
    "thread": ["-DIN_THREAD", SHARED],
    "never": ["-DNEVER", SHARED],
    "stays": ["-DSTAYS", SHARED],
}


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """build(NAME) links that program, once, and returns its path."""
    for needed in (INCLUDED, SHARED):
        if not os.path.exists(needed):
            pytest.skip("%s is not there (libpython3.11-dev)" % needed)
    folder = tmp_path_factory.mktemp("programs")

    def build_one(name):
        program = folder / name
        if not program.exists():
            link(program, *BUILDS[name])
        return program

    return build_one


@pytest.fixture
def copy(build, tmp_path):
    """copy(NAME) is a program of the test's own, to be changed."""
    return lambda name: shutil.copy(build(name), tmp_path / name)


def link(program, *flags):
    run("gcc", "-O1", "-w", in_targets("embed.c"), "-o", program, *flags)


def run(*command):
    done = subprocess.run(
        list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=5 * PATIENCE, text=True,
    )
    assert done.returncode == 0, done.stdout


def start(program, *prefix, targets=None, env=None):
    folder = targets or in_targets("lock_main.py").parent
    target = Target([*prefix, program, "%s/lock_main.py" % folder], env)
    target.wait_hung()
    return target


def assert_reached(target, run=hangdbg):
    """Both commands give the value, and the program ends as if alone."""
    before = target.snapshot()
    done = run("eval", target.pid, "answer + 1")
    assert (done.rc, done.out) == (0, "42\n"), done
    done = run("attach", target.pid, "-c", "answer = 43", "-c", "p sorted(seen)")
    assert done.rc == 0 and "[0, 2, 4]" in done.out.splitlines(), done
    target.assert_as_before(before)
    assert target.finish()["answer"] == 43


def assert_doctor(target, rc, *words):
    done = hangdbg("doctor", target.pid)
    assert done.rc == rc, done
    for word in words:
        assert str(word) in done.out, done


@pytest.mark.parametrize(
    "name",
    ["hidden", "no_build_id", "exporting", "static_thread", "local", "thread"],
)
def test_programs(build, name):
    target = start(build(name))
    assert_doctor(target, 0, "python 3.11", "is possible")
    assert_reached(target)


def test_static_without_pthread_join(build):
    """Nothing in it joins a thread, so its linker left out what we need."""
    target = start(build("static"))
    hangdbg("eval", target.pid, "1").assert_refused(4, target.pid, "pthread_join")
    target.finish()


def test_stripped_that_exports(copy):
    program = copy("exporting")
    run("strip", program)
    assert_reached(start(program))


def test_symbols_in_a_debug_file_beside_it(copy):
    program = copy("hidden")
    separate = str(program) + ".debug"
    run("objcopy", "--only-keep-debug", program, separate)
    run("strip", program)
    run("objcopy", "--add-gnu-debuglink", separate, program)
    assert_reached(start(program))


def test_symbols_by_build_id(copy, tmp_path):
    """Under /usr/lib/debug, as the target's mount namespace has it."""
    if os.geteuid() != 0:
        pytest.skip("a mount namespace needs root")
    if not os.path.isdir("/usr/lib/debug"):
        pytest.skip("no /usr/lib/debug to mount over")
    program = copy("hidden")
    notes = subprocess.run(["readelf", "-n", str(program)], stdout=subprocess.PIPE)
    build_id = notes.stdout.decode().split("Build ID: ")[1].split()[0]
    folder = tmp_path / ".build-id" / build_id[:2]
    folder.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", program, folder / (build_id[2:] + ".debug"))
    run("strip", program)
    mount = 'mount --bind "$0" /usr/lib/debug && exec "$@"'
    assert_reached(start(program, "unshare", "--mount", "sh", "-c", mount, tmp_path))


def test_compressed_symbols_in_the_file(copy, tmp_path):
    assert_reached(start(with_compressed_symbols(copy("hidden"), tmp_path)))


def with_compressed_symbols(program, folder):
    """As Fedora has them: functions and variables, no constants."""
    symbols = folder / "symbols"
    run("objcopy", "--only-keep-debug", "--strip-symbol=Py_Version", program, symbols)
    packed = folder / "symbols.xz"
    packed.write_bytes(lzma.compress(symbols.read_bytes(), preset=1))
    run("strip", program)
    run("objcopy", "--add-section", ".gnu_debugdata=%s" % packed, program)
    return program


@pytest.mark.slow
@pytest.mark.parametrize("symbols", ["plain", "compressed"])
def test_each_version(python, symbols, tmp_path):
    """Linked in and not exported."""
    ask = "import sys, sysconfig; print(*sys.version_info[:2], sys.prefix, " \
        "*map(sysconfig.get_config_var, ['LIBPL', 'LIBRARY', 'LIBS', 'SYSLIBS']))"
    answer = subprocess.run([python, "-c", ask], stdout=subprocess.PIPE, check=True)
    major, minor, prefix, folder, library, *libraries = answer.stdout.decode().split()
    if int(minor) < 8:
        pytest.skip("import json crashes it: 3.7's modules need what it exports")
    archive = "%s/%s" % (folder, library)
    if not os.path.exists(archive):
        pytest.skip("%s has no libpython.a" % python)
    program = tmp_path / "program"
    link(program, "-no-pie", archive, "-lexpat", "-lz", *libraries)
    if symbols == "compressed":
        with_compressed_symbols(program, tmp_path)
    target = start(program, env={"PYTHONHOME": prefix})
    done = hangdbg("eval", target.pid, "__import__('sys').version_info[:2]")
    assert (done.rc, done.out) == (0, "(%s, %s)\n" % (major, minor)), done
    assert_doctor(target, 0, "python %s.%s" % (major, minor))
    assert_reached(target)


def test_debug_file_of_another_build(copy):
    """It has the right name and the wrong symbols."""
    program = copy("hidden")
    separate = str(program) + ".debug"
    other = copy("no_build_id")
    run("strip", program)
    run("objcopy", "--only-keep-debug", other, separate)
    run("objcopy", "--add-gnu-debuglink", separate, program)
    assert_no_symbols(start(program))


def test_stripped_that_exports_nothing(copy):
    program = copy("hidden")
    run("strip", program)
    assert_no_symbols(start(program))


def assert_no_symbols(target):
    before = target.snapshot()
    hangdbg("eval", target.pid, "1").assert_refused(4, target.pid, "stripped", "try:")
    assert_doctor(target, 4, "stripped", "hangdbg dump %d" % target.pid)
    checks = hangdbg("doctor", target.pid, "--json").json()["checks"]
    assert checks[-1]["id"] == "no-symbols"
    # To read it needs no symbols.
    (process,) = hangdbg("dump", target.pid, "--json", "--locals").json()["processes"]
    (thread,) = [t for t in process["threads"] if t["tid"] == target.tid]
    assert target.function in [f["function"] for f in thread["frames"]]
    assert thread["exact"] and all(f["line"] for f in thread["frames"])
    assert target.snapshot() == before
    target.finish()


@pytest.mark.parametrize("change", ["deleted", "replaced"])
@pytest.mark.parametrize("name", ["hidden", "no_build_id"])
def test_file_that_is_no_longer_there(copy, change, name):
    program = copy(name)
    target = start(program)
    os.unlink(program)
    if change == "replaced":
        shutil.copy("/bin/true", program)
    assert_reached(target)


def test_deleted_file_without_root(build, public):
    """Only /proc/PID/exe leads to it then."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    program = shutil.copy(build("hidden"), public)
    target = start(program, *as_nobody(), targets=public + "/targets")
    os.unlink(program)
    assert_reached(target, behind(*as_nobody(public + "/hangdbg")))


def test_not_started(build):
    target = Target([build("never")])
    hangdbg("eval", target.pid, "1").assert_refused(4, target.pid, "start")
    assert_doctor(target, 4, "start")
    target.process.stdin.write(b"\n")
    target.process.stdin.flush()
    assert target.process.wait(PATIENCE) == 7


def test_python_ends_under_a_session(build, terminal):
    """And its program lives on."""
    script = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1])\n"
        "try: runpy.run_path(sys.argv[1] + '/lock_main.py')\n"
        "except SystemExit: pass\n"
    )
    target = Target([build("stays"), "-c", script, in_targets("lock_main.py").parent])
    target.wait_hung()
    session = terminal(target.pid)
    session.expect_prompt()
    target.go_on()
    assert target.read_line(PATIENCE)["answer"] == 41
    session.type("p answer\r")
    session.expect("ended its Python")
    assert session.wait() == 4
    hangdbg("eval", target.pid, "1").assert_refused(4, "shutting down")
    assert list(processes.threads(target.pid)) == [target.pid]
    assert target.alive()
