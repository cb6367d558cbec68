"""The pages hang together: links and anchors lead somewhere, what is generated is up to date,
decisions have one form, and they make a site without a warning."""

import functools
import html.parser
import os
import re
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, PROGRAM, ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md",
         *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
SITE_SECONDS = 120


def named(path):
    return str(path.relative_to(ROOT))


@functools.lru_cache(None)
def text_of(path):
    """Without blocks of code."""
    return FENCE.sub("", path.read_text())


@functools.lru_cache(None)
def anchors(path):
    """As GitHub makes them of headings."""
    found, times = set(), {}
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text_of(path), re.M):
        heading = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(name if name not in times else "%s-%d" % (name, times[name]))
        times[name] = times.get(name, 0) + 1
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text_of(path)))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    wrong = []
    text = re.sub(r"`[^`\n]*`", "", text_of(page))
    for found in LINK.finditer(text):
        target = found[1] or found[2]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or ROOT not in [there, *there.parents]:
            wrong.append(target)
        elif anchor and anchor not in anchors(there):
            wrong.append("%s (it has: %s)" % (target, ", ".join(sorted(anchors(there)))))
    assert not wrong, "\n".join(wrong)


def test_what_is_generated_is_up_to_date():
    done = subprocess.run(
        [ROOT / "scripts" / "write-reference", "--check"], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=PATIENCE,
        env=dict(os.environ, HANGDBG=str(PROGRAM)))
    assert done.returncode == 0, done.stdout + "scripts/write-reference writes them"


# ---- decisions

DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))


def test_decisions_begin_with_the_decision_and_are_listed():
    """The list in README.md repeats their titles and says what became of them."""
    rows = []
    for page in DECISIONS:
        text = page.read_text()
        form = re.match(r"# (\d+)\. (.+)\n\nDate: [0-9]{4}-.*?\. Status: (.+?)\n\n## Decision\n\n",
                        text, re.S)
        assert form and int(form[1]) == int(page.name[:4]), page.name
        assert "\n## What was given up\n" in text, page.name
        status = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", form[3].replace("\n", " "))
        rows.append("| [%s](%s) | %s | %s |" % (
            page.name[:4], page.name, form[2], status.removesuffix(".")))
    listed = (ROOT / "docs" / "decisions" / "README.md").read_text()
    assert re.findall(r"^\| \[.*$", listed, re.M) == rows


# ---- the site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder that scripts/site has made, with what it has fetched before."""
    fetched = ROOT / ".cache" / "site" / "complete"
    wanted = (ROOT / "docs" / "requirements.txt").read_text()
    if not fetched.exists() or fetched.read_text() != wanted:
        pytest.skip("mkdocs-material: scripts/site has not fetched it")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [ROOT / "scripts" / "site", folder], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=SITE_SECONDS)
    assert done.returncode == 0, done.stdout
    return folder


def test_the_site_has_every_page(site):
    for page in PAGES:
        if page.name == "README.md" and page.parent.name in ("docs", "reference", "schemas"):
            continue  # of the folder, for those who work there
        name = {"README.md": "index", "CONTRIBUTING.md": "contributing",
                "CHANGELOG.md": "changelog"}.get(named(page))
        if name is None:
            inside = page.relative_to(ROOT / "docs").with_suffix("")
            name = str(inside.parent / "index" if inside.name == "README" else inside)
        assert (site / (name + ".html")).exists(), name


class Loaded(html.parser.HTMLParser):
    """What a browser fetches to show a page."""

    def __init__(self, text):
        super().__init__()
        self.found, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in ("script", "img", "source", "iframe"):
            self.found += [attributes.get("src"), attributes.get("srcset")]
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "preconnect", "icon"):
            self.found.append(attributes.get("href"))
        elif tag == "a":
            self.links.append(attributes.get("href"))


def test_the_site_needs_no_other_host(site):
    for page in site.rglob("*.html"):
        loaded = Loaded(page.read_text())
        for target in filter(None, loaded.found):
            assert not re.match(r"([a-z]+:)?//", target), (page, target)
            there = page.parent / re.split("[?#]", target)[0]
            assert page.name == "404.html" or there.exists(), (page, target)
        for target in filter(None, loaded.links):
            path = target.partition("#")[0]
            if path and not re.match(r"[a-z]+:", path) and page.name != "404.html":
                assert (page.parent / path).exists(), (page, target)
    for sheet in site.rglob("*.css"):
        urls = re.findall(r"url\(['\"]?((?:https?:)?//[^)]*)", sheet.read_text(errors="replace"))
        assert not urls, (sheet, urls)


def test_lists_and_blocks_are_shown_as_such(site):
    """Where Python-Markdown reads other than GitHub, scripts/site_hooks.py makes up for it."""
    usage = (site / "usage.html").read_text()
    assert re.search(r"<li>\s*<code>--source</code>", usage), "a list in a list"
    for page in site.rglob("*.html"):
        text = re.sub(r"<(code|pre)[ >].*?</\1>", "", page.read_text(), flags=re.S)
        assert "```" not in text and "&lt;!-- " not in text, page
