"""Plans of a small llama: layouts, table, JSON, and what cannot be divided."""

import json

import pytest

from mf_config.layout import Fused, Mesh, Replicate, Shard, TensorLayout
from mf_config.problems import UserError
from mf_parallel.plan import make_plan
from mf_parallel.rules import Role, Rule, RuleTable
from mf_parallel.stages import StageSplit

HEAD = 12
RULES = RuleTable(
    (
        Rule("embed.weight", Shard(0, "tp"), Role.VOCABULARY),
        Rule("layers.{layer}.wq.weight", Shard(0, "tp", unit=HEAD), Role.COLUMN),
        Rule("layers.{layer}.wk.weight", Shard(0, "tp", unit=HEAD), Role.COLUMN),
        Rule("layers.{layer}.wo.weight", Shard(1, "tp", unit=HEAD), Role.ROW),
        Rule("layers.{layer}.norm.weight", Replicate(), Role.REPLICATED),
    )
)
SHAPES: dict[str, tuple[int, ...]] = {"embed.weight": (160, 48)}
for number in range(2):
    SHAPES |= {
        f"layers.{number}.wq.weight": (48, 48),
        f"layers.{number}.wk.weight": (24, 48),
        f"layers.{number}.wo.weight": (48, 48),
        f"layers.{number}.norm.weight": (48,),
    }


def test_local_shapes_on_two_ranks():
    plan = make_plan(Mesh.of(dp=2, tp=2), SHAPES, RULES)
    local = {name: parameter.layout.local_shape(plan.mesh, 3) for name, parameter in plan.parameters.items()}
    assert local["embed.weight"] == (80, 48)
    assert local["layers.1.wq.weight"] == (24, 48)
    assert local["layers.1.wk.weight"] == (12, 48)
    assert local["layers.1.wo.weight"] == (48, 24)
    assert local["layers.1.norm.weight"] == (48,)
    assert plan.parameters["layers.1.wo.weight"].role is Role.ROW
    assert list(plan.parameters) == list(SHAPES)


@pytest.mark.parametrize(
    ("name", "dim", "parts"),
    [
        ("layers.0.wq.weight", 0, [(0, 24), (24, 48)]),
        ("layers.0.wk.weight", 0, [(0, 12), (12, 24)]),
        ("layers.0.wo.weight", 1, [(0, 24), (24, 48)]),
    ],
)
def test_two_ranks_have_the_rows_and_columns_of_their_heads(name: str, dim: int, parts: list[tuple[int, int]]):
    plan = make_plan(Mesh.of(tp=2), SHAPES, RULES)
    for rank, (start, stop) in enumerate(parts):
        (box,) = plan.parameters[name].layout.boxes(plan.mesh, rank)
        assert box.whole[dim] == slice(start, stop)
        assert box.whole[1 - dim] == slice(0, 48)


def test_the_table_has_one_line_for_all_layers():
    # KiB by hand: 80*48*4/1024 = 15.0; two layers of 24*48*4 = 9.0, 12*48*4 = 4.5, 48*24*4 = 9.0, 48*4 = 0.375.
    assert make_plan(Mesh.of(dp=2, tp=2), SHAPES, RULES).table().splitlines() == [
        "mesh: dp 2, tp 2 (4 ranks)",
        "parameter                  shape      placement      role        local shape  KiB per rank",
        "embed.weight               [160, 48]  dim 0 over tp  vocabulary  [80, 48]             15.0",
        "layers.{0..1}.wq.weight    [48, 48]   dim 0 over tp  column      [24, 48]              9.0",
        "layers.{0..1}.wk.weight    [24, 48]   dim 0 over tp  column      [12, 48]              4.5",
        "layers.{0..1}.wo.weight    [48, 48]   dim 1 over tp  row         [48, 24]              9.0",
        "layers.{0..1}.norm.weight  [48]       replicated     replicated  [48]                  0.4",
        "total                                                                                 37.9",
    ]


def test_on_one_process_nothing_is_divided():
    table = make_plan(Mesh.of(), SHAPES, RULES).table(bytes_per_element=2)
    assert "over tp" not in table
    # (160*48 + 2*(48*48 + 24*48 + 48*48 + 48)) * 2 bytes
    assert table.splitlines()[-1].split() == ["total", "37.7"]


def test_json_gives_every_layout_back():
    plan = make_plan(Mesh.of(dp=2, tp=2), SHAPES, RULES)
    data = json.loads(json.dumps(plan.to_json()))
    assert data["format"] == 1
    assert Mesh.from_json(data["mesh"]) == plan.mesh
    layouts = {name: TensorLayout.from_json(layout) for name, layout in data["tensors"].items()}
    assert layouts == {name: parameter.layout for name, parameter in plan.parameters.items()}


def test_json_may_use_the_names_of_a_checkpoint():
    plan = make_plan(Mesh.of(), SHAPES, RULES)
    stored = plan.to_json(lambda name: f"model.{name}")["tensors"]
    assert list(stored) == [f"model.{name}" for name in SHAPES]


