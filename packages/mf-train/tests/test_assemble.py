"""Parts of a run that need no compiled step."""

from dataclasses import replace
from pathlib import Path

import pytest

from mf_config import RunConfig, decode, load
from mf_parallel.collectives import Communicator
from mf_train.assemble import Job
from mf_train.processes import Processes

pytestmark = pytest.mark.usefixtures("graph_mode")


def job_of(run_file: Path, **changes: object) -> Job:
    config: RunConfig = decode(load(str(run_file)))
    runner = replace(config.runner_config, gradient_accumulation_steps=3)
    return Job(replace(config, runner_config=runner, **changes), Processes(0, 1, Communicator(0, range(1))))


def test_a_step_takes_all_rows_of_its_micro_batches(run_file: Path):
    job = job_of(run_file)
    assert job.data.rows_per_step == 12
    assert job.total_steps == 4
    assert job.examples(1).input_ids_BT.shape == (12, 12)
    assert job.data.evaluation.steps_per_epoch == 3


def test_rate_may_grow_with_the_rows_of_a_step(run_file: Path):
    plain, scaled = job_of(run_file), job_of(run_file, lr_scale=True, lr_scale_factor=8)
    assert [scaled.learning_rate(update) for update in range(4)] == pytest.approx(
        [1.5 * plain.learning_rate(update) for update in range(4)]
    )
    assert plain.learning_rate(1) == 5e-3
    optimizer = replace(plain.config.optimizer, learning_rate=2e-3)
    constant = job_of(run_file, lr_scale=True, lr_scale_factor=256, lr_schedule=None, optimizer=optimizer)
    assert constant.learning_rate(7) == pytest.approx(2e-3 * 12 / 256)
