"""The merged tree as a picture: SVG and a page, both well-formed whatever is in them."""

import os
import random
import stat
import subprocess
import xml.etree.ElementTree as xml

import pytest

from harness import PROGRAM, hangdbg
from test_jobs import ranks_of
from test_merge import DATA, GOLDEN, OUTER, REDUCES, files, frame, mismatch_and_stopped, rank

SVG = "{http://www.w3.org/2000/svg}"


def boxes(root):
    """Title, class and width of each."""
    return [(box.find(SVG + "title").text, box.get("class").split()[1],
             float(box.find(SVG + "rect").get("width")))
            for box in root.iter(SVG + "g") if (box.get("class") or "").startswith("box ")]


def test_golden(tmp_path):
    """tests/golden/merge-mismatch-and-stopped.svg, which a person has looked at."""
    done = hangdbg("merge", *files(tmp_path, mismatch_and_stopped()), "--svg", "-")
    assert done.rc == 1, done
    shown = done.out.replace(str(tmp_path) + "/", "")
    assert shown == (GOLDEN / "merge-mismatch-and-stopped.svg").read_text(), shown
    found = boxes(xml.fromstring(done.out))
    assert ("Trainer.step (/srv/train/train.py:58)\n[2] 1 rank", "odd") in [
        one[:2] for one in found]
    assert {one[1] for one in found} == {"usual", "odd", "stopped"}
    assert "@media (prefers-color-scheme: dark)" in done.out and "<script" not in done.out


def test_both_beside_the_text(tmp_path):
    paths = files(tmp_path, mismatch_and_stopped())
    svg, html = tmp_path / "a.svg", tmp_path / "a.html"
    plain = hangdbg("merge", *paths)
    done = hangdbg("merge", *paths, "--svg", svg, "--html", html)
    assert (done.rc, done.out) == (1, plain.out), done
    page = xml.fromstring(html.read_text())
    assert boxes(page) == boxes(xml.fromstring(svg.read_text()))
    items = ["".join(item.itertext()) for item in page.iter("li")]
    assert any(item.startswith("rank 2: in all_reduce") for item in items), items
    assert any("ranks 6,7 of 8 are in none" in item for item in items), items
    (tmp_path / "usual").write_text("")
    assert svg.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_of_a_job(newest_python, tmp_path):
    name, ranks = ranks_of(4, newest_python, here=[0, 1, 3])
    done = hangdbg("dump", "--job", name, "--merge", "--svg", "-")
    assert done.rc == 0, done
    assert "rank 2 is missing" in done.out and "wait_for_lock" in done.out
    assert any("[0,1,3] 3 ranks" in title for title, _, _ in boxes(xml.fromstring(done.out)))
    path = tmp_path / "a.html"
    assert hangdbg("dump", *(one.pid for one in ranks.values()), "--merge", "--html", path).rc == 0
    assert xml.fromstring(path.read_text()).find("body/h1").text == "3 processes"
    for target in ranks.values():
        target.finish()


HOSTILE = ["<lambda>", "]]>", "<!--", "&lt;", "\"'", "\x00\x01\x1b[31m", "\ud800", "\udfff x",
           "\ufffe\uffff", "\u202e\u2028", "\r\n\t", "\x85\x9f", "漢字" * 40, "é" * 3000, ""]


def test_hostile_names(tmp_path):
    ranks = [rank(n, [frame(name or "f", name + "/" + name, 1), *OUTER], len(HOSTILE), name,
                  "asleep " + name) for n, name in enumerate(HOSTILE)]
    for one in ranks:
        one["job"] = HOSTILE[0] + HOSTILE[5] + HOSTILE[6]
    (path,) = files(tmp_path, {"a": ranks})
    for words in (["--svg"], ["--html"], ["--full-filenames", "--svg"]):
        done = hangdbg("merge", path, *words, "-")
        root = xml.fromstring(done.out)
        assert len(boxes(root)) == len(OUTER) + 1 + len(HOSTILE), done.out
        assert sum("<lambda>" in title for title, _, _ in boxes(root)) == 1


