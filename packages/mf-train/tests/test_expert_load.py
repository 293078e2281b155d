"""The load of experts: counted in a training step, recorded by a run, and shown.

Legend: B rows, T tokens, N = B * T, D model dim, K experts of a token, E experts.
"""

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn

import mf_ckpt
import mf_models
from mf_config import decode, load
from mf_config.sections.moe import MoeSection
from mf_config.sections.observation import TensorboardSection
from mf_models.config_keys.dropless import dropless
from mf_models.expert_choices import count_choices
from mf_models.families.deepseek_v3 import DeepseekV3Config
from mf_models.families.llama import LlamaConfig
from mf_models.kernels import select_kernels
from mf_models.networks import parameters
from mf_parallel.collectives import Communicator
from mf_parallel.gradients import TokenSums
from mf_train.callback import Callback, RunInfo, StepInfo
from mf_train.callbacks.cold_hot_expert_monitor import ColdHotExpertMonitor
from mf_train.cli import main
from mf_train.expert_load import load_of
from mf_train.observers import observers, records_expert_load
from mf_train.optimizers.adamw import AdamW
from mf_train.records.output import OutputFolder
from mf_train.step.graphs import Reduction
from mf_train.step.training_step import Outcome, StepRules, TrainingStep
from mf_train.step.update import ParameterUpdate
from mf_train.tasks.causal_lm import CausalLanguageModelingTrainer

