"""Whole runs of a tiny model: repeated, interrupted, resumed, evaluated; they must agree in their numbers."""

import json
import math
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mf_ckpt
import mf_train
from mf_ckpt import remote
from mf_ckpt.cli import main as mf_ckpt_main
from mf_config import decode, load
from mf_train.cli import main

STEPS = 12

INTERRUPTED = """
import signal, sys
from mf_train.callbacks import loss_monitor
from mf_train.cli import main

class Interrupting(loss_monitor._LossLog):
    def on_step_end(self, info):
        super().on_step_end(info)
        if info.step == 6:
            signal.raise_signal(getattr(signal, sys.argv[1]))

loss_monitor._LossLog = Interrupting
sys.exit(main(sys.argv[2:]))
"""
"""`mf-train` that gets a signal during its sixth step; the newest checkpoint is that of step 4."""


KILLED_WHILE_SAVING = """
import os, signal, sys, threading
from mf_ckpt import Writer
from mf_train.callbacks import loss_monitor
from mf_train.cli import main

begun = threading.Event()
add_file = Writer.add_file

def add_for_ever(self, name, content):
    if threading.current_thread() is not threading.main_thread() and newest(self):
        begun.set()
        threading.Event().wait()
    add_file(self, name, content)

def newest(writer):
    return any(path.name == "step-00000002" for path in os.scandir(sys.argv[1]))

class Killing(loss_monitor._LossLog):
    def on_step_end(self, info):
        super().on_step_end(info)
        if info.step == 6:
            assert begun.wait(60)
            os.kill(os.getpid(), signal.SIGKILL)

Writer.add_file = add_for_ever
loss_monitor._LossLog = Killing
sys.exit(main(sys.argv[2:]))
"""
"""`mf-train` that is killed in its sixth step, while the save after the fourth one is under way in the background."""


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def numbers_of(output: Path) -> list[dict[str, object]]:
    """The lines of metrics.jsonl without the speed, which no two runs share."""
    lines = lines_of(output / "metrics.jsonl")
    return [{name: value for name, value in line.items() if name != "tokens_per_second"} for line in lines]


def tensors_of(checkpoint: Path) -> dict[str, bytes]:
    """Name to content of the files that hold weights and optimizer state."""
    return {path.name: path.read_bytes() for path in sorted(checkpoint.glob("*.safetensors"))}


def last_checkpoint(output: Path) -> Path:
    found = mf_ckpt.latest(output / "checkpoint")
    assert found is not None
    return found


def words(run_file: Path, *settings: str) -> list[str]:
    return ["run", str(run_file), *(word for setting in settings for word in ("--set", setting))]


