"""Training steps that MindSpore's compiler divides for Ascend: pieces and collectives are those of the plan."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from mf_parallel.simulation import SimulatedRank, SimulationError, simulate

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


@pytest.mark.parametrize("settings", [(), ("parallel.full_batch=False",)])
def test_matrices_and_rows_are_divided_as_planned(ascend_run: Path, settings: tuple[str, ...]):
    found = compiled(ascend_run, (*TENSOR, *settings), 1, 4)
    assert agrees(found) and len(found["held"]) == 21
    # Sums over tp: behind the embedding, attention and feed-forward of two blocks, in the loss two, as many in the
    # backward pass, and the largest logits. Over dp: gradients of 16 matrices, the loss and its gradient. Over all:
    # gradients of five norms, and the global norm.
    assert found["collectives"] == {"AllReduce 0, 1": 15, "AllReduce 1, 3": 18, "AllReduce 0, 1, 2, 3": 6}


@pytest.mark.slow
def test_divided_tokens_and_a_shared_optimizer(ascend_run: Path):
    found = compiled(ascend_run, (*TENSOR, *SHARED, "parallel_config.use_seq_parallel=True"), 3, 4)
    assert agrees(found)
    # Tokens are gathered before attention and feed-forward of two blocks and the head, and where these four were
    # added up in the backward pass; the other way round they are scattered. Weights are gathered, gradients scattered.
    # Sums over tp: behind the embedding, in the loss five, of the head's gradient.
    assert found["collectives"] == {
        "AllGather 2, 3": 9,
        "ReduceScatter 2, 3": 9,
        "AllGather 1, 3": 16,
        "ReduceScatter 1, 3": 16,
        "AllReduce 2, 3": 7,
        "AllReduce 1, 3": 2,
        "AllReduce 0, 1, 2, 3": 6,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rank", "first", "matrices", "wanted"),
    [
        # Sums over tp: behind the embedding, attention and feed-forward, and in the backward pass of the latter two,
        # of which there is one more. Over the stage: gradients of the norms, the global norm, which stages add up.
        (0, "model.tok_embeddings", 8, {"AllReduce 0, 1": 6, "AllReduce 0, 1, 2, 3": 3, "AllReduce 0, 4": 1}),
        (
            7,
            "lm_head",
            8,
            {"AllReduce 6, 7": 9, "AllReduce 5, 7": 2, "AllReduce 4, 5, 6, 7": 4, "AllReduce 3, 7": 1},
        ),
    ],
)
def test_a_stage_has_its_blocks_and_sends_each_micro_batch(
    ascend_run: Path, rank: int, first: str, matrices: int, wanted: dict[str, int]
):
    found = compiled(ascend_run, PIPELINE, rank, 8, rows=8)
    assert agrees(found)
    assert any(name.startswith(first) for name in found["held"])
    assert all(f"layers.{1 - rank // 4}." not in name for name in found["held"])
    peers, replicas = {0: ("0, 4", "0, 2"), 7: ("3, 7", "5, 7")}[rank]
    # Hidden states and their gradients are sent as they are divided; weights alone are gathered.
    sent = {f"Send {peers}": 4, f"Receive {peers}": 4}
    shared = {f"AllGather {replicas}": matrices, f"ReduceScatter {replicas}": matrices}
    assert found["collectives"] == sent | shared | wanted


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "pair", "blocks"), [(0, "0, 4", {"0", "2"}), (7, "3, 7", {"1", "3"})])
def test_a_stage_of_two_chunks_has_blocks_of_both(ascend_run: Path, rank: int, pair: str, blocks: set[str]):
    settings = (*PIPELINE, "model.model_config.num_layers=4", "model.model_config.pp_interleave_num=2")
    found = compiled(ascend_run, settings, rank, 8, rows=8)
    assert agrees(found)
    assert {name.split(".")[2] for name in found["held"] if "layers." in name} == blocks
    # Each of 4 micro batches goes to the other stage behind three of the four chunks of both, as its gradient does.
    assert (found["collectives"][f"Send {pair}"], found["collectives"][f"Receive {pair}"]) == (12, 12)


@pytest.mark.slow
def test_gradients_of_micro_batches_add_up(ascend_run: Path):
    settings = ("parallel_config.data_parallel=2", "runner_config.gradient_accumulation_steps=2", *SHARED)
    found = compiled(ascend_run, settings, 1, 2)
    assert agrees(found)
    # Weights and gradients, then the loss, its gradient, and the global norm.
    assert found["collectives"] == {"AllGather 0, 1": 21, "ReduceScatter 0, 1": 21, "AllReduce 0, 1": 3}


@pytest.mark.slow
def test_experts_are_divided_and_rows_travel_to_them(ascend_run: Path):
    settings = ("parallel_config.data_parallel=2", "parallel_config.expert_parallel=2", *EXPERTS)
    found = compiled(ascend_run, settings, 1, 2)
    assert agrees(found)
    assert found["pieces"]["model.layers.0.feed_forward.ffn.w2.weight"] == [[2, 4], [0, 64], [0, 128]]
    # To the experts of two blocks and back, and the same for gradients.
    assert found["collectives"]["AlltoAll 0, 1"] == 8


@pytest.mark.slow
def test_experts_have_copies_and_are_divided_themselves(ascend_run: Path):
    degrees = ("data_parallel=4", "expert_parallel=2", "model_parallel=2", "vocab_emb_dp=False")
    settings = tuple(f"parallel_config.{degree}" for degree in degrees)
    found = compiled(ascend_run, (*settings, *EXPERTS), 3, 8, rows=8)
    assert agrees(found)
    assert found["pieces"]["model.layers.0.feed_forward.ffn.w1.weight"] == [[2, 4], [64, 128], [0, 64]]
    kinds = ("AlltoAll 1, 3", "AllReduce 3, 7", "AllReduce 2, 3", "AllReduce 1, 3, 5, 7")
    # Rows to and from the experts; gradients of six matrices of experts over their copies; sums over tp as of a dense
    # network; gradients of ten dense matrices, the loss and its gradient.
    assert [found["collectives"][kind] for kind in kinds] == [8, 6, 15, 12]


@pytest.mark.slow
def test_strategies_spread_from_the_matrices(ascend_run: Path):
    settings = (*SEARCH, "parallel.search_mode=sharding_propagation")
    assert agrees(compiled(ascend_run, settings, 1, 4, rows=8))


@pytest.mark.slow
def test_a_search_that_cares_for_memory_divides_more_weights(ascend_run: Path):
    sizes = []
    for coefficient in (0.1, 4.5):
        more = ("parallel.search_mode=recursive_programming", f"parallel_config.mem_coeff={coefficient}")
        found = compiled(ascend_run, (*SEARCH, *more), 1, 4, rows=8)
        assert len(found["held"]) == 21 and found["in file"] == found["held"]
        sizes.append(sum(math.prod(end - begin for begin, end in bounds) for bounds in found["pieces"].values()))
    assert sizes[1] < sizes[0]


@pytest.mark.slow
def test_a_search_at_which_mindspore_crashes_is_refused(ascend_run: Path):
    with pytest.raises(SimulationError, match=r"UserError: parallel\.search_mode: .* Allowed: recursive_programming"):
        compiled(ascend_run, (*SEARCH, "parallel.search_mode=dynamic_programming"), 1, 4)


@pytest.mark.slow
def test_a_strategy_file_holds_later_runs_to_it(ascend_run: Path):
    compiled(ascend_run, (*TENSOR, "parallel.strategy_ckpt_save_file=./earlier.ckpt"), 1, 4)
    earlier = "parallel.strategy_ckpt_load_file=./earlier.ckpt"
    assert agrees(compiled(ascend_run, (*TENSOR, earlier), 1, 4))
    with pytest.raises(SimulationError, match=r"strategy_ckpt_load_file: .* says: model\.tok_embeddings"):
        compiled(ascend_run, (*TENSOR, "parallel_config.vocab_emb_dp=True", earlier), 1, 4)
