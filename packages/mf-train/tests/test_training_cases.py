"""Whole runs on the rows of stored cases, against numbers that independent implementations made.

The runs go operator by operator, which needs no compiling.
"""

import json
import math
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

import mf_ckpt
import mf_models
from mf_data import open_tokenizer
from mf_data.prepared.mind_record_writer import MindRecordWriter
from mf_data.tokenizers.byte_level_bpe import ByteLevelBPETokenizer
from mf_train.cli import main
from mf_train.data import RunData
from mf_train.step.training_step import TrainingStep

GOLDEN = (
    "model.model_config={type: LlamaConfig, seq_length: 19, hidden_size: 48, num_layers: 2, num_heads: 4, "
    "n_kv_heads: 2, intermediate_size: 96, vocab_size: 160, rms_norm_eps: 1.e-5, bos_token_id: 1, eos_token_id: 2}"
)
"""The sizes of llama_gqa."""

Lines = list[dict[str, Any]]


class Runs:
    """Trains on stored rows, again and again with the same output folder."""

    def __init__(self, run_file: Path, rows: Path, width: int, settings: Sequence[str]):
        """Takes a run file, and JSON lines of `input_ids` and `labels`, which are filled up to `width` places."""
        self.output = run_file.parent / "output"
        stored = rows_file(rows, width, run_file.parent / "rows.mindrecord")
        loader = f"{{type: MindDataset, dataset_dir: {stored}, shuffle: False}}"
        self._settings = (
            "context.mode=1",
            "do_eval=False",
            "runner_config.epochs=1",
            f"train_dataset={{data_loader: {loader}, drop_remainder: True}}",
            *settings,
        )
        self._run_file = run_file

    def __call__(self, *settings: str, stop_after: int | None = None, status: int = 0) -> Lines:
        """Train, and give all lines of metrics.jsonl."""
        words = [word for setting in (*self._settings, *settings) for word in ("--set", setting)]
        stop = [] if stop_after is None else ["--stop-after", str(stop_after)]
        assert main(["run", str(self._run_file), *words, *stop]) == status
        return [json.loads(line) for line in (self.output / "metrics.jsonl").read_text().splitlines()]

    def checkpoint(self) -> Path:
        """The newest one."""
        found = mf_ckpt.latest(self.output / "checkpoint")
        assert found is not None
        return found


def rows_file(rows: Path, width: int, place: Path) -> Path:
    columns = {"input_ids": 0, "labels": -100}
    with MindRecordWriter(place, list(columns), header_bytes=1 << 14, page_bytes=1 << 15) as writer:
        for line in rows.read_text().splitlines():
            row = json.loads(line)
            writer.add({name: np.array(row[name] + [pad] * (width - len(row[name]))) for name, pad in columns.items()})
    return place


