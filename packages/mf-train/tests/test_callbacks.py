"""The callbacks, by the calls that they make and the lines that they log."""

import logging
import os
import re
import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import mf_ckpt
from mf_config import ConfigError, UserError
from mf_config.components import components
from mf_train.callback import Callback, Callbacks, Evaluation, RunInfo, StepInfo
from mf_train.callbacks import checkpoint_monitor
from mf_train.callbacks.checkpoint_monitor import CheckpointMonitor
from mf_train.callbacks.loss_monitor import MFLossMonitor, line_of
from mf_train.records import progress
from mf_train.records.output import OutputFolder
from mf_train.records.progress import ProgressBar


def run_info(
    saved: list[tuple[int, bool]], first_step: int = 0, is_main: bool = True, stopped: list[str] | None = None
) -> RunInfo:
    return RunInfo(
        output=OutputFolder(Path("nowhere")),
        first_step=first_step,
        total_steps=10,
        total_epochs=2,
        is_main=is_main,
        save=lambda keep, in_background: saved.append((keep, in_background)),
        stop=(stopped if stopped is not None else []).append,
        agree=bool,
        can_save_alone=lambda: True,
        evaluate=None,
        own_part=lambda: pytest.fail("nobody asked for it"),
    )


def step_info(step: int) -> StepInfo:
    return StepInfo(
        step=step,
        total_steps=10,
        epoch=2,
        loss=2.34567,
        lr=0.00123,
        grad_norm=0.98765,
        tokens=100,
        tokens_per_second=12345.6,
        loss_scale=65536.0,
        overflow=False,
        seconds=0.0421,
        seconds_left=3725.4,
    )


def test_line_of_a_step():
    assert line_of(step_info(3), 2) == (
        "Epoch:[  2/  2], step:[    3/   10], loss: 2.3457, per_step_time: 42ms, lr: 1.230e-03, overflow cond: False, "
        "loss_scale: 65536, global_norm: 0.9877, 12,346 tokens/s, 1:02:05 left"
    )
    assert line_of(replace(step_info(3), utilization=0.41234), 2).endswith("12,346 tokens/s, MFU 41.2%, 1:02:05 left")


def logged_steps(section: MFLossMonitor, run: RunInfo, caplog: pytest.LogCaptureFixture) -> list[str]:
    callback = section.build(run)
    with caplog.at_level(logging.INFO, logger="mf_train"):
        for step in range(1, 11):
            callback.on_step_end(step_info(step))
    return [record.getMessage().split("step:[")[1].split("/")[0].strip() for record in caplog.records]


def test_loss_is_logged_at_intervals_and_at_the_end(caplog):
    assert logged_steps(MFLossMonitor(per_print_times=4), run_info([]), caplog) == ["4", "8", "10"]


def test_only_the_main_process_logs(caplog):
    assert logged_steps(MFLossMonitor(), run_info([], is_main=False), caplog) == []


def saved_at(first: int, last: int, interval: int, in_background: bool = False) -> list[int]:
    """The steps after which a run that does steps `first + 1` to `last` saves."""
    kept: list[tuple[int, bool]] = []
    section = CheckpointMonitor(save_checkpoint_steps=interval, keep_checkpoint_max=3, async_save=in_background)
    callback = section.build(run_info(kept, first))
    saved = []
    for step in range(first + 1, last + 1):
        callback.on_step_end(step_info(step))
        saved += [step] * (len(kept) - len(saved))
    callback.on_train_end()
    saved += [last] * (len(kept) - len(saved))
    assert kept == [(3, in_background)] * len(saved)
    return saved


def test_checkpoints_at_intervals_and_at_the_end():
    assert saved_at(0, 10, 4) == [4, 8, 10]
    assert saved_at(0, 8, 4) == [4, 8]
    assert saved_at(8, 9, 4) == [9]
    assert saved_at(10, 10, 4) == []
    assert saved_at(0, 10, 4, in_background=True) == [4, 8, 10]


def test_checkpoints_by_the_clock_of_all_processes(monkeypatch: pytest.MonkeyPatch):
    """A clock of one step a second, counted from the last save; another process is two seconds ahead after step 4."""
    now, saved, asked = [100.0], [], []

    def agree(flag: bool) -> bool:
        asked.append(flag)
        return flag or len(asked) == 4

    monkeypatch.setattr(checkpoint_monitor.time, "monotonic", lambda: now[0])
    run = replace(run_info([]), save=lambda keep, in_background: saved.append(now[0] - 100), agree=agree)
    callback = CheckpointMonitor(save_checkpoint_seconds=3).build(run)
    callback.on_train_begin()
    for step in range(1, 11):
        now[0] += 1
        callback.on_step_end(step_info(step))
    assert saved == [3, 4, 7, 10]
    assert len(asked) == 10
    callback.on_train_end()
    assert saved == [3, 4, 7, 10]