def test_all_uneven_divisions_are_reported_at_once():
    with pytest.raises(UserError) as caught:
        make_plan(Mesh.of(tp=3), SHAPES, RULES)
    assert str(caught.value).splitlines() == [
        "layers.{0..1}.wq.weight: 3 tp ranks cannot share dim 0 equally: 4 units (heads) of 12 elements. "
        "Allowed: tp 1, 2, 4.",
        "layers.{0..1}.wk.weight: 3 tp ranks cannot share dim 0 equally: 2 units (heads) of 12 elements. "
        "Allowed: tp 1, 2.",
        "layers.{0..1}.wo.weight: 3 tp ranks cannot share dim 1 equally: 4 units (heads) of 12 elements. "
        "Allowed: tp 1, 2, 4.",
    ]


def test_more_ranks_than_key_value_heads_are_refused():
    with pytest.raises(UserError, match=r"^layers.\{0..1\}.wk.weight: 4 tp ranks .*: 2 units \(heads\) of 12[^\n]*$"):
        make_plan(Mesh.of(tp=4), SHAPES, RULES)


def test_every_joined_part_must_divide():
    rules = RuleTable((Rule("wqkv", Fused(0, "tp", (48, 24, 24), unit=HEAD), Role.COLUMN),))
    assert make_plan(Mesh.of(tp=2), {"wqkv": (96, 5)}, rules).bytes_per_rank("wqkv") == 48 * 5 * 4
    with pytest.raises(UserError, match=r"4 \+ 2 \+ 2 units \(heads\) of 12 elements. Allowed: tp 1, 2\."):
        make_plan(Mesh.of(tp=4), {"wqkv": (96, 5)}, rules)


def test_a_second_axis_divides_what_the_first_left():
    rules = RuleTable((Rule("w", (Shard(0, "tp"), Shard(0, "dp")), Role.COLUMN),))
    plan = make_plan(Mesh.of(dp=3, tp=2), {"w": (12,)}, rules)
    assert plan.parameters["w"].layout.local_shape(plan.mesh, 5) == (2,)
    with pytest.raises(
        UserError, match=r"^w: 3 dp ranks cannot share dim 0 equally: 4 elements\. Allowed: dp 1, 2, 4\.$"
    ):
        make_plan(Mesh.of(dp=3, tp=2), {"w": (8,)}, rules)


def test_a_vocabulary_is_padded_where_the_ranks_cannot_share_it():
    rules = RuleTable((Rule("embed.weight", Shard(0, "tp"), Role.VOCABULARY),))
    plan = make_plan(Mesh.of(tp=4), {"embed.weight": (10, 3)}, rules)
    layout = plan.parameters["embed.weight"].layout
    assert layout.local_shape(plan.mesh, 3) == (3, 3)
    assert [box.whole[0] for box in layout.boxes(plan.mesh, 3)] == [slice(9, 10)]


def test_a_vocabulary_may_be_whole_on_every_rank():
    plan = make_plan(Mesh.of(tp=2), SHAPES, RULES, whole_vocabulary=True)
    assert plan.parameters["embed.weight"].layout.local_shape(plan.mesh, 1) == (160, 48)


def test_pipeline_stages_hold_their_blocks():
    plan = make_plan(Mesh.of(pp=2, tp=2), SHAPES, RULES, split=StageSplit.of(2, 2))
    assert plan.tied == "embed.weight"
    assert plan.held(1) == [name for name in SHAPES if "layers.1" not in name]
    assert plan.held(2) == [name for name in SHAPES if "layers.0" not in name]
    heads, *rows, total = plan.table().splitlines()[1:]
    assert heads.split()[4] == "stage"
    assert [row.split()[-4] for row in rows if "wq" in row] == ["0", "1"]
    # By hand, of one stage: 15 + 4.5 + 2.25 + 4.5 + 0.1875.
    assert total.split() == ["total", "26.4"]


def test_the_number_of_stages_must_be_that_of_the_mesh():
    with pytest.raises(UserError, match=r"mesh \(pp 2\).*divided among 1 stages\. Allowed: pp 1"):
        make_plan(Mesh.of(pp=2), SHAPES, RULES)


def test_gradients_are_added_up_where_ranks_see_different_tokens_or_heads():
    rules = RuleTable((*RULES.rules, Rule("layers.{layer}.q_norm", role=Role.PER_HEAD)))
    shapes = {**SHAPES, "layers.0.q_norm": (4,)}
    mesh = Mesh.of(dp=2, tp=2)
    plan = make_plan(mesh, shapes, rules)
    assert plan.adders(plan.parameters["layers.0.norm.weight"], 1) == (1, 3)
    assert plan.adders(plan.parameters["layers.0.q_norm"], 1) == (0, 1, 2, 3)
    divided = make_plan(mesh, shapes, rules, divided_tokens=True)
    assert divided.adders(divided.parameters["layers.0.norm.weight"], 1) == (0, 1, 2, 3)
    assert divided.adders(divided.parameters["layers.0.wo.weight"], 1) == (1, 3)


def test_a_tied_embedding_is_added_up_over_the_stages_that_use_it():
    plan = make_plan(Mesh.of(pp=3, dp=2), {**SHAPES, "layers.2.norm.weight": (48,)}, RULES, split=StageSplit.of(3, 3))
    assert plan.adders(plan.parameters["embed.weight"], 1) == (0, 1, 4, 5)
    assert plan.adders(plan.parameters["layers.1.norm.weight"], 2) == (2, 3)
    assert plan.copies(plan.parameters["embed.weight"]) == 2
    assert plan.copies(plan.parameters["layers.1.norm.weight"]) == 1
