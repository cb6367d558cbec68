"""What the tutorials, the first steps and the recipes show is what hangdbg does, in the programs
that they show (pages.py has the form of a block, stages.py what it is run beside)."""

import os
import shutil
import signal
import subprocess

import pytest

import pages
import stages
from harness import PATIENCE, PROGRAM, ROOT, hangdbg, in_targets, track, until
from pages import SHOWN, WRITE, blocks, compare, copied

PAGES = ["docs/recipes.md",
         *sorted("docs/tutorials/" + path.name for path in (ROOT / "docs/tutorials").glob("*.md")),
         "docs/first-steps.md"]  # on each page what lets the program go on is last


def staged(stage):
    """A fixture of a module: its block's commands run in the stage's folder."""
    name = stage.__name__.lower()

    @pytest.fixture(scope="module", name=name)
    def fixture(tmp_path_factory):
        one = stage(tmp_path_factory.mktemp(name))
        try:
            one.begin()
            yield one
        finally:
            one.end()
    return fixture


mean, core, crawl, shop, scores, fused, epoch, export, cluster = map(
    staged, (stages.Mean, stages.Core, stages.Crawl, stages.Shop, stages.Scores, stages.Fused,
             stages.Epoch, stages.Export, stages.Cluster))


# ---- the tests


def of(*besides):
    return pytest.mark.parametrize("block", blocks(PAGES, *besides))


def check(block, stage, monkeypatch, once=False):
    monkeypatch.chdir(stage.folder)
    for name, value in getattr(stage, "environment", {}).items():
        monkeypatch.setenv(name, value)
    compare(block, stage.names, getattr(stage, "programs", None), once)


@of("mean")
def test_mean(block, mean, monkeypatch):
    check(block, mean, monkeypatch)


@of("lone")
def test_lone(block, tmp_path_factory, monkeypatch):
    """The command may end the program: it is run once beside one of its own."""
    def is_compared():
        one = stages.Mean(tmp_path_factory.mktemp("lone"))
        try:
            one.begin()
            check(block, one, monkeypatch, once=True)
            return True
        except pages.Untold:
            return False
        finally:
            one.end()
    until("it says how long all sleep", is_compared)


@of("core")
def test_core(block, core, monkeypatch):
    check(block, core, monkeypatch)


@of("crawl")
def test_crawl(block, crawl, monkeypatch):
    check(block, crawl, monkeypatch)


@of("shop")
def test_shop(block, shop, monkeypatch):
    check(block, shop, monkeypatch)


@of("export")
def test_export(block, export, monkeypatch):
    check(block, export, monkeypatch)


@pytest.mark.slow
@of("fused")
def test_fused(block, fused, monkeypatch):
    check(block, fused, monkeypatch)


@pytest.mark.slow
@of("scores")
def test_scores(block, scores, monkeypatch):
    check(block, scores, monkeypatch)


@pytest.mark.slow
@of("epoch")
def test_epoch(block, epoch, monkeypatch):
    check(block, epoch, monkeypatch)


@pytest.mark.slow
@of("cluster")
def test_cluster(block, cluster, monkeypatch):
    check(block, cluster, monkeypatch)


def test_the_watch(tmp_path):
    """The script of docs/tutorials/ci.md. The limit is the moment in which the test hangs."""
    copied(tmp_path, tutorials__ci_export="test_export.py")
    shutil.copy(in_targets("watch"), tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "hangdbg").symlink_to(PROGRAM)
    (programs / "sleep").write_text("#!/bin/sh\nuntil [ -e hung ]; do /bin/sleep 0.1; done\n")
    (programs / "sleep").chmod(0o755)
    log = open(tmp_path / "log", "w+")
    process = track(subprocess.Popen(
        ["bash", "watch", "600", stages.PYTHON, "-m", "pytest", "-p", "no:cacheprovider",
         "test_export.py"], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=log,
        stderr=subprocess.STDOUT, start_new_session=True,
        env=dict(os.environ, PATH="%s:%s" % (programs, os.environ["PATH"]))))

    def tests_of():
        return [one["pid"] for one in hangdbg("ps", "--json").json()["processes"]
                if one["stalled"] and "test_export.py" in one["cmdline"]
                and os.readlink("/proc/%d/cwd" % one["pid"]) == str(tmp_path)]
    until("the test hangs", tests_of)
    (tmp_path / "hung").touch()
    assert process.wait(PATIENCE) == 128 + signal.SIGKILL
    said = (tmp_path / "log").read_text()
    assert "certain \u00b7 subprocess-pipe" in said, said
    assert (tmp_path / "hang.tar.gz").exists(), said
    until("nothing is left", lambda: not [
        pid for pid in os.listdir("/proc") if pid.isdigit() and works_in(pid, tmp_path)])


def works_in(pid, folder):
    try:
        return os.readlink("/proc/%s/cwd" % pid) == str(folder)
    except OSError:  # it has ended
        return False


def test_the_watch_of_what_is_well(tmp_path):
    watch = in_targets("watch")
    for code in (0, 3):
        process = track(subprocess.Popen(
            ["bash", watch, "600", "sh", "-c", "exit %d" % code], cwd=tmp_path,
            stdin=subprocess.DEVNULL, start_new_session=True))
        assert process.wait(PATIENCE) == code
    until("its sleep is gone", lambda: not [
        pid for pid in os.listdir("/proc") if pid.isdigit() and works_in(pid, tmp_path)])


BESIDE = {"mean", "lone", "core", "crawl", "shop", "export", "fused", "scores", "epoch", "cluster",
          "build", "running", "hung"}  # the last three: test_readme.py


def test_every_block_is_run():
    for page in PAGES:
        text = (ROOT / page).read_text()
        found = [match[1] for match in pages.BLOCK.finditer(text)]
        assert len(found) == text.count("\n```console\n"), page
        assert set(found) <= BESIDE, page


@pytest.mark.parametrize("page", PAGES)
def test_programs_are_those_of_the_repository(page):
    path = ROOT / page
    text = path.read_text()
    for source, language, shown in SHOWN.findall(text):
        real = (ROOT / source).read_text()
        if WRITE and shown != real:
            block = "<!-- file: %s -->\n```%s\n%%s```" % (source, language)
            path.write_text(path.read_text().replace(block % shown, block % real))
        else:
            assert shown == real, source
        assert len(real.splitlines()) <= 30, source
