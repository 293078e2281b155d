"""Plans of a small llama: layouts, table, JSON, and what cannot be divided."""

import json

import pytest

from mf_config.layout import Fused, Mesh, Replicate, Shard, TensorLayout
from mf_config.problems import UserError
from mf_parallel.plan import make_plan
from mf_parallel.rules import Role, Rule, RuleTable

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
        "embed.weight: 3 tp ranks cannot share dim 0 equally: 160 elements. "
        "Allowed: tp 1, 2, 4, 5, 8, 10, 16, 20, 32, 40, 80, 160.",
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


def test_pipeline_stages_are_refused():
    with pytest.raises(UserError, match=r"mesh \(pp 2\).*Allowed: pp 1"):
        make_plan(Mesh.of(pp=2), SHAPES, RULES)
