"""What the trainer takes of the processor around a step that does nothing: rows, log, records, progress."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mf_config import RunConfig, decode, load
from mf_train.callbacks.loss_monitor import MFLossMonitor
from mf_train.step.training_step import Outcome, TrainingStep
from mf_train.trainer import Trainer

STEPS = 120

MOST_SECONDS = 0.003
"""Of a step: 3 % of one that takes 100 ms."""


def test_the_trainer_takes_little_of_the_processor(
    write_run: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # What the whole process had taken at each step, with the threads that make rows.
    taken: list[float] = []

    def do_nothing(step: TrainingStep, examples: Any, **numbers: Any) -> Outcome:
        taken.append(time.process_time())
        return Outcome(loss=5.0, grad_norm=1.0, tokens=48, overflow=False)

    monkeypatch.setattr(TrainingStep, "compile", lambda step, examples: None)
    monkeypatch.setattr(TrainingStep, "__call__", do_nothing)
    settings = ["do_eval=False", f"runner_config.epochs={STEPS // 6}"]
    config: RunConfig = decode(load(str(write_run(tmp_path)), settings))
    assert Trainer(replace(config, callbacks=(MFLossMonitor(),))).run().step == STEPS
    # The first steps import and open what the others use.
    assert (taken[-1] - taken[10]) / (STEPS - 11) < MOST_SECONDS
