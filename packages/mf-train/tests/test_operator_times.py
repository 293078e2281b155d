"""The lines of MindSpore's profiler, as a table and as a trace."""

from pathlib import Path

import pytest

from mf_train.records.operator_times import Execution, by_kind, chrome_trace, read_executions, table

LINES = """\
Default/layers.0/MatMul-op0;HostCpuOps;1000000,2.0,0 5000000,4.0,0 
Default/Add-op12;HostCpuOps;3500000,1.5,0 
Default/layers.1/MatMul-op7;HostCpuOps;9000000,2.5,0 
"""  # noqa: W291 (the profiler ends its lines with a blank)


@pytest.fixture
def executions(tmp_path: Path) -> list[Execution]:
    folder = tmp_path / "machine_1_ascend_ms" / "FRAMEWORK"
    folder.mkdir(parents=True)
    (folder / "cpu_op_execute_timestamp_0.txt").write_text(LINES)
    (folder / "cpu_op_type_info_0.csv").write_text("not read")
    return read_executions(tmp_path)


def test_executions_are_in_the_order_of_their_starts(executions: list[Execution]):
    assert [(one.kind, one.start, one.milliseconds) for one in executions] == [
        ("MatMul", 1_000_000, 2.0),
        ("Add", 3_500_000, 1.5),
        ("MatMul", 5_000_000, 4.0),
        ("MatMul", 9_000_000, 2.5),
    ]


def test_kinds_are_summed_and_the_hottest_comes_first(executions: list[Execution]):
    rows = by_kind(executions)
    assert [(row.operator, row.calls, row.milliseconds, row.share) for row in rows] == [
        ("MatMul", 3, 8.5, 0.85),
        ("Add", 1, 1.5, pytest.approx(0.15)),
    ]
    assert table(rows, 1).splitlines()[1].split() == ["MatMul", "3", "8.5", "85.0%"]


def test_a_trace_counts_from_its_first_start_in_microseconds(executions: list[Execution]):
    events = chrome_trace(executions)
    assert [(event["ts"], event["dur"]) for event in events] == [(0, 2000), (2500, 1500), (4000, 4000), (8000, 2500)]
    assert events[1]["args"] == {"operator": "Default/Add-op12"}


def test_nothing_measured_is_an_empty_table(tmp_path: Path):
    assert read_executions(tmp_path) == []
    assert by_kind([]) == []
    assert chrome_trace([]) == []
