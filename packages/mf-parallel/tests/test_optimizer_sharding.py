"""Optimizer state among data-parallel ranks: what is divided, and among whom."""

import pytest

from mf_config.layout import Mesh, Shard
from mf_config.problems import UserError
from mf_parallel.optimizer_sharding import shard_optimizer
from mf_parallel.plan import make_plan
from mf_parallel.rules import Role, Rule, RuleTable

RULES = RuleTable(
    (
        Rule("columns", Shard(0, "tp"), Role.COLUMN),
        Rule("rows", Shard(1, "tp"), Role.ROW),
        Rule("norm"),
        Rule("odd"),
    )
)
SHAPES = {"columns": (16, 8), "rows": (8, 16), "norm": (8,), "odd": (9, 16)}
PLAN = make_plan(Mesh.of(dp=4, tp=2), SHAPES, RULES)


def local_shapes(ranks: int, threshold: int) -> dict[str, tuple[int, ...]]:
    plan = shard_optimizer(PLAN, ranks, threshold)
    return {name: parameter.layout.local_shape(plan.mesh, 0) for name, parameter in plan.parameters.items()}


def test_the_first_dim_is_divided_where_it_comes_out_even():
    assert local_shapes(-1, 0) == {"columns": (2, 8), "rows": (2, 8), "norm": (2,), "odd": (9, 16)}


def test_small_tensors_stay_whole():
    # The pieces of columns and rows have 8 * 8 * 4 = 256 bytes.
    assert local_shapes(-1, 256) == {"columns": (2, 8), "rows": (2, 8), "norm": (8,), "odd": (9, 16)}
    assert local_shapes(-1, 257)["columns"] == (8, 8)


def test_a_copy_is_shared_by_neighbouring_replicas():
    plan = shard_optimizer(PLAN, 2, 0)
    assert plan.mesh.group(0, ["zero"]) == (0, 2)
    assert plan.mesh.group(5, ["zero"]) == (5, 7)
    assert plan.mesh.group(0, ["dp"]) == (0, 4)
    assert local_shapes(2, 0)["columns"] == (4, 8)
    # Rank 2 is the second replica of the first half of the columns: rows 4 to 7 of 16.
    (box,) = plan.parameters["columns"].layout.boxes(plan.mesh, 2)
    assert box.start == (4, 0)


def test_the_weights_of_one_rank_are_whole_state():
    assert local_shapes(1, 0)["columns"] == (8, 8)


def test_numbers_that_do_not_divide_the_replicas_are_refused():
    with pytest.raises(UserError, match=r"optimizer_weight_shard_size: 3 ranks .* dp is 4\. Allowed: 1, 2, 4, or -1"):
        shard_optimizer(PLAN, 3, 0)
