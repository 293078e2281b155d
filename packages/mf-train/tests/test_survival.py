"""What a run meets with and survives, or ends by with one clear message: each time nothing that was saved is lost.

The runs go operator by operator, which needs no compiling.
"""

import errno
import json
import math
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mf_ckpt
from mf_train.cli import main
from mf_train.data import RunData
from mf_train.records import claim
from mf_train.step.training_step import TrainingStep

Run = Callable[..., int]

QUICK = ("context.mode=1", "do_eval=False", "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 2}]")


def words(run_file: Path, settings: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    return ["run", str(run_file), *(word for setting in settings for word in ("--set", setting)), *options]


@pytest.fixture
def run(run_file: Path) -> Run:
    """Trains with keys set, `key=value` each, and options; gives the exit status."""
    return lambda *settings, options=(): main(words(run_file, (*QUICK, *settings), options))


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "output"


def saved(output: Path) -> list[str]:
    return [path.name for path in mf_ckpt.checkpoints(output / "checkpoint")]


def lines_of(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def weights_file(output: Path, name: str) -> Path:
    return output / "checkpoint" / name / "model-00001-of-00001.safetensors"


def test_a_damaged_checkpoint_gives_way_to_the_one_before(run: Run, output: Path, capsys: pytest.CaptureFixture[str]):
    assert run(options=["--stop-after", "4"]) == 0
    steps = lines_of(output)
    flip_a_bit(weights_file(output, "step-00000004"))
    capsys.readouterr()
    assert run("resume_training=True", options=["--stop-after", "2"]) == 0
    said = capsys.readouterr().err
    assert "step-00000004 can't be resumed: it is damaged: " in said and "model-00001-of-00001.safetensors" in said
    assert "step-00000002, 2 of 12 steps done" in said
    assert [line["loss"] for line in lines_of(output)] == [line["loss"] for line in steps]
    # The damaged one is kept, but not where it would pass for this run's.
    assert saved(output) == ["step-00000002", "step-00000004"]
    assert mf_ckpt.verify(output / "checkpoint" / "step-00000004") == []
    assert mf_ckpt.verify(output / "earlier-1" / "checkpoint" / "step-00000004") != []


def test_a_damaged_checkpoint_that_is_named_is_refused(run: Run, output: Path, capsys: pytest.CaptureFixture[str]):
    assert run(options=["--stop-after", "4"]) == 0
    flip_a_bit(weights_file(output, "step-00000004"))
    folder = f"load_checkpoint={output / 'checkpoint'}"
    assert run("resume_training=step-00000004", folder) == 2
    assert "step-00000004: is damaged, so training can't be resumed from it. Allowed: another checkp" in (
        capsys.readouterr().err
    )
    flip_a_bit(weights_file(output, "step-00000002"))
    assert run("resume_training=True") == 2
    assert saved(output) == ["step-00000002", "step-00000004"]


FULL_DISK = """
import resource, signal, sys
from mf_train.callbacks import checkpoint_monitor
from mf_train.cli import main

save = checkpoint_monitor._Saver._save

def save_with_little_room(self):
    if self._step == 4:
        # The system refuses to make any file larger, as a full disk does; some bytes fit.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
    save(self)

checkpoint_monitor._Saver._save = save_with_little_room
sys.exit(main(sys.argv[1:]))
"""
"""`mf-train` on a disk that is full when the second checkpoint is saved."""


def test_a_disk_that_fills_up_ends_the_run_and_leaves_the_checkpoint_before(run_file: Path, run: Run, output: Path):
    command = [sys.executable, "-c", FULL_DISK, *words(run_file, QUICK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    place = output / "checkpoint" / "step-00000004"
    assert done.stderr.endswith(f"mf-train: [Errno 27] {place} is not saved: File too large\n")
    assert [path.name for path in (output / "checkpoint").iterdir()] == ["step-00000002"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    assert run("resume_training=True", options=["--stop-after", "2"]) == 0
    assert saved(output) == ["step-00000002", "step-00000004"]


def test_an_output_that_cannot_be_written_is_named_before_anything_is_done(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").write_text("no folder")
    place = tmp_path / "file" / "output"
    for options in ([], ["--workers", "2"]):
        assert run(f"output_dir={place}", options=options) == 2
        assert capsys.readouterr().err.splitlines()[-1] == (
            f"output_dir: {place} can't be written to: Not a directory. "
            "Allowed: a folder in which this user may make files."
        )
    assert (tmp_path / "file").read_text() == "no folder"


def test_text_that_is_gone_is_named_and_the_run_goes_on_when_it_is_back(
    run: Run, output: Path, tmp_path: Path, text_folder: Path, capsys: pytest.CaptureFixture[str]
):
    text = tmp_path / "own.txt"
    text.write_bytes((text_folder / "train.txt").read_bytes())
    setting = f"train_dataset.data_loader.dataset_dir={text}"
    assert run(setting, options=["--stop-after", "2"]) == 0
    text.rename(tmp_path / "away.txt")
    assert run(setting, "resume_training=True") == 2
    assert str(text) in capsys.readouterr().err
    assert saved(output) == ["step-00000002"]
    (tmp_path / "away.txt").rename(text)
    assert run(setting, "resume_training=True", options=["--stop-after", "1"]) == 0
    assert [line["step"] for line in lines_of(output)] == [1, 2, 3]


def test_what_was_done_before_rows_fail_is_saved_where_that_is_asked_for(
    run: Run, output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The rows of the fourth step can't be read: the third one is saved, and the run goes on from it bit for bit."""
    assert run(f"output_dir={tmp_path / 'whole'}", options=["--stop-after", "5"]) == 0
    asked = "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 2, exception_save: True}]"
    rows_of = RunData.next_examples

    def unreadable(self: RunData, step: int) -> Any:
        if step == 3:
            raise OSError(errno.EIO, "Input/output error", "train.txt")
        return rows_of(self, step)

    with monkeypatch.context() as patched:
        patched.setattr(RunData, "next_examples", unreadable)
        assert run(asked) == 1
    assert "Input/output error" in capsys.readouterr().err.splitlines()[-1]
    assert saved(output) == ["step-00000002", "step-00000003"]
    assert run("resume_training=True", options=["--stop-after", "2"]) == 0
    numbers = [[(line["step"], line["loss"]) for line in lines_of(one)] for one in (output, tmp_path / "whole")]
    assert numbers[0] == numbers[1]
    assert len(numbers[0]) == 5


def test_a_weight_that_is_no_number_ends_the_run_and_spares_the_checkpoints(
    run: Run, output: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """From the third step on nothing is finite, so no weight changes, and no step more than seven passes."""
    step = TrainingStep.__call__

    def step_of_nan(self: TrainingStep, examples: Any, *, scale: float, number: int, **others: float) -> Any:
        return step(self, examples, scale=scale if number < 3 else math.nan, number=number, **others)

    monkeypatch.setattr(TrainingStep, "__call__", step_of_nan)
    assert run("runner_config.epochs=3", "monitor_config.not_finite_count_threshold=7") == 1
    assert "step 9: the gradients were not finite in 7 steps in a row" in capsys.readouterr().err
    assert [line["overflow"] for line in lines_of(output)] == [False] * 2 + [True] * 7
    reader = mf_ckpt.open(output / "checkpoint" / saved(output)[-1])
    assert all(np.isfinite(reader[name]).all() for name in reader)
    assert reader.trainer_state is not None and reader.trainer_state["counters"]["update"] == 2


def test_a_run_beside_another_one_in_the_same_folder_is_refused(
    run: Run, output: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(claim, "_PATIENCE_S", 0.0)
    with claim.Claim(output):
        assert run(options=["--stop-after", "1"]) == 2
        assert f"output_dir: another run is writing to {output}. Allowed: another folder" in capsys.readouterr().err
        assert not (output / "metrics.jsonl").exists()
    assert run(options=["--stop-after", "1"]) == 0


def test_a_killed_run_leaves_no_claim(tmp_path: Path):
    program = f"from mf_train.records.claim import Claim; c = Claim(__import__('pathlib').Path({str(tmp_path)!r}));"
    done = subprocess.run([sys.executable, "-c", program + "import os; os.kill(os.getpid(), 9)"], check=False)
    assert done.returncode == -9
    with claim.Claim(tmp_path):
        pass


def test_a_second_run_in_the_same_folder_mixes_with_nothing(run: Run, output: Path):
    assert run("seed=1", options=["--stop-after", "4"]) == 0
    first = lines_of(output)
    assert run("seed=2", options=["--stop-after", "2"]) == 0
    assert saved(output) == ["step-00000002"] and len(lines_of(output)) == 2
    earlier = output / "earlier-1"
    assert lines_of(earlier) == first and saved(earlier) == ["step-00000002", "step-00000004"]
    assert lines_of(output)[0]["loss"] != first[0]["loss"]


ALL_THAT_MOVES = (
    "context.mode=1",
    "do_eval=False",
    "model.arch.type=GPT2LMHeadModel",
    "model.model_config={type: GPT2Config, seq_length: 12, hidden_size: 16, num_layers: 1, num_heads: 2, "
    "vocab_size: 320, bos_token_id: 1, eos_token_id: 2, pad_token_id: 0, embedding_dropout_prob: 0.1, "
    "hidden_dropout_rate: 0.1, attention_dropout_rate: 0.1}",
    # Again and again it grows until gradients overflow.
    "runner_wrapper.scale_sense={type: DynamicLossScaleUpdateCell, loss_scale_value: 1.e+18, scale_factor: 1.e+12, "
    "scale_window: 3}",
)
"""Shuffled steps with dropout and a moving loss scale."""

START_S = 120


def kill_while_training(command: Sequence[str], output: Path, seconds: float) -> bool:
    """Kill a run so long after its next step is recorded; whether it was still going on."""
    metrics = output / "metrics.jsonl"
    before, deadline = metrics.stat().st_mtime_ns if metrics.exists() else 0, time.monotonic() + START_S
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while running.poll() is None and not (metrics.exists() and metrics.stat().st_mtime_ns > before):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    time.sleep(seconds)
    running.kill()
    return running.wait() == -9


@pytest.mark.parametrize(
    ("kills", "in_background"), [(1, True), *(pytest.param(4, each, marks=pytest.mark.slow) for each in (True, False))]
)
def test_kills_at_any_moment_change_no_bit(run_file: Path, tmp_path: Path, kills: int, in_background: bool):
    saves = f"save_checkpoint_steps: 2, keep_checkpoint_max: 3, async_save: {in_background}"
    epochs = 4 * kills
    settings = (
        *ALL_THAT_MOVES,
        f"runner_config.epochs={epochs}",
        f"callbacks=[{{type: CheckpointMonitor, {saves}}}]",
    )
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert main(words(run_file, (*settings, f"output_dir={whole}"))) == 0
    arguments = words(run_file, (*settings, f"output_dir={killed}"))
    start = [sys.executable, "-m", "mf_train", *arguments]
    dice = random.Random(kills)
    # A kill before the first checkpoint leaves nothing to resume.
    resume: list[str] = []
    times = 0
    for _ in range(kills):
        times += kill_while_training([*start, *resume], killed, dice.uniform(0.0, 0.2))
        resume = ["--set", f"resume_training={bool(saved(killed))}"]
    assert times == kills
    assert main([*arguments, *resume]) == 0
    numbers = [[{**line, "tokens_per_second": 0} for line in lines_of(output)] for output in (killed, whole)]
    assert numbers[0] == numbers[1]
    assert len(numbers[0]) == 6 * epochs and {line["overflow"] for line in numbers[0]} == {True, False}
    assert saved(killed) == saved(whole)
    for name in saved(whole):
        files = [
            {path.name: path.read_bytes() for path in (output / "checkpoint" / name).glob("*.safetensors")}
            for output in (killed, whole)
        ]
        assert files[0] == files[1] and files[0]
        states = [mf_ckpt.open(output / "checkpoint" / name).trainer_state for output in (killed, whole)]
        assert states[0] == states[1]