def test_random_text(tmp_path):
    source = random.Random(6)

    def text():
        return "".join(chr(source.choice((source.randrange(0x20), source.randrange(0x110000),
                                          source.randrange(0xd800, 0xe000), ord("<"), ord("&"))))
                       for _ in range(source.randrange(1, 30)))
    for _ in range(20):
        ranks = [rank(n, [frame(text(), text(), source.randrange(-9, 2 ** 31))
                          for _ in range(source.randrange(1, 9))], 9, text(), text())
                 for n in range(9)]
        (path,) = files(tmp_path, {"a": ranks})
        for kind in ("--svg", "--html"):
            xml.fromstring(hangdbg("merge", path, kind, "-").out)


def test_a_name_in_a_live_process(newest_python):
    """What Python itself lets be a function's name, and a file's."""
    code = ("code = compile('def f():\\n print(flush=True); input()', '\\ud800<\\x1b&', 'exec')\n"
            "space = {}\nexec(code, space)\nf = space['f']\n"
            "f.__code__ = f.__code__.replace(co_qualname='<\\x07&\\udc80>')\nf()\n")
    child = subprocess.Popen([newest_python, "-c", code], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        done = hangdbg("dump", child.pid, "--merge", "--svg", "-")
        assert done.rc == 0, done
        titles = [title for title, _, _ in boxes(xml.fromstring(done.out))]
        assert any("\\x07&" in title for title in titles), titles
    finally:
        child.kill()
        child.communicate()


def test_deep_and_wide(tmp_path):
    """Each box can be seen; what there is no room for is folded, and who is odd is not."""
    deep = [frame("f%d" % n, DATA, n) for n in range(20000)]
    (path,) = files(tmp_path, {"a": [rank(0, deep, 1, "a")]})
    assert len(boxes(xml.fromstring(hangdbg("merge", path, "--svg", "-").out))) == 402
    wide = [rank(n, REDUCES, 2000, "a") for n in range(1990)] + [
        rank(1990, [frame("alone", DATA, 1), *OUTER], 2000, "a")]
    wide[0]["threads"] += [{"tid": 5000 + n, "state": "", "frames": [frame("g%d" % n, DATA, n)]}
                           for n in range(9000)]
    (path,) = files(tmp_path, {"a": wide})
    done = hangdbg("merge", path, "--svg", "-")
    found = boxes(xml.fromstring(done.out))
    assert 4900 < len(found) < 5100 and min(width for _, _, width in found) >= 1
    assert [title.split()[0] for title, kind, _ in found if kind == "odd"] == ["alone"]
    assert [title.split("\n")[0] for title, kind, _ in found if kind == "folded"] == [
        "%d more" % (9000 - (len(found) - 7))], [one for one in found if one[1] == "folded"]
    assert len(done.out) < 2_000_000


def test_where_it_cannot_be_written(tmp_path):
    paths = files(tmp_path, mismatch_and_stopped())
    hangdbg("merge", *paths, "--svg", tmp_path / "none" / "a.svg").assert_refused(
        2, "cannot write ", "none/a.svg")
    assert hangdbg("merge", *paths, "--svg", tmp_path).out == hangdbg("merge", *paths).out
    old = tmp_path / "old.svg"
    old.write_text("old")
    link = tmp_path / "link.svg"
    link.symlink_to(old)
    before = set(tmp_path.iterdir())
    assert hangdbg("merge", *paths, "--svg", link).rc == 1
    assert link.is_symlink() and old.read_text().startswith("<svg")
    assert set(tmp_path.iterdir()) == before
    assert hangdbg("merge", *paths, "--svg", "/dev/null").rc == 1
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    old.write_text("old")  # no room: as it was
    limited = subprocess.run(["sh", "-c", "ulimit -f 1; trap '' XFSZ; exec \"$@\"", "sh", PROGRAM,
                              "merge", *paths, "--svg", old], capture_output=True, text=True)
    assert "cannot write " in limited.stderr and old.read_text() == "old", limited
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("words, reason", [
    (["dump", "--all", "--svg", "a"], "need --merge"),
    (["dump", "--all", "--merge", "--svg", "-", "--html", "-"], "cannot share standard output")])
def test_bad_input(words, reason):
    hangdbg(*words).assert_refused(2, reason)


@pytest.mark.parametrize("words", [
    ["dump", "--all", "--merge", "--svg", "-", "--json"], ["merge", "a", "--html", "-", "--json"]])
def test_two_things_for_stdout(words):
    hangdbg(*words).assert_refused_as_json(2, "cannot share standard output")
