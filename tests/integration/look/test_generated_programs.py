"""hangdbg dump --json --locals against what 200 programs made by chance have written of their
own stacks just before they blocked: each frame, line, column and value."""

import json

from harness import hangdbg, start, until

PROGRAMS = 200
SEED = "1"
LONGEST = 200  # of a text, which is cut after that


def test_all_agree(readable_python, tmp_path):
    target = start("generated", readable_python, PROGRAMS, tmp_path, SEED)

    def all_blocked():
        done = hangdbg("dump", "--json", "--locals=20", target.pid, "--timeout", "60")
        assert done.rc == 0, done
        threads = [one for one in done.json()["processes"][0]["threads"]
                   if one["name"].startswith("program-")]
        blocked = [one for one in threads if one["frames"][0]["function"] == "stop"
                   and one["state"].startswith("asleep in futex")]
        return len(blocked) == PROGRAMS and {one["name"]: one for one in blocked}

    shown = until("all have blocked", all_blocked)
    written = json.loads((tmp_path / "stacks.json").read_text())
    assert len(written) == PROGRAMS
    wrong = [(name, difference) for name, frames in written.items()
             for difference in differences(frames, shown[name])]
    assert not wrong, (len(wrong), wrong[:5])
    assert target.finish(seconds=60)["programs"] == PROGRAMS


def differences(written, thread):
    if not (thread["exact"] and thread["locals_exact"] and thread["complete"]):
        yield "not exact", thread
    frames = [one for one in thread["frames"] if one["kind"] == "python"]
    ends = next(at for at, one in enumerate(frames) if one["function"] == "run"
                and one["file"].endswith("/generated.py"))
    frames = frames[1:ends]
    if len(frames) != len(written):
        yield "depth", [one["function"] for one in frames], [one["function"] for one in written]
        return
    for one, own in zip(frames, written):
        for key in ("function", "file", "line"):
            if one[key] != own[key]:
                yield key, own, one
        if own["qualname"] is not None and one["qualname"] != own["qualname"]:
            yield "qualname", own, one
        if own["place"] is not None:
            place = [one["line"], one["end_line"], one["column"], one["end_column"]]
            if place != own["place"]:
                yield "place", own, place
        for name, text in own["locals"].items():
            if name not in one["locals"]:
                if own["is_function"]:
                    yield "no local", name, own, one
            elif len(text) <= LONGEST and one["locals"][name]["repr"] != text:
                yield "value", name, text, one["locals"][name]
