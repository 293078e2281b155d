"""The files of JSON lines: their keys, what a resume drops, and numbers that JSON does not know."""

import json
import math
from pathlib import Path

import pytest

from mf_train.callback import Evaluation, RunInfo, StepInfo
from mf_train.records.json_lines import MetricsRecorder, keep_lines_until, to_json
from mf_train.records.output import OutputFolder

KEYS = ["step", "epoch", "loss", "lr", "grad_norm", "tokens", "tokens_per_second", "loss_scale", "overflow"]


def step_info(step: int, **changed: object) -> StepInfo:
    values = {
        "step": step,
        "total_steps": 10,
        "epoch": 1,
        "loss": 2.5,
        "lr": 1e-3,
        "grad_norm": 0.5,
        "tokens": 48 * step,
        "tokens_per_second": 1000.0,
        "loss_scale": 1.0,
        "overflow": False,
        "seconds": 0.048,
        "seconds_left": 0.1,
    }
    return StepInfo(**{**values, **changed})


def recorder(folder: Path, first_step: int = 0) -> MetricsRecorder:
    run = RunInfo(
        output=OutputFolder(folder),
        first_step=first_step,
        total_steps=10,
        total_epochs=1,
        is_main=True,
        save=lambda keep, in_background: None,
        stop=lambda reason: None,
        agree=bool,
        can_save_alone=lambda: True,
        evaluate=None,
        own_part=lambda: pytest.fail("nobody asked for it"),
    )
    return MetricsRecorder(run)


def test_one_object_a_step_with_the_documented_keys(tmp_path: Path):
    records = recorder(tmp_path)
    records.on_train_begin()
    records.on_step_end(step_info(1))
    records.on_step_end(step_info(2, loss=math.inf, grad_norm=math.nan, overflow=True))
    first, second = (json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines())
    assert list(first) == KEYS
    assert first["loss"] == 2.5
    assert first["overflow"] is False
    assert (second["loss"], second["grad_norm"], second["overflow"]) == (None, None, True)


def test_evaluations_have_a_file_of_their_own(tmp_path: Path):
    records = recorder(tmp_path)
    records.on_train_begin()
    records.on_evaluation(Evaluation(step=0, values={"loss": 800.0, "perplexity": math.inf}))
    assert json.loads((tmp_path / "evaluations.jsonl").read_text()) == {"step": 0, "loss": 800.0, "perplexity": None}


def test_resume_drops_the_lines_that_are_written_again(tmp_path: Path):
    first = recorder(tmp_path)
    first.on_train_begin()
    for step in (1, 2, 3):
        first.on_step_end(step_info(step))
    first.on_evaluation(Evaluation(step=0, values={"loss": 3.0}))
    second = recorder(tmp_path, first_step=2)
    second.on_train_begin()
    second.on_step_end(step_info(3, loss=9.0))
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(line["step"], line["loss"]) for line in lines] == [(1, 2.5), (2, 2.5), (3, 9.0)]
    assert len((tmp_path / "evaluations.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("spoiled", ['{"step": 2, "lo', "\0\0\0\0\n", "[1]\n", '{"loss": 1}\n'])
def test_spoiled_lines_are_dropped(tmp_path: Path, spoiled: str):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n' + spoiled)
    keep_lines_until(path, 5)
    assert path.read_text() == '{"step": 1}\n'


def test_missing_file_stays_missing(tmp_path: Path):
    keep_lines_until(tmp_path / "metrics.jsonl", 5)
    assert not list(tmp_path.iterdir())


def test_numbers_that_are_not_finite_become_null_at_any_depth():
    assert to_json({"a": {"b": math.nan, "c": 1}, "d": -math.inf}) == '{"a": {"b": null, "c": 1}, "d": null}'
