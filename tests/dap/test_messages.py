"""Every message that the program can send is as the specification says."""

import json
import subprocess
from pathlib import Path

from validation import validated

SAMPLES = Path(__file__).resolve().parents[2] / "build" / "tests" / "dap" / "dap_samples"

REQUESTS = set("""
    initialize attach launch configurationDone disconnect terminate setBreakpoints
    setFunctionBreakpoints setExceptionBreakpoints breakpointLocations threads stackTrace
    scopes variables setVariable setExpression evaluate completions exceptionInfo continue
    next stepIn stepInTargets stepOut pause goto gotoTargets source modules loadedSources
    cancel restartFrame startDebugging runInTerminal
    """.split())

EVENTS = set("""
    initialized stopped continued exited terminated thread output breakpoint module
    loadedSource process capabilities invalidated progressStart progressUpdate progressEnd
    """.split())


def test_every_message_is_as_specified():
    written = subprocess.run([str(SAMPLES)], stdout=subprocess.PIPE, check=True, timeout=20)
    messages = [validated(json.loads(line)) for line in written.stdout.splitlines()]
    assert REQUESTS <= {m["command"] for m in messages if m["type"] == "request"}
    assert EVENTS <= {m["event"] for m in messages if m["type"] == "event"}
