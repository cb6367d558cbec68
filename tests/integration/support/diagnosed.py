"""What `hangdbg diagnose` says of a target, checked and kept: scripts/confusion-table
makes of it the table in docs/diagnose.md.

    said = named_first("flock", target.pid, "file-lock", "certain", r"waits for the lock")
    not_hung("an idle web server", target.pid)

The first verdict that something hangs counts, not the first one that is right. `ps` is
asked as well, and has to say the same.
"""

import json
import os
import re
import time

from harness import PATIENCE, ROOT, hangdbg, until

AFTER = "0.3"  # seconds after which a wait counts as a hang here
LOOKS = 5  # at one that is well

# What is proved only by a stop of the thread, or by watching it for seconds, which `ps`
# does not do.
CLOSER = {"busy-loop", "cuda-synchronize", "cuda-launch", "cuda-load", "nccl-init",
          "collective", "mpi-message", "autograd"}

KEPT = ROOT / "build" / "results" / "diagnosed.jsonl"
KEPT_LOOKS = KEPT.with_name("looks.jsonl")  # of scripts/ten-looks


def diagnosed(pid, *args, after=AFTER):
    """`pid` may be a list of words that choose, as ["--job", "auto"]."""
    chosen = pid if isinstance(pid, list) else [pid]
    done = hangdbg("diagnose", *chosen, "--json", "--hung-after", after, *args)
    assert done.rc == 0 and done.err == "", done
    return done.json()


def named_first(made, pid, cause, confidence, sentence, ask=diagnosed, seconds=PATIENCE):
    """Asks until it says that something hangs, and returns that. It is to be `cause`
    (one, or a tuple of them), as sure as `confidence` ("certain"; None: any), with
    the regular expression `sentence` in it, and with evidence. `made`: what the test
    did, in some words."""
    answers = []

    def told():
        answers[:] = [ask(pid)]
        return answers[0]["stalled"]
    try:
        until("hung", told, seconds)
    except AssertionError:
        if not answers:  # it could not even be asked
            raise
        keep(made, cause, answers[0])
        raise AssertionError("%s is not called hung: %s" % (made, answers)) from None
    said = answers[0]
    keep(made, cause, said)
    assert said["cause"] in _any_of(cause), (made, said)
    assert confidence in (None, said["confidence"]), (made, said)
    assert re.search(sentence, said["summary"]), (made, said)
    assert said["evidence"], (made, said)
    runs = any(link["doing"].startswith("running") for link in said.get("chain", ()))
    if ask is diagnosed and not runs and said["cause"] not in CLOSER:
        until("ps says so too", lambda: in_ps(pid) in (None, (True, said["cause"])))
    ten_looks("hangs", lambda: {made: ask(pid)})
    return said


def in_ps(pid):
    """Whether it hangs, and its cause; None of what `ps` does not list."""
    if isinstance(pid, list):
        return None
    done = hangdbg("ps", pid, "--json", "--hung-after", AFTER)
    if done.rc:
        assert "is no Python" in done.out, done
        return None
    (one,) = done.json()["processes"]
    return one["stalled"], one["cause"]


def not_hung(made, pid, ask=diagnosed, looks=LOOKS):
    """Of `looks` looks none says that it hangs; returns the last."""
    for _ in range(looks):
        said = ask(pid)
        if said["stalled"]:
            break
    keep(made, "well", said)
    assert not said["stalled"], (made, said)
    assert ask is not diagnosed or not (in_ps(pid) or [False])[0], (made, in_ps(pid), said)
    ten_looks("well", lambda: {made: ask(pid)})
    return said


def well_by(made, pid, cause):
    """Until it is said to be `cause`, and five looks more, none says that it hangs."""
    def told():
        said = diagnosed(pid)
        if said["stalled"]:
            keep(made, "well", said)
        assert not said["stalled"], (made, said)
        return said["cause"] == cause
    until(cause, told)
    return not_hung(made, pid)


def keep(made, cause, said):
    write(KEPT, {"made": made, "expected": _any_of(cause)[0], "said": said["cause"],
                 "hung": said["stalled"], "confidence": said["confidence"],
                 "test": os.environ.get("PYTEST_CURRENT_TEST", "")})


def write(path, line):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as kept:  # one write: other tests write beside us
        kept.write(json.dumps(line) + "\n")


def ten_looks(expected, look):
    """For scripts/ten-looks: ten over a minute. `look()` gives the answer by what was made."""
    if "HANGDBG_TEN_LOOKS" not in os.environ:
        return
    looks = []
    for _ in range(10):
        looks.append(look())
        time.sleep(6)
    for made in looks[0]:
        said = [[one[made].get(key) for key in ("stalled", "state", "cause", "summary")] for one in looks]
        write(KEPT_LOOKS, {"made": made, "expected": expected, "looks": said})


def _any_of(cause):
    return cause if isinstance(cause, tuple) else (cause,)
