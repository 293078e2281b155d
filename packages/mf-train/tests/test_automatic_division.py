"""Training steps that MindSpore's compiler divides for Ascend: pieces and collectives are those of the plan."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from mf_parallel.simulation import SimulatedRank, simulate

pytestmark = [
    pytest.mark.multiproc,
    pytest.mark.skipif(shutil.which("cc") is None, reason="the stand-in for CANN needs a C compiler"),
]

TENSOR = ("parallel_config.data_parallel=2", "parallel_config.model_parallel=2", "parallel_config.vocab_emb_dp=False")
SHARED = (
    "parallel.enable_parallel_optimizer=True",
    "parallel.parallel_optimizer_config.parallel_optimizer_threshold=0",
)
EXPERTS = (
    "moe_config.expert_num=4",
    "moe_config.num_experts_chosen=2",
    "moe_config.capacity_factor=1.5",
    "moe_config.aux_loss_factor=0.01",
    "parallel.enable_alltoall=True",
)
SEARCH = (*TENSOR, "parallel.parallel_mode=AUTO_PARALLEL")
PIPELINE = (*TENSOR, *SHARED, "parallel_config.pipeline_stage=2", "parallel_config.micro_batch_num=4")

AGREED: list[list[str]] = [[], [], []]
"""No difference of weights, first and second moments."""


def compiled(path: Path, settings: tuple[str, ...], rank: int, size: int, rows: int = 4) -> dict[str, Any]:
    arguments = {"path": str(path), "settings": list(settings), "size": size, "rows": rows}
    programs = [Path(__file__).parent / "programs"]
    found: dict[str, Any] = simulate(
        "divided_step:compile_step", arguments, SimulatedRank(rank=rank, size=size), search_path=programs
    )
    return found


def agrees(found: dict[str, Any]) -> bool:
    """Whether plan, compiler and strategy file say the same of every weight and moment."""
    assert found["differences"] == AGREED and found["file differences"] == []
    return bool(found["held"]) and found["in file"] == found["held"]


def test_matrices_and_rows_are_divided_as_planned(ascend_run: Path):
    found = compiled(ascend_run, TENSOR, 1, 4)
    assert found["differences"] == AGREED
    assert len(found["held"]) == 21 and found["in file"] == found["held"]
    # Sums over tp: behind the embedding, attention and feed-forward of two blocks, in the loss two, as many in the
    # backward pass, and the largest logits. Over dp: gradients of 16 matrices, the loss and its gradient. Over all:
    # gradients of five norms, and the global norm.
    assert found["collectives"] == {"AllReduce 0, 1": 15, "AllReduce 1, 3": 18, "AllReduce 0, 1, 2, 3": 6}


@pytest.mark.slow
def test_divided_tokens_and_a_shared_optimizer(ascend_run: Path):
    found = compiled(ascend_run, (*TENSOR, *SHARED, "parallel_config.use_seq_parallel=True"), 3, 4)
    assert found["differences"] == AGREED
    # Tokens are gathered before attention and feed-forward of two blocks and the head, and where these four were
    # added up in the backward pass; the other way round they are scattered. Weights are gathered, gradients scattered.
    assert {name: found["collectives"][name] for name in ("AllGather 2, 3", "ReduceScatter 2, 3")} == {
        "AllGather 2, 3": 9,
        "ReduceScatter 2, 3": 9,
    }
    assert {name: found["collectives"][name] for name in ("AllGather 1, 3", "ReduceScatter 1, 3")} == {
        "AllGather 1, 3": 16,
        "ReduceScatter 1, 3": 16,
    }


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "first", "pair"), [(0, "model.tok_embeddings", "0, 4"), (7, "lm_head", "3, 7")])
def test_a_stage_has_its_blocks_and_sends_each_micro_batch(ascend_run: Path, rank: int, first: str, pair: str):
    found = compiled(ascend_run, PIPELINE, rank, 8, rows=8)
    assert found["differences"] == AGREED
    block = rank // 4
    assert any(name.startswith(first) for name in found["held"])
    assert all(f"layers.{1 - block}." not in name for name in found["held"])
    assert found["in file"] == found["held"]
    assert (found["collectives"][f"Send {pair}"], found["collectives"][f"Receive {pair}"]) == (4, 4)


@pytest.mark.slow
def test_gradients_of_micro_batches_add_up(ascend_run: Path):
    settings = ("parallel_config.data_parallel=2", "runner_config.gradient_accumulation_steps=2", *SHARED)
    assert compiled(ascend_run, settings, 1, 2)["differences"] == AGREED


@pytest.mark.slow
def test_strategies_spread_from_the_matrices(ascend_run: Path):
    settings = (*TENSOR, "parallel.parallel_mode=AUTO_PARALLEL", "parallel.search_mode=sharding_propagation")
    assert compiled(ascend_run, settings, 1, 4, rows=8)["differences"] == AGREED


@pytest.mark.slow
def test_a_search_finds_a_layout_of_its_own(ascend_run: Path):
    settings = (*TENSOR, "parallel.parallel_mode=AUTO_PARALLEL", "parallel.search_mode=recursive_programming")
    found = compiled(ascend_run, settings, 1, 4, rows=8)
    assert len(found["held"]) == 21 and found["in file"] == found["held"]
