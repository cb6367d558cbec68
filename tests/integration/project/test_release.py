"""scripts/release: what it refuses, and that what it packages of build/hangdbg is complete, of
one version, described by a valid bill of materials, and the same twice.

CI has packaged once already (dist/). Elsewhere it is done twice here."""

import email
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from harness import ROOT

RELEASE, COMPARE = ROOT / "scripts/release", ROOT / "scripts/compare-packages"
TOOLS = ROOT / ".cache/package-tools/bin"
# A version beside the name, as in hangdbg-0.1.0 and hangdbg 0.1.0.
WRITTEN = re.compile(r"hangdbg[-_ \"':,(]{1,3}v?\d+\.\d+\.\d+\b")
MAY_NAME_ONE = ("CHANGELOG.md", "tests/")


def run(*words, **how):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, **how)


def version():
    return run(ROOT / "scripts/version", check=True).stdout.strip()


# ---- one place has the version


def test_no_other_file_names_a_version():
    files = run("git", "-C", ROOT, "ls-files", check=True).stdout.splitlines()
    found = []
    for name in files:
        path = ROOT / name
        if not name.startswith(MAY_NAME_ONE) and path.is_file():
            found += [name + ": " + one for one in WRITTEN.findall(
                path.read_bytes().decode("utf-8", "replace"))]
    assert not found
    assert WRITTEN.search("pip install hangdbg-0.1.0-py3") and WRITTEN.search('"hangdbg", "0.1.0"') is None


def test_npm_has_no_version_of_its_own():
    package = json.loads((ROOT / "vscode/package.json").read_text())
    locked = json.loads((ROOT / "vscode/package-lock.json").read_text())
    assert [package["version"], locked["version"], locked["packages"][""]["version"]] == ["0.0.0"] * 3


# ---- what is refused


@pytest.fixture
def tree(tmp_path):
    """A repository with what scripts/release looks at first."""
    for name in ("CMakeLists.txt", "scripts/release", "scripts/version", "scripts/release-notes"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n## [%s] - 2026-01-31\n\n### Added\n\n- All.\n\n"
        "## [0.0.1] - 2026-01-01\n\n- Nothing.\n" % version())
    run("git", "init", "--quiet", tmp_path, check=True)
    commit(tmp_path)
    return tmp_path


def commit(tree):
    run("git", "-C", tree, "add", "-A", check=True)
    run("git", "-C", tree, "-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit",
        "--quiet", "-m", "all", check=True)


def refused(tree, *words):
    """The one line that it says."""
    done = run(tree / "scripts/release", *words, cwd=tree)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.count("\n") == 1, done
    return done.stderr


@pytest.mark.parametrize("words", [[], ["--check"]])
def test_a_tree_with_changes_is_refused(tree, words):
    (tree / "new file").write_text("")
    assert "1 files differ from the commit" in refused(tree, *words)
    assert "new file" in refused(tree, *words)


@pytest.mark.parametrize("heading", ["## [9.9.9] - 2026-01-31", "## [%s]", "## [%s] - soon"])
def test_a_version_without_a_section_is_refused(tree, heading):
    changes = tree / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace(
        "## [%s] - 2026-01-31" % version(), heading.replace("%s", version())))
    commit(tree)
    assert 'no section "## [%s] - YYYY-MM-DD"' % version() in refused(tree)


def test_the_tag_of_another_version_is_refused(tree):
    run("git", "-C", tree, "tag", "v9.9.9", check=True)
    assert "the tag v9.9.9, CMakeLists.txt the version " + version() in refused(tree)


@pytest.mark.parametrize("words", [["--what"], ["--check", "now"]])
def test_usage(tree, words):
    assert refused(tree, *words).startswith("usage: scripts/release ")


def test_release_notes_are_the_section(tree):
    done = run(tree / "scripts/release-notes", cwd=tree)
    assert done.stdout.startswith("# hangdbg %s, 2026-01-31\n\n### Added\n\n- All.\n" % version()), done
    assert "Unreleased" not in done.stdout and "Nothing" not in done.stdout


# ---- where two builds differ


