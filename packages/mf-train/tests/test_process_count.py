"""How many processes a configuration takes."""

from pathlib import Path

import pytest

from mf_config import UserError, decode, load
from mf_train.process_count import check_process_count


def message(run_file: Path, size: int, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        check_process_count(decode(load(str(run_file), list(overrides))), size)
    return str(caught.value)


def test_fitting_numbers_pass(run_file: Path):
    for size, overrides in ((1, []), (1, ["use_parallel=True"]), (3, ["use_parallel=True"])):
        check_process_count(decode(load(str(run_file), overrides)), size)
    check_process_count(decode(load(str(run_file), ["use_parallel=True", "parallel_config.data_parallel=2"])), 2)


def test_several_processes_need_use_parallel(run_file: Path):
    assert message(run_file, 2) == "use_parallel: False, but 2 processes are started. Allowed: True."


def test_data_parallel_must_be_the_number_of_processes(run_file: Path):
    words = ("use_parallel=True", "parallel_config.data_parallel=4")
    assert message(run_file, 2, *words) == (
        "parallel_config.data_parallel: 4, but 2 processes are started. "
        "Allowed: --workers 4, or data_parallel: 2 (1 stands for all processes)."
    )
    assert "but 1 process is started" in message(run_file, 1, *words)