def saves_of_a_failing_run(section: CheckpointMonitor, can_save_alone: bool = True) -> list[tuple[int, bool]]:
    """What a run saves whose third step ends it with an error."""
    saved: list[tuple[int, bool]] = []
    callback = section.build(replace(run_info(saved), can_save_alone=lambda: can_save_alone))
    callback.on_train_begin()
    for step in (1, 2):
        callback.on_step_end(step_info(step))
    callback.close()
    return saved


def test_a_failing_run_saves_once_more_where_that_is_asked_for():
    asked = CheckpointMonitor(save_checkpoint_steps=4, exception_save=True, async_save=True)
    # Nothing is left that could wait for a save in the background.
    assert saves_of_a_failing_run(asked) == [(5, False)]
    assert saves_of_a_failing_run(asked, can_save_alone=False) == []
    assert saves_of_a_failing_run(CheckpointMonitor(save_checkpoint_steps=4)) == []
    just_saved = CheckpointMonitor(save_checkpoint_steps=2, exception_save=True)
    assert saves_of_a_failing_run(just_saved) == [(5, False)]


def test_a_run_that_ends_well_does_not_save_twice():
    saved: list[tuple[int, bool]] = []
    callback = CheckpointMonitor(save_checkpoint_steps=4, exception_save=True).build(run_info(saved))
    callback.on_step_end(step_info(1))
    callback.on_train_end()
    callback.close()
    assert saved == [(5, False)]


