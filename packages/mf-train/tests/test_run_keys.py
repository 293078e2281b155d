"""What single keys of the run configuration do to a whole run, operator by operator, which needs no compiling."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mf_ckpt
from mf_train.cli import main
from mf_train.data import RunData
from mf_train.evaluation import text_generation
from mf_train.evaluation.text_generation import WritingJob
from mf_train.metrics import adgen

Run = Callable[..., Path]


@pytest.fixture
def run(run_file: Path, tmp_path: Path) -> Run:
    """Trains with keys set, `key=value` each, and options; gives the output folder."""

    def start(*settings: str, options: Sequence[str] = (), status: int = 0) -> Path:
        words = [word for setting in ("context.mode=1", "do_eval=False", *settings) for word in ("--set", setting)]
        assert main(["run", str(run_file), *words, *options]) == status
        return tmp_path / "output"

    return start


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def newest(output: Path) -> mf_ckpt.Reader:
    found = mf_ckpt.latest(output / "checkpoint")
    assert found is not None
    return mf_ckpt.open(found)


@pytest.mark.parametrize("kind", ["Came", pytest.param("PmaAdamW, interleave_step: 1", marks=pytest.mark.slow)])
def test_optimizers_resume_bit_for_bit_where_weights_are_stored_joined(run: Run, kind: str):
    """Of Phi 3; the states of whole parameters have the names of cells."""
    sizes = "hidden_size: 16, num_layers: 1, num_heads: 2, intermediate_size: 24, vocab_size: 320"
    settings = (
        "model.arch.type=Phi3ForCausalLM",
        f"model.model_config={{type: Phi3Config, seq_length: 12, {sizes}}}",
        f"optimizer={{type: {kind}, weight_decay: 0.1}}",
        "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 2}]",
        "runner_config.epochs=1",
        "runner_config.stop_step=4",
    )
    output = run(*settings)
    files = {path.name: path.read_bytes() for path in newest(output).path.glob("*.safetensors")}
    states, steps = set(newest(output).optimizer), lines_of(output / "metrics.jsonl")
    assert any(name.endswith("qkv_proj.weight") for name in states) == (kind != "Came")
    run(*settings, "resume_training=step-00000002", f"load_checkpoint={output / 'checkpoint'}")
    assert {path.name: path.read_bytes() for path in newest(output).path.glob("*.safetensors")} == files
    assert [line["loss"] for line in lines_of(output / "metrics.jsonl")] == [line["loss"] for line in steps]


def test_epochs_may_lie_between_evaluations(run: Run):
    output = run(
        "do_eval=True", "eval_epoch_interval=1", "runner_config.epochs=3", "train_dataset.data_loader.num_samples=8"
    )
    assert [line["step"] for line in lines_of(output / "evaluations.jsonl")] == [0, 2, 4, 6]


def test_rows_begin_anew_where_they_are_asked_to(run: Run, monkeypatch: pytest.MonkeyPatch):
    read: list[int] = []
    examples = RunData.examples

    def noted(self: RunData, batches: Any, step: int) -> Any:
        read.append(step)
        return examples(self, batches, step)

    monkeypatch.setattr(RunData, "examples", noted)
    run(options=["--stop-after", "3"])
    assert read[-3:] == [0, 1, 2]
    # Other rows than those of the checkpoint are no mistake then.
    anew = ("resume_training=True", "train_dataset.data_loader.num_samples=20")
    run(*anew, "ignore_data_skip=True", options=["--stop-after", "2"])
    assert read[-2:] == [0, 1]
    output = run(*anew, options=["--stop-after", "2"])
    assert read[-2:] == [2, 3]
    assert [line["step"] for line in lines_of(output / "metrics.jsonl")] == [1, 2, 3, 4, 5, 6, 7]


def test_a_layout_alone_is_written(run: Run):
    output = run("only_save_strategy=True")
    layout = json.loads((output / "layout.json").read_text())
    assert any("embed_tokens" in name for name in json.dumps(layout).split('"'))
    assert not (output / "checkpoint").exists() and not (output / "metrics.jsonl").exists()


def test_the_smaller_of_two_norms_clips(run: Run):
    """Where gradients are clipped to next to nothing, an update without decay leaves the weights as they are."""
    section = "optimizer={type: FusedCastAdamWeightDecay, clip_norm: 1.e-12, eps: 1}"
    output = run(section, "lr_schedule.warmup_steps=0", options=["--stop-after", "1"])
    first = newest(output)["model.norm.weight"]
    assert abs(first - 1).max() < 1e-6


def test_the_z_loss_counts_in_training_alone(run: Run):
    """Drawn weights give logits near 0, so the logarithm of the sum of 320 exponentials is near that of 320."""
    settings = ("do_eval=True", "trainer.z_loss_factor=0.1")
    output = run(*settings, options=["--stop-after", "1"])
    (step,), (evaluation, *_) = lines_of(output / "metrics.jsonl"), lines_of(output / "evaluations.jsonl")
    assert step["loss"] == pytest.approx(math.log(320) + 0.1 * math.log(320) ** 2, rel=0.02)
    assert evaluation["loss"] == pytest.approx(math.log(320), rel=0.02)


def test_an_evaluation_scores_what_an_installed_package_writes(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Questions and answers; the fake writes the answer to the first of them to all."""
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps({"content": f"{n} + 1 ?", "summary": str(n + 1)}) + "\n" for n in range(6)))
    asked: list[WritingJob] = []

    def write(job: WritingJob) -> list[str]:
        assert not job.model.training
        asked.append(job)
        return ["1"] * len(job.prompts)

    found = [SimpleNamespace(name="fake", load=lambda: write)]
    monkeypatch.setattr(text_generation, "entry_points", lambda group: found)
    monkeypatch.setattr(adgen, "words_of", lambda: str.split)
    loader = f"{{type: ADGenDataLoader, dataset_dir: {pairs}, version: 3, shuffle: False}}"
    dataset = f"{{data_loader: {loader}, max_source_length: 8, max_target_length: 3, drop_remainder: False}}"
    settings = (
        "do_eval=True",
        f"eval_dataset={dataset}",
        "eval_dataset_task={type: KeyWordGenDataset}",
        "metric=[{type: ADGENMetric}, {type: PerplexityMetric}]",
    )
    output = run(*settings, options=["--stop-after", "1"])
    (line,) = lines_of(output / "evaluations.jsonl")
    assert line["rouge-1"] == pytest.approx(100 / 6, rel=1e-6)
    assert line["loss"] > 0
    tokenizer, prompts = asked[0].tokenizer, asked[0].prompts
    assert [tokenizer.decode(prompt).strip() for prompt in prompts] == [f"{n} + 1 ?" for n in range(6)]
    assert asked[0].max_new_tokens == 12 - max(map(len, prompts))
