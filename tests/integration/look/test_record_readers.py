"""What hangdbg record writes, opened by programs that nobody here wrote (scripts/get-clients gets
them): speedscope in a browser reads four of the formats, and exports again what it has understood."""

import json
import shutil
from pathlib import Path

import pytest

from harness import hangdbg, in_targets
from test_clients import SCRIPTS, client, run

CACHE = Path(__file__).resolve().parents[3] / ".cache"
BROWSER = CACHE / "vscode" / "node_modules"

pytestmark = pytest.mark.slow


@pytest.fixture
def speedscope():
    """Opens a file, and returns what speedscope exports: [(functions, outermost first, weight)]."""
    folder = client("speedscope", "node")
    chromium = shutil.which("chromium")
    if not (BROWSER / "playwright-core").is_dir() or chromium is None:
        pytest.skip("no browser: scripts/get-vscode has not been run")

    def read(path):
        found = json.loads(run("node", SCRIPTS / "speedscope.js", folder, path,
                               NODE_PATH=str(BROWSER), CHROMIUM=chromium))
        frames = [frame["name"].split(" (")[0] for frame in found["shared"]["frames"]]
        return [stack for profile in found["profiles"] for stack in stacks_of(profile, frames)]
    return read


def stacks_of(profile, frames):
    if profile["type"] == "sampled":
        for stack, weight in zip(profile["samples"], profile["weights"]):
            yield tuple(frames[frame] for frame in stack), weight
        return
    calls, last = [], profile["startValue"]
    for event in profile["events"]:
        if event["at"] > last and calls:
            yield tuple(calls), event["at"] - last
        last = event["at"]
        if event["type"] == "O":
            calls.append(frames[event["frame"]])
        else:
            assert calls.pop() == frames[event["frame"]]
    assert not calls


def shares(stacks):
    """Of the stacks that end in a function of the program, by function."""
    sums = {}
    for functions, weight in stacks:
        sums[functions[-1]] = sums.get(functions[-1], 0) + weight
    return {name: weight / sum(sums.values()) for name, weight in sums.items()}


@pytest.mark.parametrize("form, suffix", [("speedscope", ".speedscope.json"), ("chrome", ".json"),
                                          ("collapsed", ".txt"), ("pprof", ".pb")])
def test_speedscope_understands(form, suffix, speedscope, newest_python, tmp_path):
    path = tmp_path / ("a" + suffix)
    done = hangdbg("record", "-r", "200", "-F", "-o", path, "-f", form, "--json", "--", newest_python,
                   in_targets("known_shares.py"), "0.7", "chains,others")
    assert done.rc == 0, done
    ours = json.loads(done.out.splitlines()[-1])  # after what the program says
    own = {one["function"].split(".")[-1]: one["own"] / ours["weight"] for one in ours["functions"]
           if one["own"] > 0}
    theirs = shares(speedscope(path))
    assert {name.split(".")[-1] for name in theirs} == set(own)
    assert theirs["spend"] == pytest.approx(own["spend"], abs=0.01)