def test_a_save_that_fails_hides_nothing(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    def fail(keep: int, in_background: bool) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(logging.getLogger("mf_train"), "propagate", True)
    callback = CheckpointMonitor(exception_save=True, save_checkpoint_steps=4).build(replace(run_info([]), save=fail))
    callback.on_step_end(step_info(1))
    callback.close()
    assert "exception_save: [Errno 28] No space left on device" in caplog.text


def test_checkpoints_that_lie_close_together_are_thinned(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Saves of steps 1 to 5, ten minutes apart, of which those that lie half an hour apart stay, and the newest."""
    root = OutputFolder(tmp_path).checkpoints

    def save(keep: int, in_background: bool) -> None:
        step = len(saved) + 1
        with mf_ckpt.Writer(root / mf_ckpt.step_name(step), step=step) as writer:
            writer.add("w", np.float32([step]))
        os.utime(root / mf_ckpt.step_name(step) / "manifest.json", (600 * step, 600 * step))
        saved.append(step)

    for keep, left in ((0, [1, 4, 5]), (7, [1, 2, 3, 4, 5])):
        saved: list[int] = []
        shutil.rmtree(root, ignore_errors=True)
        run = replace(run_info([]), output=OutputFolder(tmp_path), save=save)
        callback = CheckpointMonitor(keep_checkpoint_max=keep, keep_checkpoint_per_n_minutes=30).build(run)
        for step in range(1, 6):
            callback.on_step_end(step_info(step))
        assert mf_ckpt.checkpoints(root) == [root / mf_ckpt.step_name(step) for step in left]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("step_interval: 4", [4, 8]),
        ("step_interval: 0, epoch_interval: 1", [5, 10]),
        ("step_interval: 6, epoch_interval: 2", [6, 10]),
        ("step_interval: -1", []),
    ],
)
def test_evaluations_come_at_intervals_of_their_own(section_of, text: str, steps: list[int]):
    """Of ten steps in two epochs."""
    now, evaluated = [0], []
    run = replace(run_info([]), evaluate=lambda: evaluated.append(now[0]))
    callback = section_of("callback", f"{{type: EvalCallBack, {text}}}").build(run)
    for now[0] in range(1, 11):
        callback.on_step_end(step_info(now[0]))
    assert evaluated == steps


def test_evaluations_need_do_eval(section_of):
    with pytest.raises(UserError, match="EvalCallBack evaluates while training, and the run has no do_eval"):
        section_of("callback", "{type: EvalCallBack}").build(run_info([]))


class Noting(Callback):
    def __init__(self, name: str, notes: list[str], fails: bool = False):
        self._name, self._notes, self._fails = name, notes, fails

    def on_evaluation(self, evaluation: Evaluation) -> None:
        self._notes.append(f"{self._name} evaluation {evaluation.step}")

    def close(self) -> None:
        self._notes.append(f"{self._name} closed")
        if self._fails:
            raise RuntimeError("can't close")


def test_callbacks_are_told_in_order_and_all_are_closed():
    notes: list[str] = []
    callbacks = Callbacks([Noting("first", notes), Noting("second", notes, fails=True)])
    callbacks.on_evaluation(Evaluation(step=3, values={}))
    with pytest.raises(RuntimeError, match="can't close"):
        callbacks.close()
    assert notes[:2] == ["first evaluation 3", "second evaluation 3"]
    assert sorted(notes[2:]) == ["first closed", "second closed"]


def test_callbacks_learn_that_files_are_complete_also_after_a_failure():
    notes: list[str] = []

    class Last(Callback):
        def on_files_complete(self) -> None:
            notes.append("complete")
            raise OSError("can't read them")

    callbacks = Callbacks([Last(), Last()])
    with pytest.raises(OSError, match="can't read them"), callbacks.told_when_files_are_complete():
        notes.append("failed")
        raise RuntimeError("a step failed")
    assert notes == ["failed", "complete", "complete"]


def test_progress_bar_says_nothing_where_there_is_no_terminal(capsys):
    bar = ProgressBar(run_info([]))
    bar.on_train_begin()
    bar.on_step_end(step_info(1))
    bar.close()
    assert capsys.readouterr() == ("", "")


def test_the_bar_shows_steps_loss_speed_and_time_left(monkeypatch: pytest.MonkeyPatch):
    screen = StringIO()
    terminal = Console(file=screen, force_terminal=True, color_system=None, width=120)
    monkeypatch.setattr(progress, "CONSOLE", terminal)
    bar = ProgressBar(run_info([], first_step=2))
    bar.on_train_begin()
    assert "getting ready" in screen.getvalue() and "2/10" in screen.getvalue()
    bar.on_step_end(step_info(3))
    bar.close()
    assert re.search(r"train .* 3/10 loss 2\.346 12,346 tokens/s 0:00:0\d left", screen.getvalue())


def test_checkpoints_and_losses_as_real_files_have_them(section_of):
    text = """\
        type: CheckpointMonitor
        prefix: "glm2-6b"
        save_checkpoint_steps: 500
        keep_checkpoint_max: 2
        integrated_save: False
        async_save: False
        save_trainable_params: False
        save_network_params: True
        """
    section = section_of("callback", text)
    assert (section.prefix, section.save_checkpoint_steps, section.keep_checkpoint_max) == ("glm2-6b", 500, 2)
    assert (section.save_checkpoint_seconds, section.enc_mode, section.directory) == (0, "AES-GCM", None)
    assert section_of("callback", "{type: MFLossMonitor, per_print_times: 1}").gradient_accumulation_steps == 1


def test_an_early_stop_is_asked_for_from_its_step_on(section_of):
    stopped: list[str] = []
    section = section_of("callback", "{type: TrainCallBack, stop_step: 3}")
    callback = section.build(run_info([], stopped=stopped))
    callback.on_train_begin()
    for step in (1, 2):
        callback.on_step_end(step_info(step))
    assert stopped == []
    callback.on_step_end(step_info(3))
    section.build(run_info([], first_step=4, stopped=stopped)).on_train_begin()
    assert stopped == ["TrainCallBack.stop_step 3"] * 2
    assert type(section_of("callback", "{type: TrainCallBack}").build(run_info([]))) is Callback


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{type: ObsMonitor, keep_lats: True}", "Did you mean keep_last?"),
        ("{type: ProfileMonitor, start_step: 11}", "section.start_step: 11 is after stop_step 10."),
        (
            "{type: ProfileMonitor, start_profile: False, profile_communication: True}",
            "section.profile_communication: True needs start_profile: True.",
        ),
        ("{type: CheckpointMonitor, enc_mode: ROT13}", "Allowed: AES-GCM, AES-CBC, SM4-CBC."),
    ],
)
def test_mistakes_in_callbacks_are_named(section_of, text, message):
    with pytest.raises(ConfigError) as raised:
        section_of("callback", text)
    assert message in str(raised.value)


def test_every_callback_is_tried_here():
    """Or in a module of their own."""
    elsewhere = {"ColdHotExpertMointor", "ColdHotExpertMonitor", "ObsMonitor", "ProfileMonitor", "SummaryMonitor"}
    here = {"CheckpointMonitor", "EvalCallBack", "MFLossMonitor", "TrainCallBack"}
    assert elsewhere | here == set(components("callback"))
