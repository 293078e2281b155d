"""Estimated peaks beside the memory that MindSpore plans for a step's passes on a simulated Ascend device."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest

from mf_config import decode, load
from mf_parallel.planner.card import device_card
from mf_parallel.planner.estimate import estimate
from mf_parallel.simulation import SimulatedRank, simulate
from mf_train.planning.layout_of_run import layout_of

PROGRAMS = Path(__file__).parent / "programs"

CLOSE = 0.15

NETWORK = (
    "context.device_target=Ascend",
    "parallel.parallel_mode=HYBRID_PARALLEL",
    "runner_config.batch_size=2",
    "model.model_config.seq_length=512",
    "model.model_config.hidden_size=256",
    "model.model_config.num_layers=4",
    "model.model_config.n_kv_heads=4",
    "model.model_config.intermediate_size=704",
    "model.model_config.vocab_size=2048",
)
"""Wide and long enough that activations are most of the memory."""

TENSOR = ("parallel_config.model_parallel=2", "parallel_config.vocab_emb_dp=False")
SHARED = (
    "parallel.enable_parallel_optimizer=True",
    "parallel.parallel_optimizer_config.parallel_optimizer_threshold=0",
    "parallel.parallel_optimizer_config.gradient_accumulation_shard=True",
    "runner_config.gradient_accumulation_steps=2",
)
PIPELINE = ("parallel_config.pipeline_stage=2", "parallel_config.micro_batch_num=4")
FULL = ("recompute_config.recompute=True",)


@dataclass(frozen=True)
class Case:
    """A rank of a job, and what differs in it from `NETWORK`."""

    name: str
    settings: tuple[str, ...] = ()
    size: int = 1
    rank: int = 0


CASES = [
    Case("plain"),
    Case("long rows", ("model.model_config.seq_length=1024",)),
    Case("recomputed blocks", FULL),
    Case("recomputed parts", ("recompute_config.select_recompute=True", "recompute_config.select_comm_recompute=True")),
    Case("tied, few key heads", ("model.model_config.n_kv_heads=2", "model.model_config.tie_word_embeddings=True")),
    Case("experts", ("moe_config.expert_num=4", "moe_config.num_experts_chosen=2", "moe_config.capacity_factor=1.25")),
    Case("divided matrices", TENSOR, 2),
    Case("divided tokens", (*TENSOR, "parallel_config.use_seq_parallel=True"), 2),
    Case("divided batch", ("parallel_config.data_parallel=2",), 2),
    Case("shared gradients and state", ("parallel_config.data_parallel=2", *SHARED), 2),
    Case("divided rows", ("parallel_config.context_parallel=2",), 2),
    Case("first stage", PIPELINE, 2, 0),
    Case("last stage", PIPELINE, 2, 1),
    Case("first stage, recomputed blocks", (*PIPELINE, *FULL), 2, 0),
]


def ranks() -> Iterator[tuple[tuple[int, int], list[Case]]]:
    """The cases of each rank, which share a simulated process."""
    by_rank = sorted(CASES, key=lambda case: (case.size, case.rank))
    for key, cases in groupby(by_rank, key=lambda case: (case.size, case.rank)):
        yield key, list(cases)


@pytest.mark.slow
@pytest.mark.multiproc
@pytest.mark.parametrize(("place", "cases"), list(ranks()), ids=str)
def test_peaks_are_near_those_that_mindspore_plans(ascend_run: Path, place: tuple[int, int], cases: list[Case]):
    size, number = place
    overrides = [[f"use_parallel={size > 1}", *NETWORK, *case.settings] for case in cases]
    arguments = {"path": str(ascend_run), "settings": overrides, "rank": number, "size": size}
    rank = SimulatedRank(rank=number, size=size, executes=True)
    planned = simulate("planned_memory:peaks", arguments, rank, search_path=[PROGRAMS], timeout_s=1200.0)
    errors = {}
    for case, settings, peak in zip(cases, overrides, planned, strict=True):
        layout = layout_of(decode(load(str(ascend_run), settings)), size)
        found = estimate(layout, device_card("910B"), "float32").memory[layout.weights.stage(number)]
        errors[case.name] = (found.peak - found.optimizer) / peak - 1
    assert all(abs(error) < CLOSE for error in errors.values()), errors
