"""The words of names, comments, messages and pages are the field's: the list below says which are not used
here, and what is said instead (docs/decisions/0088).

A phrase is found over the end of a line, too. What a page must quote is in QUOTED.
"""

import functools
import re
import subprocess

import pytest

from harness import ROOT

# By regular expressions: what is not said, and what is.
WORDS = {
    # ---- names
    r"\bCaseThread\b|\bclass Case\b|\bstruct Case\b": "ProcessSnapshot, ThreadSnapshot",
    r"\b(class|struct) World\b": "SystemSnapshot",
    r"\bStanding\b": "Progress; of a thread that is held: parked",
    r"\b(WaitLook|ThreadLook|ProcessLook|Sight)\b": "WaitSample, ThreadSample, ProcessSampler",
    r"\bkReasons\b|\bexplain_by_": "refiners",
    r"waiting_rooms?": "stdlib_blocking_frames",
    r"\b(is_)?idle_loop\b": "worker_loop",
    r"\bSubject\b|InspectedProcess": "Target",
    r"\bSurroundings\b|unusual_around": "HostContext, environment_warnings",
    r"\bTaskRuns\b": "SchedStats",
    r"\bAttachment\b": "TracedThread",
    r"\bStandstill\b": "StopBudget",
    r"OldCollectives|RaisedTimeouts|meeting_place": "TimeoutOverride, rendezvous_point",
    r"OutsideView": "OutOfProcessView",
    r"LeftPrograms|\boverseer\b": "DetachedChildren, coordinator",
    r"\bOddOnes\b|\b[Oo]dd (ones?|ranks?)\b": "outliers",
    r"\bonly_hung\b|\bframe_choice\b": "default_target, frame_selector",
    r"\bwakes_by_itself\b|\bcause_behind\b": "has_timeout, blocked_by",
    # ---- no person for a thing
    r"\band who has it\b|\bwho has it is\b": "held by, its owner",
    r"\bwhich (thread|process) (\d+|\{\}|%d)( \"[^\"]*\"| \(\w+\))? has\b(?! (been|ended|a|no)\b)":
        "held by",
    r"\bnot to be (seen|had|taken|known|told)\b": "cannot be seen; unknown",
    r"\bhas chosen\b": "fixed; selected",
    r"\bwhat for is not known": "cause unknown",
    r"\b(let|lets) (it|them|him|her|each|all) go on\b": "resume",
    r"\b[Tt]akes? hold of\b": "suspend",
    r"\b[Gg]oes round\b": "spins, loops",
    r"\bin earnest\b": "by a blocking acquire",
    r"\bfarewell\b": "detach handshake",
    r"\b(the|agent's|whose) door\b|\bknock(s|ed)? at\b": "rendezvous pipe, connect",
    r"\bwhat hangs on it\b": "what can be reached from it",
    r"\bas without us\b": "as it would without hangdbg",
    r"\ball there is to say\b": "all that is known",
    r"\bthe end to write\b": "the write end",
    r"\btold on stderr\b": "written to stderr",
    r"\basleep in \w+ since\b": "asleep in futex for 1.1 s",
    r"\bwaits for itself\b": "self-deadlock",
    r"\bas [\w`./()'-]+ has it\b": "as in",
    r"\b(read|seen|made|chosen) from outside\b": "out of process",
    r"\b(and|to) leave\.$": "exit",
}
# What the list itself is about, what went before, and what others have written.
QUOTED = re.compile(r"CHANGELOG\.md|docs/decisions/|.*\.(inc|json|lock|png|svg|cast)$|tests/fuzz/seeds/|"
                    r"tests/integration/project/test_words\.py|LICENSE")
LEADER = re.compile(r"[ \t]*\n[ \t]*(?://+|#|\*|;)?[ \t]*")


@functools.lru_cache(None)
def texts():
    """By name, each file in one line."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files"], text=True, capture_output=True,
                           check=True).stdout.splitlines()
    found = {}
    for name in names:
        if not QUOTED.match(name) and (ROOT / name).is_file():
            text = (ROOT / name).read_bytes()
            if b"\0" not in text:
                found[name] = LEADER.sub(" ", text.decode(errors="replace"))
    return found


@pytest.mark.parametrize("words", WORDS, ids=WORDS.get)
def test_is_said_in_other_words(words):
    pattern = re.compile(words)
    found = ["%s: ...%s..." % (name, text[max(0, at.start() - 30):at.end() + 30])
             for name, text in texts().items() for at in pattern.finditer(text)]
    assert not found, "%s: say %s\n%s" % (words, WORDS[words], "\n".join(found))


def test_a_phrase_is_found_over_the_end_of_a_line():
    assert len(texts()) > 1000
    assert LEADER.sub(" ", "// what hangs\n//   on it") == "// what hangs on it"
