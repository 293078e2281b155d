"""Divided training steps as MindSpore compiles them for Ascend: the collectives are those of the layout."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mf_parallel.simulation import SimulatedRank, simulate

NETWORK = ("model.model_config.num_layers=2", "model.model_config.num_heads=4", "model.model_config.n_kv_heads=2")

DIVIDED_VOCABULARY = ("parallel_config.model_parallel=2", "parallel_config.vocab_emb_dp=False")
"""Sums: behind attention and feed-forward of two blocks 4, and 4 of their gradients; behind the embedding, of the
head's gradient, in the loss, in the norm. Gathered are the largest logits."""

DIVIDED_TOKENS = (
    "parallel_config.data_parallel=2",
    "parallel_config.model_parallel=2",
    "parallel_config.use_seq_parallel=True",
    "parallel.enable_parallel_optimizer=True",
    "parallel.parallel_optimizer_config.parallel_optimizer_threshold=0",
)
"""Tokens are gathered before attention and feed-forward of two blocks 4, before the head, and as many times in the
backward pass; then the updated weights. Sums: gradients of matrices, those of norms, and the norm."""


@pytest.mark.multiproc
@pytest.mark.skipif(shutil.which("cc") is None, reason="the stand-in for CANN needs a C compiler")
@pytest.mark.parametrize(
    ("settings", "size", "wanted"),
    [
        (DIVIDED_VOCABULARY, 2, {"AllReduce": 12, "AllGather": 1}),
        (DIVIDED_TOKENS, 4, {"AllReduce": 3, "AllGather": 11, "ReduceScatter": 8}),
    ],
)
def test_a_step_has_the_collectives_of_its_layout(
    write_run: Callable[[Path], Path], tmp_path: Path, settings: tuple[str, ...], size: int, wanted: dict[str, int]
):
    arguments = {"run_file": str(write_run(tmp_path)), "settings": [*NETWORK, *settings], "size": size}
    programs = [Path(__file__).parent / "programs"]
    found = simulate(
        "compiled_step:operators_of", arguments, SimulatedRank(rank=1, size=size), search_path=programs, timeout_s=300
    )
    collectives = ("AllReduce", "AllGather", "ReduceScatter", "AlltoAll")
    assert {name: found[name] for name in collectives if name in found} == wanted
