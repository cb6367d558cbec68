"""Programs that were started oddly: with options of Python's, settings of the libc's,
under other programs, with other libraries. Each is asked, and counts on."""

import os
import shutil
import subprocess
import zipfile

import pytest

import interpreters
from harness import NORMAL_EXIT, in_targets
from unusual import Counting, assert_asked, spread

# name: (options, environment, the first minor version that has it)
OPTIONS = {
    "strict": (["-X", "dev", "-bb", "-W", "error"], {}, 7),
    "isolated": (["-E", "-s", "-S", "-OO"], {}, 7),
    "import times": (["-X", "importtime"], {}, 7),
    "perf": (["-X", "perf"], {}, 12),
    "perf by jit": (["-X", "perf_jit"], {}, 13),
    "short integers": (["-X", "int_max_str_digits=640"], {}, 11),
    "no lines": (["-X", "no_debug_ranges", "-X", "frozen_modules=off"], {}, 11),
    "no remote debug": (["-X", "disable-remote-debug"], {}, 14),
    "contexts are inherited": (
        ["-X", "thread_inherit_context=1", "-X", "context_aware_warnings=1"], {}, 14),
    "unbuffered": (["-u", "-B", "-q"], {"PYTHONHASHSEED": "0"}, 7),
    "ASCII": (["-X", "utf8=0"], {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, 7),
    "malloc of the libc": ([], {
        "PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1", "MALLOC_PERTURB_": "85",
        "MALLOC_MMAP_THRESHOLD_": "4096", "MALLOC_TOP_PAD_": "0"}, 7),
    "malloc that checks": ([], {"PYTHONMALLOC": "malloc_debug"}, 7),
    "tunables": ([], {"GLIBC_TUNABLES": ":".join((
        "glibc.malloc.tcache_count=0", "glibc.pthread.stack_cache_size=0",
        "glibc.pthread.rseq=0", "glibc.malloc.hugetlb=1", "glibc.malloc.check=3"))}, 7),
    "huge environment": ([], {"X%d" % number: "x" * 100000 for number in range(15)}, 7),
    "bound at once": ([], {"LD_BIND_NOW": "1", "LD_DYNAMIC_WEAK": "1"}, 7),
}


@pytest.mark.parametrize("name, python", spread(OPTIONS))
def test_options(name, python, tmp_path):
    options, environment, since = OPTIONS[name]
    if interpreters.minor(python) < since:
        pytest.skip("from 3.%d on" % since)
    if "PYTHONMALLOC" in environment and interpreters.variant(python):
        pytest.skip("a free-threaded Python has its own malloc only")
    target = Counting(tmp_path, "plain", python, *options, env=environment)
    assert_asked(target)
    target.end()


# name: what it is started by
COMMANDS = {
    "small stack": ["prlimit", "--stack=524288:"],
    "stack without limit": ["prlimit", "--stack=unlimited:unlimited"],
    "huge stacks": ["prlimit", "--stack=17179869184:"],
    "no random addresses": ["setarch", "--addr-no-randomize"],
    "old layout": ["setarch", "--addr-compat-layout"],
    "all memory is code": ["setarch", "--read-implies-exec"],
    "page zero": ["setarch", "--mmap-page-zero"],
    "kept timeouts": ["setarch", "--sticky-timeouts", "--uname-2.6"],
    "short addresses": ["setarch", "--32bit", "--3gb"],
    "hidden processes": ["unshare", "--mount", "sh", "-c",
                         "mount -t proc -o hidepid=2,subset=pid proc /proc && exec \"$@\"", "sh"],
    "nothing at sys": ["unshare", "--mount", "sh", "-c",
                        "mount -t tmpfs none /sys && exec \"$@\"", "sh"],
    "own everything": ["unshare", "--mount", "--net", "--ipc", "--uts", "--cgroup"],
}


@pytest.mark.parametrize("name, python", spread(COMMANDS))
def test_started_by(name, python, tmp_path):
    command = COMMANDS[name]
    if not shutil.which(command[0]) or os.geteuid() != 0:
        pytest.skip("needs root and " + command[0])
    target = Counting(tmp_path, "plain", python, before=command)
    assert_asked(target)
    target.end()


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    for name in ("preload", "audit"):
        subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-O1", "-D" + name.upper(), "-o",
                        folder / name, in_targets("preloaded.c")], check=True)
    return folder


@pytest.mark.parametrize("name, python", spread(["preload", "audit"]))
def test_libraries_ahead_of_all(name, python, libraries, tmp_path):
    target = Counting(tmp_path, "plain", python,
                      env={"LD_" + name.upper(): str(libraries / name)})
    assert_asked(target)
    target.end()


def test_with_a_gil_after_all(edge_python, tmp_path):
    if interpreters.variant(edge_python) != interpreters.FREE_THREADED:
        pytest.skip("of the free-threaded one")
    target = Counting(tmp_path, "computes", edge_python, "-X", "gil=1")
    assert_asked(target)
    target.end()


# ---- where its code is


UNUSUAL = in_targets("unusual.py")


def archive(folder):
    with zipfile.ZipFile(folder / "all.zip", "w") as file:
        for source in UNUSUAL.parent.glob("*.py"):
            if source.name.startswith(("unusual", "common")):
                name = "__main__.py" if source.name == "unusual.py" else source.name
                file.write(source, name)
    return [folder / "all.zip"]


# name: what tells Python where
PLACES = {
    "archive": archive,
    "command": lambda folder: ["-c", UNUSUAL.read_text()],
    "module": lambda folder: ["-m", "unusual"],
    "pdb": lambda folder: ["-m", "pdb", "-c", "continue", UNUSUAL],
    "cProfile": lambda folder: ["-m", "cProfile", "-o", folder / "profile", UNUSUAL],
    "trace": lambda folder: ["-m", "trace", "--count", "--coverdir", folder,
                             UNUSUAL],
}


@pytest.mark.parametrize("name, python", spread(PLACES))
def test_code_that_lies_elsewhere(name, python, tmp_path):
    where = PLACES[name](tmp_path)
    code = 0 if name in ("pdb", "cProfile", "trace") else NORMAL_EXIT  # their own
    target = Counting(tmp_path, "plain", python, env={"PYTHONPATH": str(UNUSUAL.parent)},
                      command=[python, *where, tmp_path / "words", "plain"])
    assert_asked(target)
    target.end(code)
