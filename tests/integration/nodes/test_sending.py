"""The program on its way to a node that has what POSIX and coreutils have, and gzip, or a little more."""

import json
import shutil
import struct
from pathlib import Path

import pytest

from harness import PROGRAM, hangdbg

TOOLS = ("cat", "chmod", "gzip", "head", "ln", "mkdir", "mktemp", "mv", "rm", "rmdir", "sh", "timeout",
         "uname", "wc")
FAILS_HALFWAY = "#!/bin/sh\necho half >\"$3\"\nexit 1\n"


def what_is_sent():
    """What is loaded of the program, without its section headers."""
    whole = bytearray(Path(PROGRAM).read_bytes())
    at, = struct.unpack_from("<Q", whole, 32)
    count, = struct.unpack_from("<H", whole, 56)
    headers = [struct.unpack_from("<IIQQQQ", whole, at + 56 * number) for number in range(count)]
    end = max(offset + size for kind, _, offset, _, _, size in headers if kind == 1)
    whole[40:48], whole[60:64] = bytes(8), bytes(4)
    return bytes(whole[:end])


@pytest.fixture
def node(tmp_path):
    """The words of a node with these tools alone."""
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    return "env -i NODE={host} PATH=%s/bin XDG_CACHE_HOME=%s/cache" % (tmp_path, tmp_path)


def ask(via):
    done = hangdbg("host", "1", "--json", "--via", "cmd:n1 " + via)
    return done, json.loads(done.out)["nodes"][0]["error"]


@pytest.mark.parametrize("fallocate", ["none", "real", "fails halfway"])
def test_it_is_kept_as_it_is(fallocate, node, tmp_path):
    path = tmp_path / "bin" / "fallocate"
    if fallocate == "real":
        path.symlink_to(shutil.which("fallocate"))
    elif fallocate == "fails halfway":
        path.write_text(FAILS_HALFWAY)
        path.chmod(0o755)
    done, error = ask(node)
    assert error is None, done
    kept, = (tmp_path / "cache" / "hangdbg").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o700
    assert kept.read_bytes() == what_is_sent()
    assert ask(node)[1] is None


@pytest.mark.parametrize("way", ["head -c 3000000", "head -c 3000000; echo more; cat"])
def test_half_of_it_is_not_kept(way, node, tmp_path):
    """Its first page, which says what it is, has arrived."""
    done, error = ask("sh -c '{ %s; cat >/dev/null; } | \"$@\"' sh %s" % (way, node))
    assert error and "gzip: stdin: " in error["message"], done
    assert not list((tmp_path / "cache" / "hangdbg").iterdir())
    assert ask(node)[1] is None
