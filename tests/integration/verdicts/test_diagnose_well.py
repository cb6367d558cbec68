"""hangdbg diagnose: of programs that are well none is called hung, whatever they wait
for."""

import os
import re
import subprocess

import pytest

import interpreters
from diagnosed import not_hung
from harness import Target, die_with_us, in_targets, track, until
from hangs import folder_with
from versions import by_case

CASES = re.findall(r"^def ([a-z]\w*)\(\):", in_targets("healthy.py").read_text(), re.MULTILINE)


@by_case(CASES, on_edges={"asyncio_timers", "thread_pool_at_rest",
                          "process_pool_at_work", "takes_turns", "timer", "imports_slowly"})
def test_who_is_well(case, python, tmp_path):
    target = Target([python, in_targets("healthy.py"), case, tmp_path])
    not_hung(case, target.pid)


def debians():
    """That the wheels are for."""
    fits = [it.path for it in interpreters.found() if (it.minor, it.variant) == ("3.11", "")]
    if not fits:
        pytest.skip("no Python 3.11 here")
    return fits[0]


APP = """
def app(environ, start_response):
    start_response("200 OK", [])
    return [b"well"]
"""


@pytest.mark.parametrize("worker", ["sync", "gthread"])
def test_gunicorn_without_requests(worker, tmp_path):
    python = debians()
    path = folder_with("gunicorn", python, "gunicorn")
    (tmp_path / "web.py").write_text(APP)
    process = begin(tmp_path, [python, "-m", "gunicorn", "-w", "2", "-k", worker, "-b",
                               "unix:%s/web" % tmp_path, "web:app"], path)
    workers = []

    def come():
        log = (tmp_path / "log").read_text()
        workers[:] = [int(pid) for pid in re.findall(r"Booting worker with pid: (\d+)", log)]
        return len(workers) == 2
    until("workers", come)
    not_hung("gunicorn", process.pid)
    for pid in workers:
        not_hung("a %s worker of gunicorn" % worker, pid)


def test_a_kernel_of_jupyter(tmp_path):
    python = debians()
    path = folder_with("ipykernel", python, "ipykernel")
    process = begin(tmp_path, [python, "-m", "ipykernel_launcher", "-f",
                               tmp_path / "connection.json"], path)
    until("a kernel", lambda: "--existing" in (tmp_path / "log").read_text())
    not_hung("ipykernel", process.pid, looks=8)


def begin(folder, command, path):
    with open(folder / "log", "w") as log:
        return track(subprocess.Popen(
            [str(word) for word in command], cwd=str(folder), stdout=log, stderr=log,
            stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_us,
            env=dict(os.environ, PYTHONPATH=path, HOME=str(folder))))
