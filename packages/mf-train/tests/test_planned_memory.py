"""Estimated peaks beside the memory that MindSpore plans for loss and gradients on a simulated Ascend device."""

from pathlib import Path

import pytest

from mf_config import decode, load
from mf_parallel.planner.card import device_card
from mf_parallel.planner.estimate import estimate
from mf_parallel.simulation import SimulatedRank, simulate
from mf_train.planning.layout_of_run import layout_of

PROGRAMS = Path(__file__).parent / "programs"

CLOSE = 0.16

RUN = """\
run_mode: train
output_dir: {folder}/output
context: {{device_target: Ascend}}
parallel: {{parallel_mode: HYBRID_PARALLEL}}
trainer: {{type: CausalLanguageModelingTrainer}}
runner_config: {{batch_size: 2}}
optimizer: {{type: AdamW, learning_rate: 1.e-3}}
model:
  arch: {{type: LlamaForCausalLM}}
  model_config:
    type: LlamaConfig
    compute_dtype: float32
    seq_length: 512
    hidden_size: 256
    num_layers: 4
    num_heads: 4
    intermediate_size: 704
    vocab_size: 2048
    pad_token_id: 0
    bos_token_id: 1
    eos_token_id: 2
"""

TENSOR = ["use_parallel=True", "parallel_config.model_parallel=2", "parallel_config.vocab_emb_dp=False"]
SETTINGS: dict[int, dict[str, list[str]]] = {
    1: {
        "plain": [],
        "long rows": ["model.model_config.seq_length=1024"],
        "recomputed blocks": ["recompute_config.recompute=True"],
        # MindSpore plans no less for these than without.
        "recomputed parts": ["recompute_config.select_recompute=True", "recompute_config.select_comm_recompute=True"],
        "tied, few key heads": ["model.model_config.n_kv_heads=2", "model.model_config.tie_word_embeddings=True"],
        "experts": ["moe_config.expert_num=4", "moe_config.num_experts_chosen=2", "moe_config.capacity_factor=1.25"],
    },
    2: {
        "divided matrices": TENSOR,
        "divided tokens": [*TENSOR, "parallel_config.use_seq_parallel=True"],
        "divided batch": ["use_parallel=True", "parallel_config.data_parallel=2"],
        "divided rows": ["use_parallel=True", "parallel_config.context_parallel=2"],
    },
}
"""Ranks of the job to name and settings."""


@pytest.mark.slow
@pytest.mark.parametrize("size", SETTINGS)
def test_peaks_are_near_those_that_mindspore_plans(size: int, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(RUN.format(folder=tmp_path))
    arguments = {"path": str(path), "settings": list(SETTINGS[size].values()), "rank": 0, "size": size}
    rank = SimulatedRank(rank=0, size=size, executes=True)
    planned = simulate("planned_memory:peaks", arguments, rank, search_path=[PROGRAMS], timeout_s=1200.0)
    errors = {}
    for (name, settings), peak in zip(SETTINGS[size].items(), planned, strict=True):
        config = decode(load(str(path), settings))
        found = estimate(layout_of(config, size), device_card("910B"), "float32").memory[0]
        errors[name] = (found.peak - found.optimizer) / peak - 1
    assert all(abs(error) < CLOSE for error in errors.values()), errors
