"""What MindSpore reports of divided parameters beside the plan, and which optimizer state it may divide."""

from mf_config.layout import Mesh, Shard
from mf_parallel.automatic.held import Reported, differences, planned_bounds
from mf_parallel.automatic.sharing import compiled_sharing
from mf_parallel.optimizer_sharding import shard_optimizer
from mf_parallel.plan import make_plan
from mf_parallel.rules import Role, Rule, RuleTable
from mf_parallel.stages import StageSplit

RULES = RuleTable(
    (
        Rule("blocks.{n}.columns", Shard(0, "tp"), Role.COLUMN),
        Rule("blocks.{n}.rows", Shard(1, "tp"), Role.ROW),
        Rule("blocks.{n}.norm"),
    )
)
SHAPES = {
    f"blocks.{n}.{name}": shape
    for n in range(2)
    for name, shape in [("columns", (16, 8)), ("rows", (8, 16)), ("norm", (8,))]
}
PLAN = make_plan(Mesh.of(dp=2, tp=2), SHAPES, RULES)


def reported_as_planned() -> dict[str, Reported]:
    axes = {"columns": (0, -1), "rows": (-1, 0), "norm": (-1,)}
    return {name: Reported(shape, (2, 2), axes[name.rpartition(".")[2]]) for name, shape in SHAPES.items()}


def test_a_piece_follows_from_matrix_and_map():
    # Six ranks as (2, 3): rank 4 stands at (1, 1).
    assert Reported((12, 6), (2, 3), (1, 0)).bounds(4) == ((6, 12), (2, 4))
    assert Reported((12, 6), (2, 3), (0, -1)).bounds(4) == ((4, 8), (0, 6))
    assert Reported((12, 6), (2, 3), (-1, -1)).bounds(4) == ((0, 12), (0, 6))


def test_sharers_divide_the_rows_of_their_piece():
    # Rank 1 of (2, 2) holds the second half of the rows, and is the first of two that share it.
    assert Reported((16, 8), (2, 2), (0, -1), sharer=0, sharers=2).bounds(1) == ((8, 12), (0, 8))
    assert Reported((16, 8), (2, 2), (0, -1), sharer=1, sharers=2).bounds(3) == ((12, 16), (0, 8))


def test_a_plan_has_bounds_too():
    assert planned_bounds(PLAN, "blocks.0.columns", 3) == ((8, 16), (0, 8))
    assert planned_bounds(PLAN, "blocks.0.rows", 3) == ((0, 8), (8, 16))
    assert planned_bounds(PLAN, "blocks.0.norm", 3) == ((0, 8),)


def test_no_difference_where_both_agree():
    assert [differences(PLAN, reported_as_planned(), rank) for rank in range(4)] == [[], [], [], []]


def test_differences_name_the_parameters_and_both_pieces():
    found = reported_as_planned()
    for n in range(2):
        found[f"blocks.{n}.columns"] = Reported((16, 8), (4,), (-1, -1))
    del found["blocks.1.norm"]
    assert differences(PLAN, found, 1) == [
        "blocks.{0..1}.columns: the plan gives it [8:16, 0:8], the compiler [0:16, 0:8]",
        "blocks.1.norm: the compiler gives the rank nothing of it",
    ]


def test_a_stage_has_its_own_blocks():
    plan = make_plan(Mesh.of(pp=2, tp=2), SHAPES, RULES, split=StageSplit.of(2, 2))
    axes = {"columns": (0, -1), "rows": (-1, 0), "norm": (-1,)}
    found = {f"blocks.1.{name}": Reported(SHAPES[f"blocks.1.{name}"], (2,), axes[name]) for name in axes}
    assert differences(plan, found, 3) == []
    assert differences(plan, found, 1) == [
        *(f"blocks.0.{name}: the compiler gives the rank nothing of it" for name in axes),
        *(f"blocks.1.{name}: the plan gives the rank nothing of it" for name in axes),
    ]


def test_what_is_whole_along_another_axis_is_not_shared():
    plan = compiled_sharing(shard_optimizer(PLAN, -1, 0))
    shapes = {
        name: plan.parameters[f"blocks.0.{name}"].layout.local_shape(plan.mesh, 0) for name in ("columns", "norm")
    }
    assert shapes == {"columns": (4, 8), "norm": (8,)}


def test_all_is_shared_where_ranks_read_different_rows_alone():
    plan = compiled_sharing(shard_optimizer(make_plan(Mesh.of(dp=2), SHAPES, RULES), -1, 0))
    assert plan.parameters["blocks.0.norm"].layout.local_shape(plan.mesh, 0) == (4,)