SIZES: dict[str, Any] = {"seq_length": 8, "hidden_size": 16, "num_layers": 2, "num_heads": 2, "vocab_size": 24}
LATENT: dict[str, Any] = {"q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4}
GROUPS = dropless(
    expert_num=4,
    num_experts_chosen=2,
    moe_intermediate_size=8,
    shared_expert_num=1,
    first_k_dense_replace=1,
    topk_method="group_limited_greedy",
    n_group=2,
    topk_group=1,
)
MIXTRAL = LlamaConfig(**SIZES, intermediate_size=24).with_experts(
    MoeSection(expert_num=4, num_experts_chosen=2, capacity_factor=1.1, z_loss_factor=0.1)
)
DEEPSEEK = DeepseekV3Config(
    **SIZES, **LATENT, v_head_dim=4, intermediate_size=24, moe_config=GROUPS, extend_method=None, mtp_depth=1
)
"""Its router adds no loss, its first block has no experts, and a third one predicts further tokens."""
NETWORKS = {"mixtral": MIXTRAL, "deepseek": DEEPSEEK}
ROWS, TOKENS = 4, 8


def drawn(config: Any) -> tuple[nn.Cell, dict[str, np.ndarray]]:
    """A network whose blocks change nothing of the embedding, so that routers see it alone, and its weights."""
    cell, random = mf_models.build(config), np.random.default_rng(3)
    weights = {}
    for name, parameter in parameters(cell).items():
        if "norm" not in name and not name.endswith("bias"):
            is_off = name.endswith(("attention.wo.weight", "w2.weight"))
            value = random.normal(size=parameter.shape).astype(np.float32)
            parameter.set_data(Tensor(value * (not is_off)))
        weights[name] = parameter.asnumpy().astype(np.float64)
    return cell, weights


@dataclass(frozen=True)
class Stepped:
    """A step of a network, the ids that it read, and the weights before and after."""

    outcome: Outcome
    ids_BT: np.ndarray
    before: dict[str, np.ndarray]
    after: dict[str, np.ndarray]

    def routed(self, router: str) -> np.ndarray:
        """Outputs of a router, [N, E], in float64."""
        x_ND = self.before["model.tok_embeddings.embedding_weight"][self.ids_BT.reshape(-1)]
        x_ND = x_ND / np.sqrt((x_ND**2).mean(-1, keepdims=True) + 1e-6)
        return x_ND @ self.before[router].T


@cache
def stepped(name: str, micro_batches: int, counts: bool) -> Stepped:
    cell, before = drawn(NETWORKS[name])
    if counts:
        count_choices(cell)
    kernels = select_kernels()
    task = CausalLanguageModelingTrainer()
    update = ParameterUpdate(list(cell.trainable_params()), AdamW(weight_decay=0.1).rule(kernels), 0.1)
    reduction = Reduction(
        TokenSums([each.shape for each in update.parameters], Communicator(0, range(1))), kernels.global_norm
    )
    step = TrainingStep(cell, task.objective(kernels), update, reduction, StepRules(micro_batches=micro_batches))
    ids = np.random.default_rng(4).integers(1, SIZES["vocab_size"], (ROWS, TOKENS + 1)).astype(np.int32)
    # A masked token is routed all the same.
    labels = np.where(np.arange(TOKENS + 1) < 4, -100, ids)
    examples = task.examples({"input_ids": ids, "labels": labels}, -100)
    outcome = step(examples, scale=1.0, number=1, learning_rate=0.01)
    return Stepped(outcome, ids[:, :-1], before, {name: one.asnumpy() for name, one in parameters(cell).items()})


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize("micro_batches", [1, 2])
def test_choices_of_mixtral_are_counted(micro_batches: int):
    found = stepped("mixtral", micro_batches, True)
    assert list(found.outcome.expert_choices) == ["layers.0", "layers.1"]
    for block, counts_E in found.outcome.expert_choices.items():
        logits_NE = found.routed(f"model.{block}.feed_forward.router.dense.weight")
        best_NK = np.argsort(-logits_NE, axis=1)[:, :2]
        np.testing.assert_array_equal(counts_E, np.bincount(best_NK.reshape(-1), minlength=4))
    assert list(found.outcome.added_losses) == ["layers.0.balance", "layers.0.z", "layers.1.balance", "layers.1.z"]


@pytest.mark.usefixtures("graph_mode")
def test_choices_of_deepseek_are_counted_also_where_no_loss_is_added():
    found = stepped("deepseek", 1, True)
    outcome = found.outcome
    assert list(outcome.expert_choices) == ["layers.1", "layers.2"]
    assert outcome.added_losses == {}
    router = "model.layers.1.feed_forward.routed_experts.router.dense.weight"
    scores_NGX = (1 / (1 + np.exp(-found.routed(router)))).reshape(-1, 2, 2)
    # Two experts of the better one of two groups of two.
    best = np.bincount(scores_NGX.sum(-1).argmax(1), minlength=2)
    assert outcome.expert_choices["layers.1"].tolist() == [best[0], best[0], best[1], best[1]]
    # The last token has no successor whose successor it could predict.
    assert outcome.expert_choices["layers.2"].sum() == 2 * ROWS * (TOKENS - 1)


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize(("name", "micro_batches"), [("mixtral", 2), ("deepseek", 1)])
def test_counting_changes_no_bit(name: str, micro_batches: int):
    counted, plain = (stepped(name, micro_batches, counts) for counts in (True, False))
    assert plain.outcome.expert_choices == {}
    assert replace(counted.outcome, expert_choices={}) == plain.outcome
    for weight, value in plain.after.items():
        assert counted.after[weight].tobytes() == value.tobytes(), weight


def test_the_load_is_that_of_all_processes():
    """Another process has chosen the last expert of each block five times."""
    others = np.float32([0, 0, 5, 0, 5])
    processes: Any = SimpleNamespace(sum_array=lambda values: values + others)
    choices = {"layers.0": np.array([2, 3, 0]), "layers.3": np.array([5, 0])}
    assert load_of(choices, processes) == {"layers.0": [0.2, 0.3, 0.5], "layers.3": [0.5, 0.5]}
    never: Any = SimpleNamespace(sum_array=lambda values: pytest.fail("nothing is to be sent"))
    assert load_of({}, never) == {}


LOAD = {"layers.0": [0.5, 0.25, 0.125, 0.125], "layers.1": [0.25, 0.25, 0.25, 0.25]}


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


def step_info(step: int, **changed: Any) -> StepInfo:
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
        expert_load=changed.get("expert_load", LOAD),
        seconds=0.25,
        seconds_left=1.0,
    )


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_records_and_lines_come_at_their_intervals(section_of, tmp_path: Path, caplog, monkeypatch):
    """The form that MindFormers' files have, with its misspelt name."""
    monkeypatch.setattr(logging.getLogger("mf_train"), "propagate", True)
    text = "{type: ColdHotExpertMointor, hidden_size: 8, save_checkpoint_steps: 3, step_interval: 2}"
    callback = section_of("callback", text).build(run_info(tmp_path))
    callback.on_train_begin()
    with caplog.at_level(logging.INFO, logger="mf_train"):
        for step in range(1, 6):
            callback.on_step_end(step_info(step))
    assert lines_of(tmp_path / "expert_load.jsonl") == [{"step": step, "blocks": LOAD} for step in (2, 4)]
    assert {record.getMessage() for record in caplog.records} == {
        "step 3: hottest and coldest experts, with their loads over an even one: "
        "layers.0: 0 (2.00) and 2 (0.50), layers.1: 0 (1.00) and 0 (1.00)"
    }


def test_a_resumed_run_records_each_step_once(tmp_path: Path):
    for first in (0, 2):
        callback = ColdHotExpertMonitor().build(run_info(tmp_path, first))
        callback.on_train_begin()
        for step in range(first + 1, 5):
            callback.on_step_end(step_info(step))
    assert [line["step"] for line in lines_of(tmp_path / "expert_load.jsonl")] == [1, 2, 3, 4]


def test_nothing_is_recorded_where_nothing_is_counted(tmp_path: Path):
    callback = ColdHotExpertMonitor(save_checkpoint_steps=1).build(run_info(tmp_path))
    callback.on_train_begin()
    callback.on_step_end(step_info(1, expert_load={}))
    assert list(tmp_path.iterdir()) == []
    assert type(ColdHotExpertMonitor().build(run_info(tmp_path, is_main=False))) is Callback


