"""Layouts that are impossible are refused before any process is started, with keys and lines."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from mf_config import UserError, decode, load
from mf_config.command_line import USER_ERROR
from mf_config.layout import Mesh
from mf_train.cli import main
from mf_train.layout.automatic_limits import check_automatic

NETWORK = ("model.model_config.num_layers=2", "model.model_config.num_heads=4", "model.model_config.n_kv_heads=2")
EXPERTS = ("moe_config.expert_num=4", "moe_config.num_experts_chosen=2")
ALIBI = ("model.arch.type=Baichuan13BV2ForCausalLM", "model.model_config.n_kv_heads=4")
GPT2 = (
    "model.arch.type=GPT2LMHeadModel",
    "model.model_config={type: GPT2Config, seq_length: 12, hidden_size: 16, num_layers: 2, num_heads: 4, "
    "vocab_size: 320, bos_token_id: 1, eos_token_id: 2, pad_token_id: 0, hidden_dropout_rate: 0.1}",
)
ZERO = ("parallel.enable_parallel_optimizer=True",)


@dataclass(frozen=True)
class Case:
    """A layout: what is written below the run file, what differs besides, the key that has to change, and why."""

    written: str
    workers: int
    path: str
    what: str
    settings: tuple[str, ...] = ()


def degrees(**keys: object) -> str:
    return "\n".join(["parallel_config:", *(f"  {key}: {value}" for key, value in keys.items())])


CASES = {
    "heads": Case(degrees(model_parallel=3), 3, "parallel_config.model_parallel", "can't divide num_heads 4"),
    "key heads": Case(degrees(model_parallel=4), 4, "parallel_config.model_parallel", "can't divide 2 key/value heads"),
    "processes": Case(degrees(data_parallel=4), 6, "parallel_config.data_parallel", "6 processes are started"),
    "stages": Case(
        degrees(pipeline_stage=4, micro_batch_num=4), 4, "parallel_config.pipeline_stage", "4 stages for 2 layers"
    ),
    "chunks": Case(
        degrees(pipeline_stage=2, micro_batch_num=2),
        2,
        "parallel_config.pipeline_stage",
        "leave a stage without a block",
        ("model.model_config.pp_interleave_num=2",),
    ),
    "micro batches": Case(
        degrees(pipeline_stage=2, micro_batch_num=1), 2, "parallel_config.micro_batch_num", "less than pipeline_stage 2"
    ),
    "micro batches of mf's own pipelines": Case(
        degrees(pipeline_stage=2, micro_batch_num=1),
        2,
        "parallel_config.micro_batch_num",
        "less than pipeline_stage 2",
        ("parallel.parallel_mode=HYBRID_PARALLEL",),
    ),
    "groups of experts": Case(
        degrees(data_parallel=4, expert_parallel=3), 4, "parallel_config.expert_parallel", "Allowed: a divisor of 4"
    ),
    "experts": Case(degrees(data_parallel=8, expert_parallel=8), 8, "parallel_config.expert_parallel", "4", EXPERTS),
    "chunks of rows": Case(
        degrees(context_parallel=4), 4, "model.model_config.seq_length", "12 tokens can't be divided into 8 chunks"
    ),
    "heads for tokens": Case(
        degrees(context_parallel=4, context_parallel_algo="ulysses_cp"),
        4,
        "parallel_config.context_parallel_algo",
        "can't share num_kv_heads 2",
    ),
    "shared state": Case(
        "parallel:\n  parallel_optimizer_config:\n    optimizer_weight_shard_size: 3",
        4,
        "parallel.parallel_optimizer_config.optimizer_weight_shard_size",
        "3",
        (*ZERO, "parallel_config.data_parallel=4"),
    ),
    "experts and divided tokens": Case(
        degrees(model_parallel=2, use_seq_parallel=True),
        2,
        "parallel_config.use_seq_parallel",
        "experts can't take parts of sequences yet",
        EXPERTS,
    ),
    "dropout": Case(degrees(model_parallel=2), 2, "parallel_config.model_parallel", "has dropout", GPT2),
    "rows that MindSpore shall divide": Case(
        degrees(context_parallel=2),
        2,
        "parallel_config.context_parallel",
        "MindSpore is given no strategies for it",
        ("context.device_target=Ascend",),
    ),
    "distances": Case(degrees(context_parallel=2), 2, "parallel_config.context_parallel", "has ALiBi", ALIBI),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_impossible_layout_names_key_and_line(run_file: Path, capsys: pytest.CaptureFixture[str], case: Case):
    run_file.write_text(f"{run_file.read_text()}{case.written}\n")
    key = case.path.rpartition(".")[2]
    (line,) = (number for number, text in enumerate(run_file.read_text().splitlines(), 1) if f"{key}: " in text)
    words = [word for setting in (*NETWORK, *case.settings) for word in ("--set", setting)]
    assert main(["run", str(run_file), "--workers", str(case.workers), *words]) == USER_ERROR
    said = [text for text in capsys.readouterr().err.splitlines() if text.startswith(f"{run_file}:{line}: {case.path}")]
    assert any(case.what in text for text in said), said
    assert not (run_file.parent / "output").exists()


def test_a_z_loss_needs_a_step_that_mf_divides(ascend_run: Path):
    mesh = Mesh.of(dp=2)
    check_automatic(decode(load(str(ascend_run))), mesh)
    with pytest.raises(UserError, match=r"^trainer\.z_loss_factor: MindSpore is given no strategies for this loss"):
        check_automatic(decode(load(str(ascend_run), ["trainer.z_loss_factor=1.e-4"])), mesh)
    skips = "monitor_config={monitor_on: True, skip_loss_spikes: True}"
    with pytest.raises(UserError, match=r"^monitor_config\.skip_loss_spikes: the stages of a pipeline"):
        check_automatic(decode(load(str(ascend_run), [skips])), mesh)
