"""What a process records of its own part of a run, against the numbers of the run and its checkpoints."""

import json
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Parameter, Tensor

import mf_ckpt
from mf_config import ConfigError, decode, load
from mf_config.sections.observation import MonitorSection
from mf_train.callback import RunInfo, StepInfo
from mf_train.cli import main
from mf_train.own_part import OwnPart
from mf_train.records.output import OutputFolder
from mf_train.records.own_numbers import OwnNumbers, Places
from mf_train.step.own_figures import OwnFigures

STEPS = 3

FORMATS = (
    "local_loss_format: log, device_local_loss_format: log, local_norm_format: log, "
    "device_local_norm_format: [log, tensorboard], optimizer_state_format: log, weight_state_format: log"
)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module", params=[1, 2])
def recorded(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    write_run: Callable[[Path], Path],
    words: Callable[..., list[str]],
) -> Path:
    """The folder of a run that records everything, with one micro batch a step and with two."""
    folder = tmp_path_factory.mktemp("recorded")
    monitor = f"monitor_config={{monitor_on: True, dump_path: {folder}/dump, throughput_baseline: 1e3, {FORMATS}}}"
    parts = f"runner_config.gradient_accumulation_steps={request.param}"
    saves = "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 1}]"
    settings = ("do_eval=False", saves, parts, monitor)
    assert main([*words(write_run(folder), folder / "output", *settings), "--stop-after", str(STEPS)]) == 0
    return folder


def test_norms_of_gradients_make_up_the_global_norm(recorded: Path):
    metrics, dump = lines_of(recorded / "output/metrics.jsonl"), lines_of(recorded / "dump/rank_0.jsonl")
    assert [line["step"] for line in dump] == list(range(1, STEPS + 1))
    for line, metric in zip(dump, metrics, strict=True):
        assert math.hypot(*line["local_norm"].values()) == pytest.approx(metric["grad_norm"], rel=1e-5)
        assert line["device_local_norm"]["device_local_norm"] == pytest.approx(metric["grad_norm"], rel=1e-5)
        # The only process has all rows.
        assert line["local_loss"]["local_loss"] == pytest.approx(metric["loss"], rel=1e-5)
        assert line["device_local_loss"]["device_local_loss"] == pytest.approx(metric["loss"], rel=1e-5)


def test_norms_of_weights_and_state_are_those_of_the_checkpoints(recorded: Path):
    dump = lines_of(recorded / "dump/rank_0.jsonl")
    for line, path in zip(dump, mf_ckpt.checkpoints(recorded / "output/checkpoint"), strict=True):
        reader = mf_ckpt.open(path)
        saved = math.hypot(*(float(np.linalg.norm(reader[name])) for name in reader))
        assert math.hypot(*line["weight_state"].values()) == pytest.approx(saved, rel=1e-5)
        state = math.hypot(*(float(np.linalg.norm(reader.optimizer[name])) for name in reader.optimizer))
        assert math.hypot(*line["optimizer_state"].values()) == pytest.approx(state, rel=1e-5)


def test_each_number_has_its_parameter_and_a_line_of_the_log(recorded: Path):
    first = lines_of(recorded / "dump/rank_0.jsonl")[0]
    assert set(first["local_norm"]) == set(first["weight_state"])
    log = (recorded / "output/log/rank_0.log").read_text()
    for name, norm in first["local_norm"].items():
        assert f"step 1: local_norm/{name} {norm:.6g}" in log
    assert f"step 1: throughput {first['throughput']['throughput']:.6g}" in log
    assert list((recorded / "output/tensorboard/rank_0").glob("events.*"))


def info(step: int) -> StepInfo:
    return StepInfo(
        step=step,
        total_steps=10,
        epoch=1,
        loss=1.0,
        lr=0.5,
        grad_norm=2.0,
        tokens=100,
        tokens_per_second=50.0,
        loss_scale=4.0,
        overflow=False,
        seconds=0.25,
        seconds_left=1.0,
    )


def part_of(figures: OwnFigures | None) -> OwnPart:
    weights = {
        "layers.0.w": Parameter(Tensor(np.float32([3, 4])), name="layers.0.w"),
        "head.w": Parameter(Tensor(np.float16([6, 8])), name="head.w"),
    }
    return OwnPart(rank=1, rows=4, weights=weights, slots={"adam_m": weights}, figures=figures)


def numbers(folder: Path, stops: list[str], figures: OwnFigures | None = None, **keys: Any) -> OwnNumbers:
    run = RunInfo(
        output=OutputFolder(folder),
        first_step=0,
        total_steps=10,
        total_epochs=1,
        is_main=False,
        save=lambda keep, in_background: None,
        stop=stops.append,
        agree=bool,
        can_save_alone=lambda: False,
        evaluate=None,
        own_part=lambda: part_of(figures),
    )
    return OwnNumbers(MonitorSection(monitor_on=True, **keys), run, Places(folder / "dump", folder / "events"))


def dumped(folder: Path, **keys: Any) -> list[dict[str, Any]]:
    callback = numbers(folder, [], **keys)
    callback.on_train_begin()
    for step in range(1, 5):
        callback.on_step_end(info(step))
    callback.close()
    return lines_of(folder / "dump/rank_1.jsonl")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, {"layers.0.w": 5.0, "head.w": 10.0}),
        ({"target": ("layers",)}, {"layers.0.w": 5.0}),
        ({"target": ("layers", "^head")}, {"layers.0.w": 5.0, "head.w": 10.0}),
        ({"target": ("layers",), "invert": True}, {"head.w": 10.0}),
    ],
)
def test_targets_are_found_in_names(tmp_path: Path, keys: dict[str, Any], expected: dict[str, float]):
    lines = dumped(tmp_path, weight_state_format="log", step_interval=4, **keys)
    assert lines == [{"step": 4, "weight_state": expected}]


def test_state_has_the_name_of_its_slot_and_speed_is_relative(tmp_path: Path):
    (line,) = dumped(tmp_path, optimizer_state_format="log", throughput_baseline=8.0, step_interval=3, target=("head",))
    # 4 rows in 0.25 s.
    assert line == {"step": 3, "optimizer_state": {"adam_m.head.w": 10.0}, "throughput": {"throughput": 2.0}}


def test_no_process_knows_its_own_numbers_where_mindspore_divides(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(logging.getLogger("mf_train"), "propagate", True)
    callback = numbers(tmp_path, [], local_norm_format="log", local_loss_format="log")
    callback.on_train_begin()
    callback.on_step_end(info(1))
    assert "no process knows its own loss and gradients" in caplog.text
    assert not (tmp_path / "dump").exists()


def test_a_process_without_targets_has_no_loss():
    figures = OwnFigures(["w"])
    assert figures.loss is None
    figures.rows.set_data(Tensor(np.float32([6, 4])))
    assert figures.loss == 1.5


def test_parameters_are_shown_and_nothing_is_trained(
    run_file: Path, words: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    settings = ("do_eval=False", "monitor_config={monitor_on: True, print_struct: True}")
    assert main(words(run_file, tmp_path / "shown", *settings)) == 0
    told = capsys.readouterr().err
    assert "model.tok_embeddings.embedding_weight (320, 16) Float32" in told
    assert "stopped by monitor_config.print_struct after 0 of 6 steps" in told
    assert "compiling the training step" not in told


def test_a_wrong_pattern_is_told(run_file: Path):
    with pytest.raises(ConfigError, match=r"monitor_config\.target.*'\[' is no regular expression"):
        decode(load(str(run_file), ["monitor_config={monitor_on: True, target: ['[']}"]))