def interrupt(run_file: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", INTERRUPTED, name, *words(run_file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def whole(write_run: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Output folder of the run with which all others are compared; made by a process of its own."""
    folder = tmp_path_factory.mktemp("whole")
    command = [sys.executable, "-m", "mf_train", *words(write_run(folder)), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    return folder / "output"


def assert_same(output: Path, whole: Path) -> None:
    assert numbers_of(output) == numbers_of(whole)
    assert tensors_of(last_checkpoint(output)) == tensors_of(last_checkpoint(whole))
    assert lines_of(output / "evaluations.jsonl") == lines_of(whole / "evaluations.jsonl")


def test_files_of_a_run(whole: Path):
    assert sorted(path.name for path in whole.iterdir()) == [
        "checkpoint",
        "config.resolved.yaml",
        "environment.json",
        "evaluations.jsonl",
        "log",
        "metrics.jsonl",
        "report.html",
        "samples.jsonl",
    ]
    assert [path.name for path in sorted((whole / "checkpoint").iterdir())] == ["step-00000008", "step-00000012"]
    assert {path.name for path in last_checkpoint(whole).iterdir()} == {
        "config.json",
        "layout.json",
        "manifest.json",
        "model-00001-of-00001.safetensors",
        "model.safetensors.index.json",
        "optimizer-00001-of-00001.safetensors",
        "optimizer.safetensors.index.json",
        "run.yaml",
        "tokenizer.json",
        "tokenizer_config.json",
        "trainer_state.json",
    }
    assert mf_ckpt.verify(last_checkpoint(whole)) == []
    assert decode(load(str(whole / "config.resolved.yaml"))).runner_config.batch_size == 4


def test_result_is_one_json_object(whole: Path):
    result = json.loads((whole.parent / "stdout").read_text())
    evaluation = lines_of(whole / "evaluations.jsonl")[-1]
    assert result["step"] == result["total_steps"] == STEPS
    assert result["loss"] == numbers_of(whole)[-1]["loss"]
    assert {"step": STEPS, **result["evaluation"]} == evaluation
    assert result["checkpoint"] == str(last_checkpoint(whole))
    assert result["stopped_by"] == ""


def test_numbers_of_a_run(whole: Path):
    numbers = numbers_of(whole)
    assert [line["step"] for line in numbers] == list(range(1, STEPS + 1))
    assert [line["epoch"] for line in numbers] == [1] * 6 + [2] * 6
    assert [line["tokens"] for line in numbers] == [48 * step for step in range(1, STEPS + 1)]
    cosine = [1e-3 + 9e-3 * 0.5 * (1 + math.cos(math.pi * step / 10)) for step in range(10)]
    assert [line["lr"] for line in numbers] == pytest.approx([0.0, 5e-3, *cosine])
    assert numbers[-1]["loss"] < numbers[0]["loss"]


def test_untrained_model_knows_nothing(whole: Path):
    assert numbers_of(whole)[0]["loss"] == pytest.approx(math.log(320), rel=0.02)
    assert lines_of(whole / "evaluations.jsonl")[0]["loss"] == pytest.approx(math.log(320), rel=0.02)


def test_same_seed_gives_the_same_run(run_file: Path, whole: Path, tmp_path: Path):
    assert main(words(run_file)) == 0
    assert_same(tmp_path / "output", whole)


def test_another_seed_gives_another_run(run_file: Path, whole: Path, tmp_path: Path):
    assert main([*words(run_file, "seed=8", "do_eval=False"), "--stop-after", "1"]) == 0
    assert numbers_of(tmp_path / "output")[0]["loss"] != numbers_of(whole)[0]["loss"]


def test_killed_run_resumes_bit_for_bit(run_file: Path, whole: Path, tmp_path: Path):
    assert interrupt(run_file, "SIGKILL").returncode == -signal.SIGKILL
    output = tmp_path / "output"
    assert last_checkpoint(output).name == "step-00000004"
    with (output / "metrics.jsonl").open("a") as file:
        file.write('{"step": 7, "lo')
    assert main(words(run_file, "resume_training=True")) == 0
    assert_same(output, whole)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_signal_saves_and_ends_well(run_file: Path, whole: Path, tmp_path: Path, name: str):
    done = interrupt(run_file, name)
    assert done.returncode == 0
    checkpoint = tmp_path / "output" / "checkpoint" / "step-00000006"
    assert f"stopped by a signal after 6 of 12 steps. Checkpoint: {checkpoint}; go on with" in done.stderr
    assert mf_ckpt.verify(checkpoint) == []
    assert numbers_of(tmp_path / "output") == numbers_of(whole)[:6]


def test_stop_after_counts_the_steps_of_this_start(run_file: Path, whole: Path, tmp_path: Path, capsys):
    assert main([*words(run_file), "--stop-after", "5"]) == 0
    assert "stopped by --stop-after 5 after 5 of 12 steps" in capsys.readouterr().err
    assert main(words(run_file, "resume_training=True")) == 0
    assert_same(tmp_path / "output", whole)
    capsys.readouterr()
    assert main(words(run_file, "resume_training=True")) == 0
    assert "nothing left to do: all 12 steps are done." in capsys.readouterr().err
    assert_same(tmp_path / "output", whole)


def test_added_up_micro_batches_give_the_run_of_whole_batches(run_file: Path, whole: Path, tmp_path: Path, capsys):
    micro = words(run_file, "runner_config.batch_size=2", "runner_config.gradient_accumulation_steps=2")
    assert main([*micro, "--set", "runner_config.stop_step=5"]) == 0
    assert "stopped by runner_config.stop_step 5 after 5 of 12 steps" in capsys.readouterr().err
    assert main([*micro, "--set", "resume_training=True"]) == 0
    found, wanted = numbers_of(tmp_path / "output"), numbers_of(whole)
    for exact in ("step", "epoch", "tokens", "lr"):
        assert [line[exact] for line in found] == [line[exact] for line in wanted]
    for close in ("loss", "grad_norm"):
        np.testing.assert_allclose([line[close] for line in found], [line[close] for line in wanted], rtol=2e-5)


def test_other_slots_resume_bit_for_bit_from_a_background_save(
    write_run: Callable[[Path], Path], tmp_path: Path, capsys
):
    saves = "{type: CheckpointMonitor, save_checkpoint_steps: 2, keep_checkpoint_max: 2, async_save: True}"
    settings = ("do_eval=False", "runner_config.epochs=1", "optimizer={type: Adam, use_amsgrad: True}")
    once, twice = (words(write_run(tmp_path / name), *settings, f"callbacks=[{saves}]") for name in ("once", "twice"))
    assert main(once) == 0
    assert main([*twice, "--set", f"callbacks=[{saves}, {{type: TrainCallBack, stop_step: 3}}]"]) == 0
    assert "stopped by TrainCallBack.stop_step 3 after 3 of 6 steps" in capsys.readouterr().err
    saved = [path.name for path in mf_ckpt.checkpoints(tmp_path / "twice" / "output" / "checkpoint")]
    assert saved == ["step-00000002", "step-00000003"]
    assert main([*twice, "--set", "resume_training=True"]) == 0
    outputs = [tmp_path / name / "output" for name in ("once", "twice")]
    assert numbers_of(outputs[0]) == numbers_of(outputs[1])
    assert tensors_of(last_checkpoint(outputs[0])) == tensors_of(last_checkpoint(outputs[1]))
    assert mf_ckpt.verify(last_checkpoint(outputs[1])) == []


def test_run_killed_while_it_saves_resumes_from_the_checkpoint_before(run_file: Path, whole: Path, tmp_path: Path):
    saves = "callbacks=[{type: MFLossMonitor}, {type: CheckpointMonitor, save_checkpoint_steps: 2, async_save: True}]"
    folder = tmp_path / "output" / "checkpoint"
    command = [sys.executable, "-c", KILLED_WHILE_SAVING, str(folder), *words(run_file, saves)]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert [path.name for path in mf_ckpt.checkpoints(folder)] == ["step-00000002"]
    assert main(words(run_file, "resume_training=True")) == 0
    assert_same(tmp_path / "output", whole)


def test_failed_background_save_fails_the_run(run_file: Path, tmp_path: Path, capsys, monkeypatch):
    def fail(self, name, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mf_ckpt.Writer, "add_file", fail)
    saves = "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 6, async_save: True}]"
    assert main(words(run_file, "do_eval=False", "runner_config.epochs=1", saves)) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert list((tmp_path / "output" / "checkpoint").iterdir()) == []


def test_checkpoints_are_uploaded_and_a_failure_ends_no_run(run_file: Path, tmp_path: Path, capsys, monkeypatch):
    pytest.importorskip("fsspec")
    upload = remote.upload

    def fail_once(folder: Path, url: str) -> str:
        if folder.name == "step-00000001":
            raise ConnectionError("no route to host")
        return upload(folder, url)

    monkeypatch.setattr(remote, "upload", fail_once)
    saves = "callbacks=[{type: CheckpointMonitor, save_checkpoint_steps: 1}]"
    address = "memory://bucket/run"
    assert main([*words(run_file, "do_eval=False", saves, f"remote_save_url={address}"), "--stop-after", "2"]) == 0
    assert "remote_save_url: step-00000001 is not uploaded: no route to host" in capsys.readouterr().err
    assert remote.latest(address) == f"{address}/step-00000002"
    assert len(mf_ckpt.checkpoints(tmp_path / "output" / "checkpoint")) == 2


def test_spikes_end_a_run_that_asks_for_it(run_file: Path, tmp_path: Path, capsys):
    limits = "{monitor_on: True, check_for_global_norm: True, global_norm_spike_threshold: 1e-9, " + (
        "global_norm_spike_count_threshold: 2}"
    )
    optimizer = "{type: FP32StateAdamWeightDecay, beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1}"
    assert main(words(run_file, "do_eval=False", f"monitor_config={limits}", f"optimizer={optimizer}")) == 1
    assert "step 2: the global norm of the gradients, now " in capsys.readouterr().err
    assert len(numbers_of(tmp_path / "output")) == 2


LOSS_SPIKES = "monitor_on: True, loss_spike_factor: 1.1, loss_spike_window: 2, loss_spike_count_threshold: 3"


def test_skipped_losses_train_nothing_and_a_resumed_run_skips_the_same(run_file: Path, tmp_path: Path, capsys):
    """A rate by which the loss leaps up; from then on nothing changes, so that it stays there."""
    limits = f"monitor_config={{{LOSS_SPIKES}, skip_loss_spikes: True}}"
    settings = ("do_eval=False", limits, "lr_schedule.learning_rate=5.0", "runner_config.epochs=3")
    whole = words(run_file, *settings, f"output_dir={tmp_path / 'whole'}")
    assert main(whole) == 1
    error = capsys.readouterr().err
    ended = int(re.search(r"step (\d+): the loss, now [\d.]+, was at or above", error)[1])
    assert f"step {ended - 1}: the loss " in error
    assert f"step {ended - 2}: the loss " in error
    begin = ended - 1
    assert main([*words(run_file, *settings), "--stop-after", str(begin)]) == 0
    assert main(words(run_file, *settings, "resume_training=True")) == 1
    assert f"step {ended}: the loss, now " in capsys.readouterr().err
    assert numbers_of(tmp_path / "output") == numbers_of(tmp_path / "whole")


def test_evaluation_of_the_checkpoint_gives_the_numbers_of_the_run(run_file: Path, whole: Path, tmp_path: Path, capsys):
    settings = (
        "run_mode=eval",
        f"load_checkpoint={whole}",
        "eval_callbacks=[{type: SummaryMonitor}, {type: ObsMonitor}]",
    )
    assert main([*words(run_file, *settings), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    (events,) = (tmp_path / "output" / "tensorboard").iterdir()
    assert b"eval/perplexity" in events.read_bytes()
    assert {"checkpoint": str(last_checkpoint(whole)), **result} == result
    assert {"step": STEPS, **result, "checkpoint": None} == {
        **lines_of(whole / "evaluations.jsonl")[-1],
        "checkpoint": None,
    }


def test_padding_of_the_last_batch_counts_in_nothing(run_file: Path, whole: Path, capsys):
    """10 rows in batches of 4, 4 and 2 + 2 padded ones, or in two full batches of 5."""
    settings = ("run_mode=eval", f"load_checkpoint={whole}", "runner_config.batch_size=5")
    assert main([*words(run_file, *settings), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["loss"] == pytest.approx(lines_of(whole / "evaluations.jsonl")[-1]["loss"], rel=1e-6)


def test_finetuning_starts_with_the_weights_and_at_the_first_step(run_file: Path, whole: Path, tmp_path: Path):
    settings = ("run_mode=finetune", f"load_checkpoint={last_checkpoint(whole)}", "runner_config.epochs=1")
    assert main(words(run_file, *settings)) == 0
    evaluations = lines_of(tmp_path / "output" / "evaluations.jsonl")
    assert evaluations[0] == {**lines_of(whole / "evaluations.jsonl")[-1], "step": 0}
    assert [line["step"] for line in numbers_of(tmp_path / "output")] == [1, 2, 3, 4, 5, 6]


def test_resume_with_other_batch_sizes(run_file: Path, tmp_path: Path, capsys):
    quick = ("do_eval=False", "resume_training=True")
    assert main([*words(run_file, "do_eval=False"), "--stop-after", "4"]) == 0
    assert main(words(run_file, *quick, "runner_config.batch_size=3")) == 2
    assert "the checkpoint has done 16 of 24 rows in batches of 4" in capsys.readouterr().err
    assert main([*words(run_file, *quick, "runner_config.batch_size=2"), "--stop-after", "1"]) == 0
    said = capsys.readouterr().err
    assert "8 of 24 steps done" in said
    assert "the run has 24 steps now, not 12" in said
    line = numbers_of(tmp_path / "output")[-1]
    # Rows 17 and 18 of 48, in the first epoch; the rate is that of the place in the longer run.
    assert (line["step"], line["epoch"], line["tokens"]) == (9, 1, 4 * 48 + 24)
    assert line["lr"] == pytest.approx(1e-3 + 9e-3 * 0.5 * (1 + math.cos(math.pi * 6 / 22)))


def test_new_run_in_the_same_folder_moves_the_former_one_aside(run_file: Path, tmp_path: Path, capsys):
    quick = words(run_file, "do_eval=False", "runner_config.epochs=1")
    assert main([*quick, "--stop-after", "3"]) == 0
    assert main([*quick, "--stop-after", "1"]) == 0
    output = tmp_path / "output"
    assert f"moved files of an earlier run that this one would replace to {output / 'earlier-1'}" in (
        capsys.readouterr().err
    )
    assert last_checkpoint(output).name == "step-00000001"
    assert last_checkpoint(output / "earlier-1").name == "step-00000003"
    assert len(lines_of(output / "earlier-1" / "metrics.jsonl")) == 3


def test_overflows_are_skipped_until_the_scale_fits(run_file: Path, tmp_path: Path):
    scale = "runner_wrapper.scale_sense={type: DynamicLossScaleUpdateCell, loss_scale_value: 3e38, scale_factor: 1e15}"
    assert main([*words(run_file, "do_eval=False", scale), "--stop-after", "4"]) == 0
    lines = numbers_of(tmp_path / "output")
    assert [line["overflow"] for line in lines] == [True, True, False, False]
    assert [line["loss_scale"] for line in lines] == pytest.approx([3e38, 3e23, 3e8, 3e8])
    assert [line["lr"] for line in lines] == pytest.approx([0.0, 0.0, 0.0, 5e-3])
    assert lines[0]["grad_norm"] is None
    assert [line["tokens"] for line in lines] == [48, 96, 144, 192]
    state = mf_ckpt.open(last_checkpoint(tmp_path / "output")).trainer_state
    assert state["counters"] == {"step": 4, "skipped": 2, "update": 2, "tokens": 192, "rows_begin": 0}


def test_run_that_only_overflows_fails_with_a_message(run_file: Path, tmp_path: Path, capsys):
    settings = ("do_eval=False", "runner_wrapper.scale_sense=3e38", "callbacks=[]")
    assert main(words(run_file, *settings)) == 1
    assert (
        "step 10: the gradients were not finite in 10 steps in a row, and the loss scale can't go lower. "
        "Newest checkpoint: none." in capsys.readouterr().err
    )
    assert [line["overflow"] for line in numbers_of(tmp_path / "output")] == [True] * 10


def test_full_disk_leaves_no_half_checkpoint(run_file: Path, tmp_path: Path, capsys, monkeypatch):
    def fail(self, name, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mf_ckpt.Writer, "add_file", fail)
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert main(words(run_file, "do_eval=False")) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert list((tmp_path / "output" / "checkpoint").iterdir()) == []
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["resume_training=True"],
            "resume_training: True, but {output} holds no complete checkpoint and there is no load_checkpoint. "
            "Allowed: False, or the folder of the run to go on with as output_dir or load_checkpoint.\n",
        ),
        (
            ["load_checkpoint=/no/such/folder"],
            "load_checkpoint: no file or folder '/no/such/folder'. Allowed: a checkpoint.\n",
        ),
        (
            ["model.model_config.vocab_size=299"],
            "model.model_config.vocab_size: 299, but the tokenizer has 300 entries. Allowed: 300 or more.\n",
        ),
    ],
)
def test_mistakes_are_told_in_one_message(run_file: Path, tmp_path: Path, capsys, settings, message):
    assert main(words(run_file, *settings)) == 2
    assert capsys.readouterr().err.endswith(message.format(output=tmp_path / "output"))
    assert not list(tmp_path.rglob("*.safetensors"))


def test_training_and_evaluation_share_a_tokenizer(run_file: Path, capsys):
    section = "{type: ByteLevelBPETokenizer, tokenizer_file: other/tokenizer.json, vocab_size: 300}"
    other = f"eval_dataset: &eval_dataset\n  tokenizer: {section}"
    run_file.write_text(run_file.read_text().replace("eval_dataset: &eval_dataset", other))
    assert main(words(run_file)) == 2
    assert capsys.readouterr().err.endswith(
        "eval_dataset.tokenizer: differs from the training's. Allowed: the same section, or none.\n"
    )


def test_evaluation_trains_no_tokenizer(run_file: Path, whole: Path, tmp_path: Path, capsys):
    missing = tmp_path / "none" / "tokenizer.json"
    settings = ("run_mode=eval", f"load_checkpoint={whole}", f"processor.tokenizer.tokenizer_file={missing}")
    assert main(words(run_file, *settings)) == 2
    assert str(missing) in capsys.readouterr().err
    assert not missing.exists()


def test_model_folder_without_a_run_cannot_be_resumed(run_file: Path, data: Path, capsys):
    assert main(words(run_file, "resume_training=True", f"load_checkpoint={data / 'llama_gqa'}")) == 2
    assert "training can't be resumed from it" in capsys.readouterr().err


def test_operator_by_operator_gives_the_same_numbers(run_file: Path, whole: Path, tmp_path: Path):
    assert main([*words(run_file, "do_eval=False", "context.mode=1"), "--stop-after", "3"]) == 0
    for found, wanted in zip(numbers_of(tmp_path / "output"), numbers_of(whole), strict=False):
        assert found["loss"] == pytest.approx(wanted["loss"], rel=1e-5)
        assert found["grad_norm"] == pytest.approx(wanted["grad_norm"], rel=1e-4)


def test_training_from_python(run_file: Path, tmp_path: Path):
    result = mf_train.Trainer(decode(load(str(run_file), ["do_eval=False", "runner_config.epochs=1"]))).run()
    assert (result.step, result.total_steps, result.stopped_by, result.evaluation) == (6, 6, "", {})
    assert result.checkpoint == tmp_path / "output" / "checkpoint" / "step-00000006"
    weights = mf_ckpt.open(result.checkpoint)
    assert np.isfinite(weights["model.embed_tokens.weight"]).all()


def test_a_checkpoint_cut_for_another_layout_needs_the_switch(
    run_file: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, cut = last_checkpoint(whole), tmp_path / "cut"
    assert mf_ckpt_main(["reshard", str(saved), str(cut), "--mesh", "tp=2"]) == 0
    settings = ("run_mode=eval", f"load_checkpoint={cut}")
    assert main(words(run_file, *settings)) == 2
    message = capsys.readouterr().err
    assert "is cut for" in message and f"mf-ckpt reshard {cut}" in message
    values = []
    for path, extra in ((saved, ()), (cut, ("auto_trans_ckpt=True",))):
        assert main([*words(run_file, "run_mode=eval", f"load_checkpoint={path}", *extra), "--json"]) == 0
        values.append({**json.loads(capsys.readouterr().out.splitlines()[-1]), "checkpoint": ""})
    assert values[0] == values[1]


def test_training_goes_on_from_the_checkpoint_that_is_named(
    run_file: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [path.name for path in mf_ckpt.checkpoints(whole / "checkpoint")]
    assert main(words(run_file, f"resume_training={names[0]}", f"load_checkpoint={whole}")) == 0
    steps = [line["step"] for line in lines_of(tmp_path / "output" / "metrics.jsonl")]
    assert steps[0] == int(names[0].rpartition("-")[2]) + 1
    assert main(words(run_file, "resume_training=step-00000099", f"load_checkpoint={whole}")) == 2
    assert "checkpoint 'step-00000099' doesn't exist" in capsys.readouterr().err


FAMILIES = {
    "Phi3ForCausalLM": "Phi3Config",
    "ChatGLM2ForConditionalGeneration": "ChatGLM2Config",
    "Glm4ForCausalLM": "Glm4Config",
    "GPT2LMHeadModel": "GPT2Config",
    "Gemma2ForCausalLM": "Gemma2Config",
    "Qwen3ForCausalLM": "Qwen3Config",
}
SIZES = {
    "ChatGLM2Config": "num_attention_heads: 2, multi_query_group_num: 1, kv_channels: 8, ffn_hidden_size: 24, "
    "padded_vocab_size: 320",
    "GPT2Config": "num_heads: 2, vocab_size: 320, bos_token_id: 1, eos_token_id: 2, pad_token_id: 0",
}
OTHERS = "num_heads: 2, n_kv_heads: 1, kv_channels: 8, intermediate_size: 24, vocab_size: 320"


@pytest.mark.parametrize("architecture", FAMILIES)
def test_other_families_train_save_and_resume_bit_for_bit(run_file: Path, tmp_path: Path, architecture: str) -> None:
    """Some of them store several parameters, and their optimizer's state, joined or transposed."""
    family = FAMILIES[architecture]
    sizes = SIZES.get(family, OTHERS)
    if family == "Phi3Config":
        sizes = sizes.replace("kv_channels: 8, ", "")
    network = f"{{type: {family}, seq_length: 12, hidden_size: 16, num_layers: 1, {sizes}}}"
    settings = (f"model.arch.type={architecture}", f"model.model_config={network}", "do_eval=False")
    train_and_resume(run_file, tmp_path / "output", settings)


def train_and_resume(run_file: Path, whole: Path, settings: tuple[str, ...]) -> None:
    """A run, and its last part done again from a checkpoint, end in the same bits."""
    assert main(words(run_file, *settings)) == 0
    tensors, numbers = tensors_of(last_checkpoint(whole)), numbers_of(whole)
    shutil.rmtree(last_checkpoint(whole))
    assert main(words(run_file, *settings, "resume_training=True")) == 0
    assert tensors_of(last_checkpoint(whole)) == tensors
    assert numbers_of(whole) == numbers


def test_experts_beside_llama_train_save_and_resume_bit_for_bit(run_file: Path, tmp_path: Path) -> None:
    """The form that MindFormers' run files of Mixtral have."""
    network = f"{{type: LlamaConfig, seq_length: 12, hidden_size: 16, num_layers: 2, {OTHERS}}}"
    experts = "{expert_num: 4, num_experts_chosen: 2, capacity_factor: 1.1, z_loss_factor: 0.001}"
    settings = ("model.arch.type=LlamaForCausalLM", f"model.model_config={network}", f"moe_config={experts}")
    whole = tmp_path / "output"
    train_and_resume(run_file, whole, (*settings, "do_eval=False"))
    stored = mf_ckpt.open(last_checkpoint(whole))
    assert stored.config["model_type"] == "mixtral"
    assert stored["model.layers.1.block_sparse_moe.experts.3.w2.weight"].shape == (16, 24)
    names = [f"layers.{layer}.{name}" for layer in (0, 1) for name in ("balance", "z")]
    for line in lines_of(whole / "metrics.jsonl"):
        assert list(line["added_losses"]) == names
        # An even use of experts costs 0.05, and no use more than all tokens going to the same ones.
        assert all(0.04 < line["added_losses"][name] < 0.1 for name in names[::2])
