"""What mkdocs does beside its own for the site (mkdocs.yml): pages are written for GitHub, and
a few things in them are put as mkdocs wants them.

- README.md, CONTRIBUTING.md and CHANGELOG.md are pages of the site.
- Each decision is in the navigation.
- Links: those three are beside the others; a folder is its README.md; what is no page of the
  site (source files, folders of code) stays as text.
- A <picture> of two schemes follows the site's switch; a list in a list is indented by four.
"""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md",
         "CHANGELOG.md": "changelog.md"}  # file of the root: its page

LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```.*?^```$)", re.M | re.S)
PICTURE = re.compile(r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" '
                     r'srcset="([^"]+)">\s*<img alt="([^"]+)" src="([^"]+)">\s*</picture>')


def on_config(config):
    for section in config["nav"]:
        if "Decisions" in section:
            section["Decisions"] += sorted(
                "decisions/" + path.name for path in (DOCS / "decisions").glob("0*.md"))
    return config


def on_files(files, config):
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    source = next((source for source, name in PAGES.items() if name == uri), "docs/" + uri)
    parts = FENCE.split(markdown)  # text, block, text, ...
    for at in range(0, len(parts), 2):
        text = re.sub(r"^<!-- [^>]* -->\n", "", parts[at], flags=re.M)
        text = PICTURE.sub(r"![\2](\3#only-light)\n![\2](\1#only-dark)", text)
        text = re.sub(r"^( +)- ", r"\1\1- ", text, flags=re.M)
        parts[at] = LINK.sub(lambda link: resolved(link, source, uri), text)
    return "".join(parts)


def resolved(link, source, uri):
    """A link of the file `source` as the page `uri` has to say it."""
    image, text, target, anchor = link[1], link[2], link[3], link[4] or ""
    if not target or ":" in target:
        return link[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if (ROOT / path).is_dir() and (ROOT / path / "README.md").exists():
        path += "/README.md"
    if path in PAGES:
        there = PAGES[path]
    elif path.startswith("docs/"):
        there = path[len("docs/"):]
    else:
        return text
    return "%s[%s](%s%s)" % (
        image, text, posixpath.relpath(there, posixpath.dirname(uri) or "."), anchor)
