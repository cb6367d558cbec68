"""Steps of the prompt beside those of pdb, over the same programs by the same commands: the
same stops, but for what is listed here (and in docs/coming-from.md)."""

import pytest

import interpreters
from beside_pdb import LIMIT, WALKS, names_for, pdb, prompt, write_programs

# What differs, why, and in which walks.
GENERATOR = "pdb loses who leaves a generator by r, or stops there for its StopIteration"
LOOP = "a step stays with its coroutine, and goes on in what runs it; pdb runs away at its end"
ALIVE = "pdb keeps the objects of a frame alive by looking at it: nothing of theirs is run"
LINE = "the line of the instruction: up to 3.9 a traced frame keeps the line that came before"
WANTED = {
    ("generator", "mixed"): GENERATOR,
    ("yield_from", "mixed"): GENERATOR,
    ("generator_raises", "mixed"): GENERATOR,
    ("generator_expression", "mixed"): GENERATOR,
    **{(name, walk): LOOP for name in ("await_", "async_for", "async_with", "gather",
                                       "async_raises") for walk in WALKS},
    **{("threads", walk): ALIVE for walk in WALKS},
    **{("deleted", walk): ALIVE for walk in WALKS},
    ("comprehensions", "mixed"): LINE,
}
VERSIONS = ("3.8", "3.11", "3.13", "3.14")


def shown(walk):
    return "\n".join("%-4s %-20s %s:%d %s" % (command, *stop) for command, stop in walk)


@pytest.mark.timeout(2 * LIMIT)
@pytest.mark.parametrize("version", VERSIONS)
def test_as_pdb(version, tmp_path):
    found = [it for it in interpreters.found() if it.minor == version and not it.variant]
    if not found:
        pytest.skip(interpreters.missing().get((version, ""), "no CPython " + version))
    minor = int(version.split(".")[1])
    script = write_programs(tmp_path, minor)
    theirs, ours = pdb(found[-1].path, script), prompt(found[-1].path, script)
    try:
        same = 0
        for name in names_for(minor):
            for walk, commands in WALKS.items():
                wanted, seen = theirs.walk(name, commands), ours.walk(name, commands)
                same += wanted == seen
                assert wanted == seen or (name, walk) in WANTED, "%s, %s: pdb\n%s\nhere\n%s" % (
                    name, walk, shown(wanted), shown(seen))
        assert same >= 120, same  # of 164 to 172
    finally:
        theirs.close()
        ours.close()
