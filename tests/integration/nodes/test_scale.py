"""Thousands of nodes, whose answers were made beforehand (bench/nodes): what they cost the asking
side. Seconds of a busy machine say nothing; those of CPU do."""

import importlib.machinery
import importlib.util

import pytest

from harness import ROOT

_loader = importlib.machinery.SourceFileLoader("bench_nodes", str(ROOT / "bench" / "nodes"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_nodes", _loader))
_loader.exec_module(bench)


@pytest.mark.parametrize("count", [1024, 4096])
def test_what_thousands_of_nodes_cost(count, tmp_path, record_property):
    _, cpu, megabytes = bench.measure(tmp_path, count, delay=0, one=True)
    record_property("cpu_s", cpu)
    # 4,096 nodes of 8 ranks may cost 10 s and 500 MB; fewer as much less.
    assert cpu < 10 * count / 4096, cpu
    assert megabytes < 500, megabytes


def test_what_it_costs_to_send_the_program_to_128_nodes(tmp_path, record_property):
    """Compressed once, some 7 MB to each: what a node does with it is not counted."""
    _, cpu, _ = bench.measure(tmp_path, 128, delay=0, needs=True)
    record_property("cpu_s", cpu)
    assert cpu < 6, cpu


def test_a_dead_node_costs_its_deadline(tmp_path):
    """measure() wants the ranks of all others, and the exit code."""
    seconds, _, _ = bench.measure(tmp_path, 16, delay=0, dead=True)
    assert seconds > 11, "it was given up before its time"