def test_compare_names_the_member_and_the_byte(tmp_path):
    for folder, text in (("a", "one text"), ("b", "one test")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same").write_text("same")
        with zipfile.ZipFile(tmp_path / folder / "x.whl", "w") as archive:
            archive.writestr(zipfile.ZipInfo("member.py"), text)
            archive.writestr(zipfile.ZipInfo("other.py"), "same")
    (tmp_path / "b/more").write_text("")
    done = run(COMPARE, tmp_path / "a", tmp_path / "b", env={**os.environ, "PATH": "/nowhere"})
    assert done.returncode == 1, done
    assert "member.py: 8 and 8 bytes, from byte 6 on: b'one text', b'one test'" in done.stdout
    assert "other.py" not in done.stdout and "only in %s: more" % (tmp_path / "b") in done.stdout
    assert "2 of 3 files differ" in done.stdout
    done = run(COMPARE, tmp_path / "a", tmp_path / "a")
    assert (done.returncode, "0 of 2 files differ" in done.stdout) == (0, True), done


# ---- what is made

made = pytest.mark.slow


def package_into(folder):
    done = run(RELEASE, "--trial", "--out", folder, timeout=600)
    assert done.returncode == 0, done
    return folder


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    if not all((ROOT / "build" / name).exists() for name in ("hangdbg", "hangdbg.map", "hangdbg.1.gz")):
        pytest.skip("no build/hangdbg: scripts/build makes it")
    return package_into(tmp_path_factory.mktemp("release") / "packages")


def package(packages, pattern):
    found = sorted(packages.glob(pattern))
    if not found:
        pytest.skip("no %s could be made here" % pattern)
    (one,) = found
    return one


def one_file(packages):
    with tarfile.open(package(packages, "*.tar.gz")) as archive:
        (member,) = [one for one in archive if one.name.endswith("/hangdbg")]
        return archive.extractfile(member).read()


@made
def test_twice_the_same_bytes(packages, tmp_path):
    other = ROOT / "dist"
    if not (os.environ.get("CI") and other.exists()):
        other = package_into(tmp_path / "again")
    done = run(COMPARE, packages, other)
    assert done.returncode == 0, done.stdout


@made
def test_all_files_are_there(packages):
    name = "hangdbg-" + version()
    there = {re.sub(r"-py3-none-.*\.whl$", ".whl", path.name) for path in packages.iterdir()}
    may_lack = {name + ".whl", name + ".vsix"}  # without pip's or npm's registry
    assert there | may_lack == may_lack | {
        "SHA256SUMS", "RELEASE-NOTES.md", name + ".spdx.json", name + "-linux-x86_64.tar.gz",
        "hangdbg_%s_amd64.deb" % version()}


@made
def test_checksums(packages):
    sums = packages / "SHA256SUMS"
    done = run("sha256sum", "--strict", "-c", sums, cwd=packages)
    assert done.returncode == 0, done
    listed = {line.split()[-1] for line in sums.read_text().splitlines()}
    assert listed == {path.name for path in packages.iterdir()} - {sums.name}


@made
def test_tarball(packages):
    with tarfile.open(package(packages, "*.tar.gz")) as archive:
        members = {one.name.split("/", 1)[1]: one for one in archive if one.isfile()}
        folders = {one.name.split("/")[0] for one in archive}
    assert folders == {"hangdbg-%s-linux-x86_64" % version()}
    assert set(members) == {
        "hangdbg", "hangdbg.1", "LICENSE", "THIRD-PARTY-LICENSES.txt",
        "completion/hangdbg.bash", "completion/_hangdbg", "completion/hangdbg.fish"}
    assert {name: oct(one.mode) for name, one in members.items() if one.mode != 0o644} == {"hangdbg": "0o755"}
    assert {(one.uid, one.gid) for one in members.values()} == {(0, 0)}


@made
def test_all_say_the_same_version(packages, tmp_path):
    program = tmp_path / "hangdbg"
    program.write_bytes(one_file(packages))
    program.chmod(0o755)
    said = {"program": run(program, "--version").stdout.split()[-1]}
    said["deb"] = run("dpkg-deb", "-f", package(packages, "*.deb"), "Version").stdout.strip()
    said["bill"] = json.loads(package(packages, "*.spdx.json").read_text())["name"].split("-")[1]
    for wheel in packages.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            said["wheel"] = email.message_from_bytes(archive.read(
                "hangdbg-%s.dist-info/METADATA" % version()))["Version"]
    for extension in packages.glob("*.vsix"):
        with zipfile.ZipFile(extension) as archive:
            said["vsix"] = json.loads(archive.read("extension/package.json"))["version"]
            assert b'Version="%s"' % version().encode() in archive.read("extension.vsixmanifest")
    assert said == dict.fromkeys(said, version())


@made
def test_program_names_no_folder_of_the_build(packages):
    program = one_file(packages)
    assert str(ROOT).encode() + b"/" not in program
    assert b"\0base/log.cpp\0" in program  # as errors name the source
    # As ccache would have them.
    ours = rb"base|protocol|tracee|inspector|diagnosis|injector|agent|server|client"
    assert re.findall(rb"\.\./(?:%s)/[\w/]+\.(?:h|cpp)\0" % ours, program) == []


@made
@pytest.mark.parametrize("pattern", ["*.whl", "*.vsix"])
def test_modes_are_not_of_the_umask(packages, pattern):
    with zipfile.ZipFile(package(packages, pattern)) as archive:
        modes = {one.filename: one.external_attr >> 16 for one in archive.infolist()}
        assert archive.testzip() is None
    programs = {name for name in modes if name.endswith("/scripts/hangdbg")}
    assert modes == {name: 0o100755 if name in programs else 0o100644 for name in modes}


@made
def test_wheel_is_small(packages):
    assert package(packages, "*.whl").stat().st_size <= 8e6


@made
def test_bill_of_materials(packages):
    bill = json.loads(package(packages, "*.spdx.json").read_text())
    described = {one["name"]: one for one in bill["packages"]}
    linked = {"glibc", "openssl", "libunwind", "gcc-12", "boost1.81", "nlohmann-json3"}
    assert linked <= set(described)
    assert all(described[name]["licenseConcluded"] != "NOASSERTION" for name in linked)
    (program,) = described["hangdbg"]["checksums"]
    assert program["checksumValue"] == hashlib.sha256(one_file(packages)).hexdigest()
    archives = {one["packageFileName"]: one["checksums"][0]["checksumValue"]
                for one in bill["packages"] if "packageFileName" in one}
    assert archives == {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                        for path in packages.iterdir() if path.suffix in (".whl", ".deb", ".gz", ".vsix")}
    files = {one["fileName"] for one in bill["files"]}
    assert {"./usr/bin/hangdbg", "./hangdbg-%s-linux-x86_64/hangdbg.1" % version()} <= files
    assert list(packages.glob("*.whl")) == [] or "./hangdbg/__init__.py" in files


@made
def test_bill_is_valid(packages, tmp_path):
    checker = TOOLS / "pyspdxtools"
    if not checker.exists():
        pytest.skip("no spdx-tools could be fetched")
    bill = package(packages, "*.spdx.json")
    done = run(checker, "-i", bill)
    assert done.returncode == 0, done
    broken = tmp_path / "broken.spdx.json"
    broken.write_text(bill.read_text().replace('"SPDX-2.3"', '"SPDX-9"').replace("Zlib", "No Such Licence"))
    assert run(checker, "-i", broken).returncode != 0


# ---- GitHub


def test_workflows_are_valid(tmp_path):
    checker = TOOLS / "check-jsonschema"
    if not checker.exists():
        pytest.skip("no check-jsonschema could be fetched: scripts/package does")
    words = [checker, "--builtin-schema", "vendor.github-workflows"]
    workflows = sorted((ROOT / ".github/workflows").glob("*.yml"))
    assert len(workflows) == 2
    done = run(*words, *workflows)
    assert done.returncode == 0, done.stdout
    broken = tmp_path / "broken.yml"
    broken.write_text(workflows[0].read_text().replace("runs-on:", "runs-at:"))
    assert run(*words, broken).returncode != 0
