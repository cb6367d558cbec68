"""hangdbg diagnose: what a library waits for, by the table diagnosis/waits/library_waits_*.inc.
Its rows are compared with the libraries that scripts/get-libraries has got, and with the
interpreters that are here; some waits are made."""

import os
import re
import sys
from pathlib import Path

import pytest

import interpreters
import library_rows
from diagnosed import diagnosed, keep, ten_looks
from harness import ROOT, Target, in_targets, until
from library_rows import PYTHON, rows

LIBRARIES = sorted({row.library for row in rows()} - {"Python"}, key=str.lower)


def test_the_table_can_be_read():
    assert len(LIBRARIES) >= 60
    assert len(rows()) >= 400
    assert all(row.sentence and row.kind in library_rows.KINDS for row in rows())


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_rows_of(library):
    here = library_rows.installed().get(library)
    if here is None:
        pytest.skip("%s is not in .cache/libraries, which scripts/get-libraries makes" % library)
    its = [row for row in rows() if row.library == library
           and library_rows.is_in_range(here.version, row.versions)]
    if not its:
        pytest.skip("%s %s is of no row" % (library, here.version))
    wrong = [why for why in (library_rows.is_there(row, Path(here.locate_file("")))
                             for row in its) if why]
    assert not wrong, (here.version, wrong)


def test_the_rows_of_python():
    seen = {}
    for one in interpreters.found():
        if not one.variant:
            seen[one.minor] = standard_library(one.path)
    assert seen
    for row in (row for row in rows() if row.library == "Python"):
        for minor, root in seen.items():
            if library_rows.is_in_range(minor, row.versions) and (
                    root / row.file[1:].split("/")[0]).exists():
                assert not library_rows.is_there(row, root), (minor, row)


def standard_library(python):
    done = os.popen("'%s' -I -c 'import os; print(os.path.dirname(os.__file__))'" % python)
    return Path(done.read().strip())


def test_the_docs_name_all_libraries():
    """HANGDBG_WRITE_DOCS=1 writes them."""
    path = ROOT / "docs" / "diagnose.md"
    text = path.read_text()
    before, rest = text.split(library_rows.BEGIN + "\n")
    now, after = rest.split(library_rows.END, 1)
    table = library_rows.docs_table() + "\n"
    if os.environ.get("HANGDBG_WRITE_DOCS"):
        path.write_text(before + library_rows.BEGIN + "\n" + table + library_rows.END + after)
    else:
        assert now == table, "HANGDBG_WRITE_DOCS=1 %s" % Path(__file__).name


# ---- programs

PORT = r"127\.0\.0\.1:\d+"
PEER = r"(: waits for what process \d+ .*)?$"  # that has the other end, where it is seen