@pytest.mark.parametrize("is_asked", [True, False])
def test_event_files_have_the_extremes_of_each_block(run_file: Path, tmp_path: Path, is_asked: bool):
    events = pytest.importorskip("tensorboardX")
    written: dict[str, float] = {}

    class Writer:
        def __init__(self, folder: str, **_: Any):
            assert folder == str(tmp_path / "tb")

        def add_scalar(self, tag: str, value: float, step: int) -> None:
            written[tag] = value

        def close(self) -> None:
            pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "SummaryWriter", Writer)
        section = TensorboardSection(tensorboard_dir=str(tmp_path / "tb"), log_expert_load_to_tensorboard=is_asked)
        config = replace(decode(load(str(run_file))), tensorboard=section)
        assert records_expert_load(config) is is_asked
        (asked,) = observers(config)
        callback = asked.build(run_info(tmp_path))
        callback.on_step_end(step_info(1))
    wanted = {
        "train/expert_load/layers.0/most": 2.0,
        "train/expert_load/layers.0/least": 0.5,
        "train/expert_load/layers.1/most": 1.0,
        "train/expert_load/layers.1/least": 1.0,
    }
    assert {tag: value for tag, value in written.items() if "expert" in tag} == (wanted if is_asked else {})


NETWORK = (
    "{type: LlamaConfig, seq_length: 12, hidden_size: 16, num_layers: 2, num_heads: 2, n_kv_heads: 1, kv_channels: 8, "
    "intermediate_size: 24, vocab_size: 320}"
)
EXPERTS = "{expert_num: 4, num_experts_chosen: 2, capacity_factor: 1.1}"
SAVES = "{type: CheckpointMonitor, save_checkpoint_steps: 12}"
CHOICES = 4 * 12 * 2
"""Of a step: rows, tokens, experts of each."""


def words(run_file: Path, folder: Path, callbacks: str, *settings: str) -> list[str]:
    fixed = (
        f"output_dir={folder}",
        f"model.model_config={NETWORK}",
        f"moe_config={EXPERTS}",
        f"callbacks=[{callbacks}]",
    )
    return ["run", str(run_file), *(word for setting in (*fixed, *settings) for word in ("--set", setting))]


def shares_of(folder: Path) -> np.ndarray:
    """[steps, blocks, E], as numbers of choices."""
    lines = lines_of(folder / "expert_load.jsonl")
    assert [line["step"] for line in lines] == list(range(1, 13))
    assert all(list(line["blocks"]) == ["layers.0", "layers.1"] for line in lines)
    return np.array([list(line["blocks"].values()) for line in lines]) * CHOICES


@pytest.fixture(scope="module")
def recorded(write_run: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Output folder of a run that records the load."""
    folder = tmp_path_factory.mktemp("recorded")
    assert main(words(write_run(folder), folder / "output", f"{SAVES}, {{type: ColdHotExpertMonitor}}")) == 0
    return folder / "output"


def test_a_run_records_and_stays_the_same_run(run_file: Path, tmp_path: Path, recorded: Path):
    """Evaluations count nothing."""
    plain = tmp_path / "output"
    assert main(words(run_file, plain, SAVES)) == 0
    shares = shares_of(recorded)
    np.testing.assert_allclose(shares, shares.round(), atol=1e-4)
    np.testing.assert_allclose(shares.sum(-1), CHOICES)
    assert not (plain / "expert_load.jsonl").exists()
    wanted, found = (lines_of(folder / "metrics.jsonl") for folder in (plain, recorded))
    for line in (*wanted, *found):
        del line["tokens_per_second"]
    assert found == wanted
    first, second = (mf_ckpt.latest(folder / "checkpoint") for folder in (plain, recorded))
    assert first is not None and second is not None
    for path in first.glob("*.safetensors"):
        assert path.read_bytes() == (second / path.name).read_bytes()


@pytest.mark.multiproc
def test_two_processes_record_the_load_of_both(run_file: Path, tmp_path: Path, recorded: Path):
    """Each reads half of the rows; by the first step, nothing but the order of sums tells them from one process."""
    divided = ("use_parallel=True", "parallel_config.data_parallel=2", "parallel_config.expert_parallel=2")
    settings = ("do_eval=False", "runner_config.batch_size=2", *divided)
    line = words(run_file, tmp_path / "two", "{type: ColdHotExpertMonitor}", *settings)
    command = [sys.executable, "-m", "mf_train", *line]
    done = subprocess.run([*command, "--workers", "2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    one, two = shares_of(recorded), shares_of(tmp_path / "two")
    np.testing.assert_allclose(two[0], one[0], atol=1e-4)
    np.testing.assert_allclose(two.sum(-1), CHOICES)
