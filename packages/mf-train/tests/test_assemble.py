"""Parts of a run that need no compiled step."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mindspore import nn

from mf_ckpt.formats.mindspore_ckpt import CkptWriter, to_strategy, write_strategy
from mf_config import RunConfig, UserError, decode, load
from mf_config.layout import Mesh, Shard, TensorLayout
from mf_models.networks import parameters
from mf_parallel.pieces import Pieces
from mf_train.assemble import Job
from mf_train.checkpoint.checkpoints import strategy_for
from mf_train.checkpoint.kept_files import files_of_config
from mf_train.layout.processes import Processes
from mf_train.optimizers.adafactor import AdaFactor
from mf_train.optimizers.came import Came

pytestmark = pytest.mark.usefixtures("graph_mode")


def job_of(run_file: Path, **changes: object) -> Job:
    config: RunConfig = decode(load(str(run_file)))
    runner = replace(config.runner_config, gradient_accumulation_steps=3)
    return Job(replace(config, runner_config=runner, **changes), Processes.alone())


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


def test_rates_of_a_warm_up_of_epochs_and_of_a_relative_step(run_file: Path):
    schedule = job_of(run_file).config.lr_schedule
    job = job_of(run_file, lr_schedule=replace(schedule, warmup_epochs=1))
    assert job.data.training.steps_per_epoch == 2
    assert [job.learning_rate(update) for update in range(3)] == pytest.approx([0.0, 5e-3, 1e-2])
    relative = job_of(run_file, lr_schedule=None, optimizer=AdaFactor(warmup_init=True))
    assert [relative.learning_rate(update) for update in range(2)] == pytest.approx([1e-6, 2e-6])


def test_an_optimizer_of_whole_parameters_refuses_pieces(run_file: Path, monkeypatch: pytest.MonkeyPatch):
    assert job_of(run_file, optimizer=Came()).update.needs_whole
    monkeypatch.setattr(Pieces, "are_whole", False)
    with pytest.raises(UserError, match=r"optimizer\.type: Came looks at whole parameters, which are divided\."):
        _ = job_of(run_file, optimizer=Came()).update
    assert not job_of(run_file).update.needs_whole


def test_settings_of_generation_are_kept_with_a_checkpoint(run_file: Path):
    config: RunConfig = decode(load(str(run_file)))
    assert list(files_of_config(config)) == ["run.yaml"]
    config = decode(load(str(run_file), ["model.model_config.top_k=7", "model.model_config.max_new_tokens=9"]))
    settings = json.loads(files_of_config(config)["generation_config.json"])
    assert (settings["top_k"], settings["max_new_tokens"], settings["do_sample"]) == (7, 9, True)
    assert (settings["eos_token_id"], settings["pad_token_id"]) == (2, 0)


def cut_for_two_ranks(cell: nn.Cell, folder: Path, strategy: Path) -> None:
    """Write the weights of a cell as a MindFormers run on two ranks saves them, one matrix of them cut."""
    weights = {name: parameter.asnumpy() for name, parameter in parameters(cell).items()}
    (cut,) = (name for name in weights if name.endswith("layers.0.attention.wq.weight"))
    for rank in range(2):
        with CkptWriter(folder / f"rank_{rank}/llama_rank_{rank}-1_5.ckpt") as writer:
            for name, array in weights.items():
                writer.add(name, np.split(array, 2)[rank] if name == cut else array)
    layouts = {cut: TensorLayout(weights[cut].shape, (Shard(0, "tp"),))}
    write_strategy(strategy, to_strategy(Mesh.of(tp=2), {0: layouts}))


def test_folders_of_ranks_are_put_together_by_a_strategy_that_lies_elsewhere(run_file: Path, tmp_path: Path):
    saved, strategy = job_of(run_file, seed=5), tmp_path / "elsewhere.ckpt"
    cut_for_two_ranks(saved.model, tmp_path / "ranks", strategy)
    with pytest.raises(UserError, match="there is no strategy file"):
        job_of(run_file).load_weights(tmp_path / "ranks")
    with pytest.raises(UserError, match=r"is cut for 2 ranks, and the run has 1\. Allowed: auto_trans_ckpt: True, or"):
        job_of(run_file, src_strategy_path_or_dir=str(strategy)).load_weights(tmp_path / "ranks")
    job = job_of(run_file, src_strategy_path_or_dir=str(strategy), auto_trans_ckpt=True)
    job.load_weights(tmp_path / "ranks")
    found = {name: parameter.asnumpy() for name, parameter in parameters(job.model).items()}
    assert all(np.array_equal(found[name], each.asnumpy()) for name, each in parameters(saved.model).items())


def test_a_strategy_for_whole_weights_is_noted(run_file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    config = job_of(run_file, src_strategy_path_or_dir="somewhere").config
    assert strategy_for(tmp_path, config) is None
    assert "src_strategy_path_or_dir: has no effect" in caplog.text
