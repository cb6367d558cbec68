"""One test a check of checks.py; conftest.py has the session, the time and the results."""

import pytest

import checks


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.name)
def check_gpu(check, targets, evidence):
    check.run(evidence, targets, check)
    failures = evidence.failures()
    if failures:
        first = failures[0]
        pytest.fail("%d of %d rows: %s: %s" % (
            len(failures), len(evidence.rows), first["expected"], first["seen"][:300]),
            pytrace=False)
