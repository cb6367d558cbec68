"""What scripts/package has made (dist/) is used where it is meant to be: the wheel in
virtual environments, the .deb in Debian's roots, the one file in any root at all."""

import hashlib
import json
import shutil
import subprocess
import tarfile
import zipfile

import pytest

import interpreters
import roots
from harness import ROOT, Target, in_targets, place, start

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # a root may be fetched
DIST = ROOT / "dist"
# Debian 12's own, which knows no Python after 3.11; and the newest, none before 3.10.
PIPS = [ROOT / ".cache" / name / "bin" / "pip" for name in ("pip", "package-tools")]
MINORS = [minor for minor in interpreters.MINORS if minor != "3.6"]
VERSION = "hangdbg %s" % subprocess.run(
    [str(ROOT / "scripts/version")], stdout=subprocess.PIPE, text=True, check=True).stdout


def package(pattern):
    found = sorted(DIST.glob(pattern))
    if not found:
        pytest.skip("no %s in dist/: scripts/package makes it" % pattern)
    return found[-1]


@pytest.fixture
def one_file(tmp_path):
    with tarfile.open(package("*-linux-x86_64.tar.gz")) as archive:
        (member,) = [one for one in archive if one.name.endswith("/hangdbg")]
        member.name = "hangdbg"
        archive.extract(member, tmp_path)
    return tmp_path / "hangdbg"


def asks(run, target):
    """--version, doctor, and eval in a hung process."""
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, VERSION), done
    done = run("doctor", target.pid)
    assert done.returncode == 0, done
    before = target.snapshot()
    done = run("eval", target.pid, "answer + 1", *place(target))
    assert (done.returncode, done.stdout) == (0, "42\n"), done
    target.assert_as_before(before)
    assert target.finish()["answer"] == 41


def asks_in(root, program, python):
    target = Target(roots.in_root(root, python, "/targets/lock_main.py"))
    target.wait_hung()
    asks(lambda *words: roots.run_in(root, program, *words), target)


@pytest.mark.parametrize("suite", ["bullseye", "trixie"])
def test_one_file_in_a_debian(suite, one_file, tmp_path):
    root = roots.debian(suite, tmp_path)
    shutil.copy(one_file, root / "hangdbg")
    asks_in(root, "/hangdbg", "/usr/bin/python3")


def test_one_file_on_musl(one_file, tmp_path):
    root, python = roots.musl(tmp_path)
    shutil.copy(one_file, root / "hangdbg")
    asks_in(root, "/hangdbg", python)


def test_one_file_in_an_empty_root(one_file, tmp_path, newest_python):
    """As copied into a container that has nothing but /proc."""
    root = roots.empty(tmp_path)
    shutil.copy(one_file, root / "hangdbg")
    target = start("lock_main", newest_python)
    asks(lambda *words: roots.run_in(root, "/hangdbg", *words), target)


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_deb(suite, tmp_path):
    deb = package("*.deb")
    root = roots.debian(suite, tmp_path)
    shutil.copy(deb, root)
    done = roots.run_in(root, "dpkg", "-i", "/" + deb.name)
    assert done.returncode == 0, done
    asks_in(root, "hangdbg", "/usr/bin/python3")
    shell = "complete -p hangdbg 2>/dev/null; . /usr/share/bash-completion/completions/hangdbg && complete -p hangdbg"
    assert "-F _hangdbg" in roots.run_in(root, "bash", "-c", shell).stdout
    done = roots.run_in(root, "dpkg", "--purge", "hangdbg")
    assert done.returncode == 0, done
    left = roots.run_in(root, "find", "/usr", "/etc", "-name", "*hangdbg*")
    assert left.stdout == "", left


def test_lintian_has_no_complaint():
    deb = package("*.deb")
    if shutil.which("lintian") is None:
        pytest.skip("no lintian here")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", str(deb)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done


@pytest.fixture(scope="module")
def environment(tmp_path_factory, request):
    """A fresh virtual environment with the wheel; its bin folder."""
    wheel = package("*.whl")
    python = an_interpreter(request.param)
    folder = tmp_path_factory.mktemp("venv-" + request.param)
    # The oldest of all is the one that may refuse what later ones take.
    pip = PIPS[int(request.param.split(".")[1]) >= 10]
    own_pip = request.param == MINORS[0] or not pip.exists()
    subprocess.run([python, "-m", "venv", *["--without-pip"] * (not own_pip), str(folder)],
                   check=True)
    pip = [str(folder / "bin" / "pip")] if own_pip else [
        str(pip), "--python", str(folder / "bin" / "python")]
    done = subprocess.run([*pip, "install", "--no-index", str(wheel)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return folder / "bin"


def an_interpreter(minor):
    """One that can make such an environment with pip, if there is one."""
    found = [it.path for it in interpreters.found()
             if (it.minor, it.variant) == (minor, "")]
    if not found:
        pytest.skip("no Python %s here" % minor)
    return min(found, key=lambda path: subprocess.run(  # Debian's are unpacked, not installed
        [path, "-c", "import ensurepip"], stderr=subprocess.DEVNULL).returncode)


@pytest.mark.parametrize("environment", MINORS, indirect=True)
def test_wheel(environment):
    python = str(environment / "python")

    def run(*words):
        return subprocess.run([str(environment / "hangdbg"), *map(str, words)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)

    target = Target([python, str(in_targets("lock_main.py"))])
    target.wait_hung()
    asks(run, target)
    done = subprocess.run(
        [python, "-c", "import hangdbg; print(hangdbg.wait(0.1), hangdbg.__file__)"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.stdout.startswith("False " + str(environment.parent)), done


def test_wheel_is_small_and_for_any_linux():
    wheel = package("*.whl")
    assert wheel.stat().st_size < 8e6
    assert "-py3-none-manylinux" in wheel.name and "musllinux" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("THIRD-PARTY-LICENSES.txt")]
        assert b"glibc" in archive.read(name)


def test_bill_of_materials(one_file):
    """It is of the program that is in the packages."""
    bill = json.loads(package("*.spdx.json").read_text())
    described = {one["name"]: one for one in bill["packages"]}
    assert {"glibc", "openssl", "libunwind", "gcc-12", "boost1.81"} <= set(described)
    assert all(one["versionInfo"] and one["licenseConcluded"] for one in bill["packages"])
    (checksum,) = described["hangdbg"]["checksums"]
    assert checksum["checksumValue"] == hashlib.sha256(one_file.read_bytes()).hexdigest()


def test_sums():
    sums = package("SHA256SUMS")
    done = subprocess.run(["sha256sum", "--strict", "-c", sums.name], cwd=str(DIST),
                          stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    listed = {line.split()[-1] for line in sums.read_text().splitlines()}
    assert listed == {path.name for path in DIST.iterdir()} - {"SHA256SUMS"}
