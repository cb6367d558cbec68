"""Which tests run beside which: all of one file on one worker of pytest-xdist, one after
the other, so that what its fixtures start is started once.

Jobs of four ranks, threads that compute all the time, and VS Code are what makes a
machine with two CPUs too busy for the others: never more than two such files run at
once. Files that take long come first.
"""

import pathlib

HEAVY = (
    ("test_break", "test_break_json", "test_deadly", "test_diagnose_torch", "test_dynamo",
     "test_torch", "test_torch_jobs", "test_greenlets", "test_vscode"),
    ("test_dap_job", "test_diagnose_launchers", "test_diagnose_jobs", "test_launchers",
     "test_free_threaded", "test_dist", "test_vm", "test_packages", "test_readme",
     "test_tutorials", "test_json_schemas", "test_release"),
)
LONG = (*HEAVY[0], *HEAVY[1], "test_killed", "test_break_lines", "test_restart", "test_hold",
        "test_agent", "test_matrix", "test_step", "test_serve_abuse", "test_breakpoints",
        "test_diagnose_well", "test_soak", "test_sanitized_agent", "test_debug_builds")


def place(path):
    name = pathlib.PurePath(path).stem
    return LONG.index(name) if name in LONG else len(LONG)


def pytest_addoption(parser):
    parser.addoption(
        "--every-python", action="store_true",
        help="each test on each interpreter that it is for; else on those between the oldest "
             "and the newest by turns (tests/integration/conftest.py)")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: place(item.nodeid.split("::")[0]))


try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:
    pass
else:
    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            path = nodeid.split("::")[0]
            for number, names in enumerate(HEAVY):
                if pathlib.PurePath(path).stem in names:
                    return "heavy %d" % number
            return path

    def pytest_xdist_make_scheduler(config, log):
        return ByFile(config, log)