@pytest.fixture
def golden_tokenizer(text_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of llama_gqa are ids alone, of a vocabulary that is too small for all bytes."""
    tokenizer = open_tokenizer(
        ByteLevelBPETokenizer(tokenizer_file=str(text_folder / "tokenizer.json"), vocab_size=300), None
    )
    monkeypatch.setattr(tokenizer, "vocab_size", 160)
    monkeypatch.setattr(RunData, "tokenizer", tokenizer)


@pytest.fixture
def read_rows(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Gets the first id of each row of each step, in the order in which steps read them."""
    found: list[list[int]] = []
    next_examples = RunData.next_examples

    def noted(self: RunData, step: int) -> Any:
        examples = next_examples(self, step)
        found.append(examples.input_ids_BT[:, 0].tolist())
        return examples

    monkeypatch.setattr(RunData, "next_examples", noted)
    return found


def files_of(checkpoint: Path) -> dict[str, bytes]:
    """Name to content of the files that hold weights and moments."""
    return {path.name: path.read_bytes() for path in sorted(checkpoint.glob("*.safetensors"))}


@pytest.mark.golden
@pytest.mark.usefixtures("golden_tokenizer")
def test_six_updates_of_a_run_are_those_of_an_independent_one_also_with_a_stop_between(run_file: Path, data: Path):
    """Case c17: the numbers of float64 elsewhere; and 3 + 3 updates are 6 updates to the last bit."""
    schedule = "{type: CosineWithWarmUpLR, learning_rate: 2.e-3, lr_end: 1.e-4, warmup_steps: 2, total_steps: -1}"
    settings = (
        GOLDEN,
        f"load_checkpoint={data / 'llama_gqa'}",
        f"lr_schedule={schedule}",
        "optimizer={type: AdamW, betas: [0.9, 0.95], eps: 1.e-8, weight_decay: 0.1}",
        "runner_config.batch_size=2",
        "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 100}]",
    )
    runs = Runs(run_file, data / "c17-tokens.jsonl", 20, settings)
    wanted, found = json.loads((data / "c17-expected.json").read_text()), runs()
    assert [line["lr"] for line in found] == pytest.approx(wanted["lr"], rel=1e-9)
    for name in ("loss", "grad_norm"):
        np.testing.assert_allclose([line[name] for line in found], wanted[name], rtol=1e-4)
    _, cell = mf_models.load(runs.checkpoint())
    final = np.load(data / "c17-final-logits.npz")
    logits = cell(Tensor(final["input_ids"].astype(np.int32))).asnumpy()
    np.testing.assert_allclose(logits, final["logits"], atol=2e-3)
    files = files_of(runs.checkpoint())
    runs(stop_after=3)
    assert runs.checkpoint().name == "step-00000003"
    again = runs("load_checkpoint=None", "resume_training=True")
    assert [(line["loss"], line["grad_norm"], line["lr"]) for line in again] == [
        (line["loss"], line["grad_norm"], line["lr"]) for line in found
    ]
    assert files_of(runs.checkpoint()) == files


@pytest.fixture
def forty_rows(run_file: Path, data: Path) -> Runs:
    """Row i of 40 holds the token 10 + i alone; ten updates of four rows."""
    settings = ("model.model_config.seq_length=3", "runner_config.batch_size=4")
    return Runs(run_file, data / "c48-rows.jsonl", 4, settings)


def tokens(first: int, last: int, each: int) -> list[list[int]]:
    """The tokens of some rows, in batches."""
    return [[10 + row for row in range(begin, begin + each)] for begin in range(first, last + 1, each)]


def test_another_batch_size_reads_each_row_that_is_left_once(
    forty_rows: Runs, read_rows: list[list[int]], capsys: pytest.CaptureFixture[str]
):
    """Case c48: after rows 0 to 23 in batches of four come rows 24 to 39 in eight batches of two."""
    forty_rows(stop_after=6)
    assert read_rows == tokens(0, 23, 4)
    read_rows.clear()
    lines = forty_rows("runner_config.batch_size=2", "resume_training=True")
    assert read_rows == tokens(24, 39, 2)
    said = capsys.readouterr().err
    assert "12 of 20 steps done" in said and "the run has 20 steps now, not 10" in said
    assert [line["step"] for line in lines[-8:]] == list(range(13, 21))


def test_micro_batches_in_place_of_a_batch_go_on_where_it_stood(
    forty_rows: Runs, read_rows: list[list[int]], capsys: pytest.CaptureFixture[str]
):
    """Case c48: the global batch is still four, so update 7 of 10 begins with row 24."""
    forty_rows(stop_after=6)
    read_rows.clear()
    micro = ("runner_config.batch_size=2", "runner_config.gradient_accumulation_steps=2")
    lines = forty_rows(*micro, "resume_training=True")
    assert read_rows == tokens(24, 39, 4)
    assert "6 of 10 steps done" in capsys.readouterr().err
    assert [line["step"] for line in lines] == list(range(1, 11))


def test_rows_that_are_cut_off_meanwhile_end_the_run_and_nothing_is_lost(
    forty_rows: Runs, run_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Rows are read one step ahead, so the step behind the next one fails."""
    settings = (
        "train_dataset.num_parallel_workers=1",
        "train_dataset.prefetch_size=1",
        "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 2}]",
    )
    whole = forty_rows(*settings)
    stored = run_file.parent / "rows.mindrecord"
    content, next_examples = stored.read_bytes(), RunData.next_examples

    def cutting(self: RunData, step: int) -> Any:
        if step == 4:
            os.truncate(stored, 1 << 14)
        return next_examples(self, step)

    with monkeypatch.context() as patched:
        patched.setattr(RunData, "next_examples", cutting)
        lines = forty_rows(*settings, status=1)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("mf-train: [Errno 5] was cut off while it is read: it had ") and str(stored) in last
    assert len(lines) == 5 and forty_rows.checkpoint().name == "step-00000004"
    stored.write_bytes(content)
    again = forty_rows(*settings, "resume_training=True")
    assert [line["loss"] for line in again] == [line["loss"] for line in whole]


@pytest.mark.golden
def test_the_rate_goes_on_along_its_curve_and_along_a_longer_one(
    run_file: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Case c11: 25 batches an epoch; stopped after 40 of 100 updates, then resumed for four and for eight epochs."""
    case = json.loads((data / "c11-resume.json").read_text())
    few = tmp_path / "few.jsonl"
    few.write_text("\n".join((data / "c48-rows.jsonl").read_text().splitlines()[: case["batches_per_epoch"]]))
    schedule = "{type: CosineWithWarmUpLR, learning_rate: 1.e-4, lr_end: 1.e-6, warmup_ratio: 0.1, total_steps: -1}"
    settings = (
        "model.model_config.seq_length=3",
        "runner_config.batch_size=1",
        f"runner_config.epochs={case['epochs']}",
        f"lr_schedule={schedule}",
        "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 40}]",
    )
    runs = Runs(run_file, few, 4, settings)
    runs(stop_after=case["resume_at"])
    runs("resume_training=step-00000040", f"load_checkpoint={runs.output}", "runner_config.epochs=8", stop_after=1)
    said = capsys.readouterr().err
    assert "40 of 200 steps done" in said and "the run has 200 steps now, not 100" in said
    longer = json.loads((runs.output / "metrics.jsonl").read_text().splitlines()[40])
    assert longer["lr"] == pytest.approx(case["lr_8_epochs_at_40"], rel=1e-6)
    lines = runs("resume_training=step-00000040", f"load_checkpoint={runs.output}")
    assert [line["lr"] for line in lines] == pytest.approx(case["lr"], rel=1e-6, abs=1e-18)


@pytest.mark.golden
def test_overflows_of_a_run_move_its_scale_and_nothing_else(
    run_file: Path, data: Path, monkeypatch: pytest.MonkeyPatch
):
    """Case c12: eleven steps, three of which overflow."""
    trace = json.loads((data / "c12-overflow.json").read_text())["trace"]
    step, numbers = TrainingStep.__call__, iter(trace)

    def overflowing(self: TrainingStep, examples: Any, *, scale: float, number: int, **others: float) -> Any:
        now = next(numbers)
        assert now["overflow"] or number == now["optimizer_step_index"] + 1
        used = math.inf if now["overflow"] else scale
        return step(self, examples, scale=used, number=number, **others)

    monkeypatch.setattr(TrainingStep, "__call__", overflowing)
    settings = (
        "model.model_config.seq_length=3",
        "runner_config.batch_size=2",
        "lr_schedule={type: cosine, learning_rate: 1.e-3, warmup_steps: 2, total_steps: 20}",
        "runner_wrapper.scale_sense={type: DynamicLossScaleUpdateCell, loss_scale_value: 65536, scale_factor: 2, "
        "scale_window: 3}",
        "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 1, keep_checkpoint_max: 0}]",
    )
    runs = Runs(run_file, data / "c48-rows.jsonl", 4, settings)
    lines = runs(stop_after=len(trace))
    assert [line["overflow"] for line in lines] == [one["overflow"] for one in trace]
    assert [line["loss_scale"] for line in lines] == [one["scale_used"] for one in trace]
    applied = [(line["lr"], one["lr"]) for line, one in zip(lines, trace, strict=True) if one["update_applied"]]
    assert [rate for rate, _ in applied] == pytest.approx([rate for _, rate in applied], rel=1e-9)
    saved = [files_of(path) for path in mf_ckpt.checkpoints(runs.output / "checkpoint")]
    # The first rate is 0, so its update changes the moments alone.
    changed = [now != before for before, now in pairwise(saved)]
    assert changed == [one["update_applied"] for one in trace[1:]]


@pytest.mark.golden
@pytest.mark.usefixtures("golden_tokenizer")
def test_a_step_whose_targets_are_all_masked_is_told_and_changes_nothing(
    run_file: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Case c14: the masked row alone, and then with the other one, at once and as two micro batches."""
    rows = tmp_path / "rows.jsonl"
    masked = (data / "c14-all-masked.jsonl").read_text().splitlines()
    rows.write_text("\n".join([*masked * 2, *(data / "c14-mixed.jsonl").read_text().splitlines()]))
    case = json.loads((data / "c14-expected.json").read_text())
    first = f"load_checkpoint={data / 'llama_gqa'}"
    schedule = "lr_schedule={type: ConstantWarmUpLR, learning_rate: 1.e-3, warmup_steps: 0}"
    sizes = (("runner_config.batch_size=2",), ("runner_config.batch_size=1",))
    for batch, accumulated in zip(sizes, ((), ("runner_config.gradient_accumulation_steps=2",)), strict=True):
        folder = tmp_path / f"parts-{len(accumulated)}"
        settings = (GOLDEN, first, schedule, *batch, *accumulated, "callbacks=[{type: CheckpointMonitor}]")
        folder.mkdir()
        (folder / "run.yaml").write_text(run_file.read_text().replace(f"{tmp_path}/output", f"{folder}/output"))
        runs = Runs(folder / "run.yaml", rows, 20, settings)
        lines = runs()
        assert "step 1: no target counts in the loss, so the step changes nothing" in capsys.readouterr().err
        for line, wanted in zip(lines, (case["all_masked"], case["mixed"]), strict=True):
            assert line["loss"] == pytest.approx(wanted["loss"], rel=1e-5)
            assert line["grad_norm"] == pytest.approx(wanted["grad_norm"], rel=1e-5)
        before, after, now = mf_ckpt.open(data / "llama_gqa"), *map(mf_ckpt.open, saved_by(runs))
        assert all(np.array_equal(before[name], after[name]) for name in before)
        assert not any(after.optimizer[name].any() for name in after.optimizer)
        assert not np.array_equal(before["lm_head.weight"], now["lm_head.weight"])


def saved_by(runs: Runs) -> list[Path]:
    """All checkpoints of a run, oldest first."""
    return list(mf_ckpt.checkpoints(runs.output / "checkpoint"))
