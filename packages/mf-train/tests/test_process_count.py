"""How many processes a configuration takes."""

from pathlib import Path

import pytest

from mf_config import UserError, decode, load
from mf_train.layout.process_count import check_process_count, replicas_of


def message(run_file: Path, size: int, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        check_process_count(decode(load(str(run_file), list(overrides))), size)
    return str(caught.value)


def test_fitting_numbers_pass(run_file: Path):
    for size, overrides in ((1, []), (1, ["use_parallel=True"]), (3, ["use_parallel=True"])):
        check_process_count(decode(load(str(run_file), overrides)), size)
    check_process_count(decode(load(str(run_file), ["use_parallel=True", "parallel_config.data_parallel=2"])), 2)


def test_all_degrees_multiply_to_the_number_of_processes(run_file: Path):
    overrides = ["use_parallel=True", "parallel_config.model_parallel=2", "parallel_config.context_parallel=2"]
    config = decode(load(str(run_file), overrides))
    check_process_count(config, 8)
    assert replicas_of(config, 8) == 2
    assert message(run_file, 6, *overrides) == (
        "parallel_config.data_parallel: 1 x model_parallel 2 x context_parallel 2, but 6 processes are started. "
        "Allowed: --workers 4."
    )
    assert message(run_file, 8, *overrides, "parallel_config.data_parallel=4").endswith(
        "Allowed: --workers 16, or data_parallel: 2 (1 stands for all that the others leave)."
    )


def test_in_data_parallel_mode_the_other_degrees_do_not_count(run_file: Path):
    overrides = ["use_parallel=True", "parallel.parallel_mode=0", "parallel_config.model_parallel=2"]
    assert replicas_of(decode(load(str(run_file), overrides)), 3) == 3


def test_several_processes_need_use_parallel(run_file: Path):
    assert message(run_file, 2) == "use_parallel: False, but 2 processes are started. Allowed: True."


def test_data_parallel_must_be_the_number_of_processes(run_file: Path):
    words = ("use_parallel=True", "parallel_config.data_parallel=4")
    assert message(run_file, 2, *words) == (
        "parallel_config.data_parallel: 4, but 2 processes are started. "
        "Allowed: --workers 4, or data_parallel: 2 (1 stands for all processes)."
    )
    assert "but 1 process is started" in message(run_file, 1, *words)
