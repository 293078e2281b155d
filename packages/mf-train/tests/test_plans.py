"""What a run configuration divides, without a device."""

from pathlib import Path

import pytest

from mf_config import RunConfig, UserError, decode, load
from mf_config.layout import Mesh
from mf_parallel.row_places import RowDivision
from mf_train.layout.plans import Plans, micro_batches, plans_of

HEADS = ("model.model_config.num_heads=4", "model.model_config.n_kv_heads=2", "model.model_config.num_layers=2")


def config_of(run_file: Path, *overrides: str) -> RunConfig:
    return decode(load(str(run_file), ["use_parallel=True", *HEADS, *overrides]))


def shapes() -> dict[str, tuple[int, ...]]:
    """The parameters of the network by hand: width 16, heads of 4, inner width 24, 320 entries."""
    found: dict[str, tuple[int, ...]] = {"model.tok_embeddings.embedding_weight": (320, 16)}
    for layer in range(2):
        sizes = {"wq": (16, 16), "wk": (8, 16), "wv": (8, 16), "wo": (16, 16)}
        found |= {f"model.layers.{layer}.attention.{name}.weight": size for name, size in sizes.items()}
        sizes = {"w1": (24, 16), "w2": (16, 24), "w3": (24, 16)}
        found |= {f"model.layers.{layer}.feed_forward.{name}.weight": size for name, size in sizes.items()}
        found |= {f"model.layers.{layer}.{name}.weight": (16,) for name in ("attention_norm", "ffn_norm")}
    return found | {"model.norm_out.weight": (16,), "lm_head.weight": (320, 16)}


def plans(run_file: Path, mesh: Mesh, *overrides: str) -> Plans:
    return plans_of(config_of(run_file, *overrides), mesh, shapes())


def local_shape(found: Plans, name: str, of_optimizer: bool = False) -> tuple[int, ...]:
    plan = found.optimizer if of_optimizer else found.weights
    return plan.parameters[name].layout.local_shape(plan.mesh, 0)


def test_the_vocabulary_is_divided_if_the_file_says_so_and_in_every_pipeline(run_file: Path):
    assert local_shape(plans(run_file, Mesh.of(tp=2)), "lm_head.weight") == (320, 16)
    divided = plans(run_file, Mesh.of(tp=2), "parallel_config.vocab_emb_dp=False")
    assert local_shape(divided, "lm_head.weight") == (160, 16)
    assert local_shape(plans(run_file, Mesh.of(tp=2, pp=2)), "lm_head.weight") == (160, 16)


def test_tokens_are_divided_among_ranks_that_divide_weights(run_file: Path):
    sequence = "parallel_config.use_seq_parallel=True"
    assert plans(run_file, Mesh.of(tp=2), sequence).weights.divided_tokens
    assert not plans(run_file, Mesh.of(dp=2), sequence).weights.divided_tokens
    assert not plans(run_file, Mesh.of(tp=2, cp=2), sequence).weights.divided_tokens


def test_blocks_are_moved_by_offset(run_file: Path):
    found = plans(run_file, Mesh.of(pp=2), "model.model_config.num_layers=2", "model.model_config.offset=[0,0]")
    assert found.weights.parameters["model.layers.1.ffn_norm.weight"].stages == (1,)
    with pytest.raises(UserError, match=r"offset: \(1, 0\) for 2 blocks .*Allowed: numbers that sum to 0"):
        plans(run_file, Mesh.of(pp=2), "model.model_config.offset=[1,0]")


def test_optimizer_state_is_divided_from_the_threshold_on(run_file: Path):
    name, overrides = "model.layers.0.attention.wq.weight", ["parallel.enable_parallel_optimizer=True"]
    key = "parallel.parallel_optimizer_config.parallel_optimizer_threshold"
    assert local_shape(plans(run_file, Mesh.of(dp=2), *overrides, f"{key}=1"), name, of_optimizer=True) == (8, 16)
    assert local_shape(plans(run_file, Mesh.of(dp=2), *overrides), name, of_optimizer=True) == (16, 16)
    assert local_shape(plans(run_file, Mesh.of(dp=2), f"{key}=1"), name, of_optimizer=True) == (16, 16)


@pytest.mark.parametrize(
    ("algorithm", "wanted"),
    [("colossalai_cp", RowDivision(2, 1)), ("ulysses_cp", RowDivision(1, 2)), ("hybrid_cp", RowDivision(2, 1))],
)
def test_rows_are_divided_as_the_algorithm_says(run_file: Path, algorithm: str, wanted: RowDivision):
    found = plans(run_file, Mesh.of(cp=2), f"parallel_config.context_parallel_algo={algorithm}")
    assert (found.rows, found.row_length) == (wanted, 12)


def test_parts_of_a_batch_multiply(run_file: Path):
    parts = ("runner_config.gradient_accumulation_steps=3", "micro_batch_interleave_num=2")
    assert micro_batches(config_of(run_file, *parts), Mesh.of(dp=2)) == 6
    pipeline = ("parallel_config.pipeline_stage=2", "parallel_config.micro_batch_num=4")
    assert micro_batches(config_of(run_file, *parts, *pipeline), Mesh.of(pp=2)) == 8


def test_heads_that_cannot_be_exchanged_are_refused(run_file: Path):
    with pytest.raises(
        UserError, match=r"4 ranks exchange heads.*can't share num_kv_heads 2\. Allowed: a divisor of 2"
    ):
        plans(run_file, Mesh.of(cp=4), "parallel_config.context_parallel_algo=ulysses_cp")


def test_more_ranks_than_heads_are_refused_with_both_numbers(run_file: Path):
    with pytest.raises(UserError, match=r"wk.weight: 4 tp ranks cannot share dim 0 equally: 2 units \(heads\) of 4"):
        plans(run_file, Mesh.of(tp=4))