# Of a library of the table, what is said of the main thread, and how it gets on.
WAITS = {
    "redis_get": ("redis", r"reply of Redis at localhost:\d+ to GET" + PEER, "blocked"),
    "requests_get": ("requests", r"response of http://ada:\*\*\*@%s/slow to GET" % PORT + PEER,
                     "blocked"),
    "urllib_request": ("Python", r"response of http://%s/slow" % PORT, "blocked"),
    "httpx_get": ("httpx", r"response of http://%s/slow to GET" % PORT + PEER, "blocked"),
    "openai_request": ("openai", r"response of %s/models \(OpenAI\)" % PORT + PEER, "blocked"),
    "boto_request": ("botocore", r"AWS's answer to ListQueues of sqs" + PEER, "blocked"),
    "smtplib_greeting": ("Python", r"reply of the SMTP server 127\.0\.0\.1" + PEER, "blocked"),
    "pymysql_connect": ("PyMySQL", r"reply of MySQL at %s" % PORT + PEER, "blocked"),
    "psycopg_connect": ("psycopg", r"connects to PostgreSQL" + PEER, "blocked"),
    "paramiko_connect": ("paramiko", r"SSH handshake with 127\.0\.0\.1$", "polling"),
    "grpc_call": ("grpcio", r"answer to /shop\.Orders/List of gRPC" + PEER, "blocked"),
    "pymongo_find": ("pymongo", r"MongoDB server that can be used", "blocked"),
    "manager_call": ("Python", r"Queue\.get\(\) in its manager, .* another client and has none",
                     "stuck"),
    "pexpect_expect": ("pexpect", r"child \d+ .* to write what it expects \(pexpect\)"
                       r": waits for what process \d+ \(sleep\) writes to the terminal /dev/pts/",
                       "blocked"),
    "pool_of_connections": ("SQLAlchemy", r"connection of SQLAlchemy's pool: 1 of 1 is in use",
                            "blocked"),
    "urllib3_pool": ("urllib3", r"connection of urllib3's pool: 1 of 1 is in use$", "blocked"),
    "redis_blpop": ("redis", r"entry by BLPOP, from Redis", "idle"),
    "zmq_asks": ("pyzmq", r"reply to what its ZeroMQ socket \(REQ\) asks", "blocked"),
    "zmq_asks_for_json": ("pyzmq", r"reply to what its ZeroMQ socket \(REQ\) asks", "blocked"),
    "zmq_subscribes": ("pyzmq", r"message of a ZeroMQ socket", "idle"),
    "tenacity_retry": ("tenacity", r"pauses before its try \d+ of .*fetch", "polling"),
    "apscheduler": ("APScheduler", r"next job of its schedule", "idle"),
    "celery_worker": ("celery", r"waits for tasks", "idle"),
    "uvicorn_server": ("uvicorn", r"serves connections in its event loop on 127\.0\.0\.1:", "idle"),
    "waitress_server": ("waitress", r"connections and requests \(waitress\)", "idle"),
    "twisted_server": ("Twisted", r"events of its connections", "idle"),
    "tornado_server": ("tornado", r"event loop \(Tornado\)", "idle"),
    "trio_sleeps": ("trio", r"event loop \(Trio\)", "idle"),
    "gevent_sleeps": ("gevent", r"event loop \(gevent\) whose task main sleeps", "idle"),
    "gevent_locks": ("gevent", r"\(gevent\) whose task .*takes.* awaits `second\.acquire\(\)`",
                     "blocked"),
    "gevent_server": ("gevent", r"gevent's hub", "idle"),
    "grpc_aio_server": ("grpcio", r"whose task \S+ serves gRPC clients, and waits for", "idle"),
}
# The same of a thread beside main.
THREADS = {
    "sentry_thread": ("sentry-sdk", r"events to send \(Sentry\)"),
    "opentelemetry_thread": ("opentelemetry-sdk", r"spans or logs to export"),
    "watchdog_observer": ("watchdog", r"changes of the files"),
}


def start(case, library, folder):
    if library != "Python" and library not in library_rows.installed():
        pytest.skip("%s is not in .cache/libraries, which scripts/get-libraries makes" % library)
    python = PYTHON if library != "Python" else sys.executable
    return Target([python, in_targets("library_waits.py"), case, folder])


@pytest.mark.parametrize("case", WAITS)
def test_a_program_that_waits(case, tmp_path):
    library, sentence, progress = WAITS[case]
    target = start(case, library, tmp_path)
    said = []

    def told():
        said[:] = [diagnosed(target.pid)]
        first = said[0]["chain"][0]
        return re.search(sentence, first["summary"]) and first["state"] == progress
    try:
        until("that is said", told)
    except AssertionError:
        raise AssertionError(said) from None
    ten_looks("well" if progress == "idle" else "waits",
              lambda: {case: diagnosed(target.pid)["chain"][0]})
    if progress == "idle":
        keep("a %s that rests" % case, "well", said[0])
        assert not said[0]["stalled"], said


@pytest.mark.parametrize("case", THREADS)
def test_a_thread_that_main_joins(case, tmp_path):
    library, sentence = THREADS[case]
    target = start(case, library, tmp_path)
    said = []

    def told():
        said[:] = diagnosed(target.pid)["chain"][1:2]
        return said and re.search(sentence, said[0]["summary"]) and said[0]["state"] == "idle"
    try:
        until("that is said", told)
    except AssertionError:
        raise AssertionError(said) from None


def test_a_worker_that_was_handed_a_function_of_c(tmp_path):
    """Is at work, though no frame of it shows that."""
    target = start("anyio_thread", "anyio", tmp_path)
    until("it sleeps", lambda: "sleeps" in diagnosed(target.pid)["chain"][-1]["cause"])
    assert all("waits for work" not in one["summary"]
               for one in diagnosed(target.pid)["chain"])
