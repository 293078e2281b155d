"""Event files and profiles: what is written, by whom, and when."""

import json
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mindspore import Tensor, nn
from tensorboardX.proto.event_pb2 import Event

from mf_config import RunConfig, decode, load
from mf_config.problems import UserError
from mf_config.sections.observation import MonitorSection, TensorboardSection
from mf_train.callback import Callback, Evaluation, RunInfo, StepInfo
from mf_train.callbacks.profile_monitor import ProfileMonitor
from mf_train.callbacks.summary_monitor import SummaryMonitor
from mf_train.observers import observers, records_own_figures
from mf_train.records.output import OutputFolder


def run_info(root: Path, first_step: int = 0, is_main: bool = True) -> RunInfo:
    return RunInfo(
        output=OutputFolder(root),
        first_step=first_step,
        total_steps=10,
        total_epochs=1,
        is_main=is_main,
        save=lambda keep, in_background: None,
        stop=lambda reason: None,
        agree=bool,
        can_save_alone=lambda: True,
        evaluate=None,
        own_part=lambda: pytest.fail("nobody asked for it"),
    )


def step_info(step: int) -> StepInfo:
    return StepInfo(
        step=step,
        total_steps=10,
        epoch=1,
        loss=1 / step,
        lr=0.5,
        grad_norm=2.0,
        tokens=100,
        tokens_per_second=50.0,
        loss_scale=4.0,
        overflow=False,
        seconds=0.25,
        seconds_left=1.0,
    )


def events(folder: Path) -> Iterator[Event]:
    """The records of event files: length, its checksum, the event, its checksum."""
    for path in sorted(folder.glob("events.*")):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            yield Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for event in events(folder):
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def do_steps(callback: Callback, steps: range) -> None:
    callback.on_train_begin()
    for step in steps:
        callback.on_step_end(step_info(step))
    callback.on_evaluation(Evaluation(step=steps[-1], values={"perplexity": 8.0}))
    callback.on_train_end()
    callback.close()


def test_summaries_come_at_their_interval(tmp_path: Path):
    do_steps(SummaryMonitor(collect_freq=2).build(run_info(tmp_path)), range(1, 6))
    found = scalars(tmp_path / "tensorboard")
    assert found == {
        "train/loss": [(2, 0.5), (4, 0.25)],
        "train/lr": [(2, 0.5), (4, 0.5)],
        "train/grad_norm": [(2, 2.0), (4, 2.0)],
        "train/tokens_per_second": [(2, 50.0), (4, 50.0)],
        "eval/perplexity": [(5, 8.0)],
    }


def test_a_resumed_run_has_the_steps_after_its_start_forgotten(tmp_path: Path):
    section = SummaryMonitor(summary_dir=str(tmp_path / "there"), collect_freq=1)
    do_steps(section.build(run_info(tmp_path, first_step=3)), range(4, 5))
    starts = [event for event in events(tmp_path / "there") if event.session_log.status == event.session_log.START]
    assert [event.step for event in starts] == [4]


def test_losses_of_experts_have_a_curve_for_each_layer(tmp_path: Path):
    callback = SummaryMonitor(collect_freq=1).build(run_info(tmp_path))
    callback.on_train_begin()
    callback.on_step_end(replace(step_info(1), added_losses={"layers.1.balance": 0.25}, utilization=0.5))
    callback.close()
    found = scalars(tmp_path / "tensorboard")
    assert found["train/added_losses/layers.1.balance"] == [(1, 0.25)]
    assert found["train/utilization"] == [(1, 0.5)]


def test_other_processes_write_nothing(tmp_path: Path):
    for section in (SummaryMonitor(), ProfileMonitor()):
        do_steps(section.build(run_info(tmp_path, is_main=False)), range(1, 3))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named_before_the_first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(UserError, match=r"pip install 'mf-train\[tensorboard\]'"):
        SummaryMonitor().build(run_info(tmp_path))


def test_keys_of_the_run_ask_for_event_files(run_file: Path, tmp_path: Path):
    config: RunConfig = decode(load(str(run_file)))
    assert list(observers(config)) == []
    section = TensorboardSection(tensorboard_dir=str(tmp_path / "tb"), log_timers_to_tensorboard=True)
    (asked,) = observers(replace(config, tensorboard=section))
    do_steps(asked.build(run_info(tmp_path)), range(1, 2))
    found = scalars(tmp_path / "tb")
    assert found["train/seconds"] == [(1, 0.25)]
    assert "train/loss_scale" not in found


def test_keys_of_the_run_ask_for_numbers_of_each_process(run_file: Path):
    config: RunConfig = decode(load(str(run_file)))
    assert not records_own_figures(config)
    monitor = MonitorSection(monitor_on=True, weight_state_format="log")
    for section, is_known_outside in ((monitor, True), (replace(monitor, local_norm_format=("log",)), False)):
        asking = replace(config, monitor_config=section)
        assert len(list(observers(asking))) == 1
        assert records_own_figures(asking) is not is_known_outside
        assert list(observers(replace(config, monitor_config=replace(section, monitor_on=False)))) == []


def test_a_key_of_the_wrapper_logs_the_norms_of_gradients(run_file: Path, tmp_path: Path):
    config: RunConfig = decode(load(str(run_file), ["runner_wrapper.local_norm=True"]))
    assert records_own_figures(config)
    (asked,) = observers(config)
    assert (asked.section.local_norm_format, asked.dump) == ("log", None)


def test_keys_of_the_run_ask_for_a_profile(run_file: Path):
    config: RunConfig = decode(load(str(run_file)))
    (asked,) = observers(replace(config, profile=True, profile_start_step=2, profile_stop_step=3, profile_output="x"))
    assert asked == ProfileMonitor(start_step=2, stop_step=3, output_path="x", start_profile=False)


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize(("from_the_beginning", "calls"), [(False, 3), (True, 5)])
def test_a_profile_has_the_steps_that_it_should(tmp_path: Path, from_the_beginning: bool, calls: int):
    net, x = nn.Dense(4, 3), Tensor(np.ones((2, 4), np.float32))
    net(x)
    section = ProfileMonitor(start_step=2, stop_step=3, start_profile=from_the_beginning)
    callback = section.build(run_info(tmp_path))
    callback.on_train_begin()
    for step in range(1, 6):
        callback.on_step_begin(step)
        net(x).asnumpy()
        callback.on_step_end(step_info(step))
        net(x).asnumpy()
    callback.close()
    rows = [json.loads(line) for line in (tmp_path / "profile/operators.jsonl").read_text().splitlines()]
    # One in each measured step, one after each of them but the last.
    assert {row["operator"]: row["calls"] for row in rows}["MatMul"] == calls
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    trace = json.loads((tmp_path / "profile/trace.json").read_text())
    assert sum(event["name"] == "MatMul" for event in trace) == calls


@pytest.mark.usefixtures("graph_mode")
def test_a_run_that_ends_early_keeps_its_profile(tmp_path: Path):
    callback = ProfileMonitor(stop_step=10).build(run_info(tmp_path))
    callback.on_step_begin(1)
    callback.close()
    assert (tmp_path / "profile/operators.jsonl").read_text() == ""
