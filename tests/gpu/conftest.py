"""The session of `run`: skips by name what cannot be, keeps the time, writes results.

What `run` wants is in the environment (SETTING); without it, as when pytest is started by
hand, everything is skipped.
"""

import json
import os
import sys
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import checks
import machine
from evidence import Evidence
from session import Cannot, Session, TimeOver, alarm

SETTING = "HANGDBG_GPU_SETTING"  # JSON: see run
CHECK_SECONDS = 11  # that a check takes with `hangdbg report`, about
RESERVE = 3  # seconds that a check must have at least


def pytest_configure(config):
    text = os.environ.get(SETTING)
    setting = json.loads(text) if text else None
    config.gpu = None
    config.gpu_results = {}
    if setting:
        config.gpu = Session(setting["work"], setting["program"],
                             time.monotonic() + setting["seconds"], setting["rehearsed"],
                             setting["absent"], setting["names"])
        config.gpu_lines = os.fdopen(setting["lines"], "w")


def pytest_collection_modifyitems(config, items):
    """Only those that were asked for; their order is that of checks.py."""
    session = config.gpu
    if session:
        items[:] = [item for item in items
                    if item.callspec.params["check"].name in session.names]


@pytest.fixture
def gpu(request):
    session = request.config.gpu
    if session is None:
        pytest.skip("start it by tests/gpu/run")
    return session


@pytest.fixture
def targets(request, gpu, check):
    if gpu.absent:
        pytest.skip(gpu.absent)
    missing = [module for module in check.needs if not gpu.rehearsed and not machine.has(module)]
    if missing:
        pytest.skip("Python has no module " + ", ".join(missing))
    if gpu.left() < RESERVE:
        pytest.skip("no time is left")
    # A rehearsal is on whatever machine there is, and that may be busy.
    alarm(min(check.seconds * (1 + gpu.rehearsed), gpu.left()))
    yield gpu.begin(check)
    alarm(0)
    gpu.stop()


@pytest.fixture
def evidence(request, gpu, check, targets):
    at = gpu.names.index(check.name)
    roomy = gpu.left() > CHECK_SECONDS * (len(gpu.names) - at)
    one = Evidence(os.path.join(gpu.work, check.name), gpu.program, gpu.rehearsed,
                   at == 0 or (roomy and not gpu.rehearsed), gpu.note_pids)
    gpu.ahead(following(request, check))
    yield one
    for number, target in enumerate(targets):
        one.text("target-%d.err" % number, target.stderr())
    one.facts["ready"] = [target.ready for target in targets]
    one.write()


def following(request, check):
    """The check after this one, if it will run."""
    names = request.config.gpu.names
    at = names.index(check.name) + 1
    if at == len(names):
        return None
    after = checks.named([names[at]])[0]
    ready = request.config.gpu.rehearsed or all(map(machine.has, after.needs))
    return after if ready else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A target that lacks something is a skip; so is a check that the session's end cut."""
    outcome = yield
    report = outcome.get_result()
    error = call.excinfo.value if call.excinfo else None
    session = item.config.gpu
    if isinstance(error, Cannot):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, "Skipped: %s" % error)
    elif isinstance(error, TimeOver) and session and session.left() < RESERVE:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, "Skipped: no time is left")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    config = item.config
    begun = time.monotonic()
    reports = config.gpu_results[item.nodeid] = []
    yield
    if config.gpu is None:
        return
    name = item.callspec.params["check"].name
    outcome, why = verdict(reports)
    line = {"check": name, "outcome": outcome, "why": why,
            "seconds": round(time.monotonic() - begun, 2)}
    folder = os.path.join(config.gpu.work, name)
    if os.path.isdir(folder):
        with open(os.path.join(folder, "result.json"), "w") as file:
            json.dump(line, file, indent=1)
    config.gpu_lines.write(json.dumps(line) + "\n")
    config.gpu_lines.flush()


class Reports:
    """Keeps the reports of each check."""

    def __init__(self, config):
        self.config = config

    def pytest_runtest_logreport(self, report):
        self.config.gpu_results[report.nodeid].append(report)


def pytest_sessionstart(session):
    session.config.pluginmanager.register(Reports(session.config))


def verdict(reports):
    for outcome in ("failed", "skipped"):
        for report in reports:
            if report.outcome == outcome:
                why = report.longrepr[2] if isinstance(report.longrepr, tuple) \
                    else str(report.longrepr)
                return outcome, why.replace("Skipped: ", "", 1)
    return "passed", ""


def pytest_unconfigure(config):
    if getattr(config, "gpu", None):
        config.gpu.stop(everything=True)
