"""Which of the interpreters that were found a test is for: parameters of fixtures
(conftest.py), and of tests whose cases are for different ones."""

import pytest

import interpreters

FOUND = interpreters.found()
PLAIN = [it for it in FOUND if not it.variant]  # by version
FREE_THREADED = [it for it in FOUND if it.variant == interpreters.FREE_THREADED]
EDGES = PLAIN[:1] + PLAIN[1:][-1:] + FREE_THREADED


def parameters(chosen):
    """A parameter for each interpreter; none at all is a failure, not a skip."""
    return [pytest.param(it.path, id=interpreters.name(it)) for it in chosen] or [
        pytest.param(None, id="no-interpreter")
    ]


def by_case(cases, on_edges):
    """Parameters `case` and `python`: of `on_edges`, what is read of Python's memory or its
    library, on the oldest, the newest and the free-threaded interpreters; of the others,
    which are the kernel's affair or have a neighbour there, on the newest."""
    assert set(on_edges) <= set(cases), set(on_edges) - set(cases)
    return pytest.mark.parametrize("case, python", [
        pytest.param(case, *one.values, id="%s-%s" % (case.replace(" ", "_"), one.id))
        for case in cases
        for one in parameters(EDGES if case in on_edges else PLAIN[-1:])])
