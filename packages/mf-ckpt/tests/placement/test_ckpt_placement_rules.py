"""Rules that place tensors on any mesh, and rules in a file."""

from pathlib import Path

import numpy as np
import pytest

from mf_ckpt import ArraySource, PlacementRule, place
from mf_ckpt.placement.placement_rules import check_even, layer_of
from mf_ckpt.placement.rule_file import read_rules
from mf_config.layout import Fused, Mesh, Shard
from mf_config.problems import UserError

RULES = [
    PlacementRule("embed", (Shard(0, "tp"),), "first"),
    PlacementRule("layers.{layer}.wq", (Shard(0, "tp", 4),)),
    PlacementRule("layers.{layer}.norm"),
    PlacementRule("head", (Shard(0, "tp"),), "last"),
]


def weights(layers: int) -> ArraySource:
    shapes = {"embed": (10, 8), "head": (10, 8)}
    shapes |= {f"layers.{layer}.{name}": shape for layer in range(layers) for name, shape in WEIGHTS.items()}
    return ArraySource({name: np.zeros(shape, np.float32) for name, shape in shapes.items()})


WEIGHTS = {"wq": (16, 8), "norm": (8,)}


def test_layers_go_to_stages_in_blocks_and_the_ends_where_their_rules_say():
    layout = place(weights(5), ArraySource({}), Mesh.of(pp=2), RULES)
    assert [layout.stages[f"layers.{layer}.wq"] for layer in range(5)] == [0, 0, 0, 1, 1]
    assert (layout.stages["embed"], layout.stages["head"]) == (0, 1)
    assert place(weights(5), ArraySource({}), Mesh.of(tp=2), RULES).stages == {}


def test_state_is_placed_as_its_weight_and_divided_over_dp_on_request():
    state = {"m.layers.0.wq": np.zeros((16, 8)), "layers.0.norm.v": np.zeros(8), "factor.layers.0.wq": np.zeros(16)}
    source = ArraySource({**state, "count": np.zeros(())})
    mesh = Mesh.of(pp=2, dp=2, tp=2)
    layout = place(weights(2), source, mesh, RULES)
    assert layout.optimizer["m.layers.0.wq"] == layout.tensors["layers.0.wq"]
    # A state of another shape, such as a factor of Adafactor, is whole.
    assert layout.optimizer["factor.layers.0.wq"].divisions == ()
    assert (layout.stages["m.layers.0.wq"], "count" in layout.stages) == (0, False)
    sharded = place(weights(2), source, mesh, RULES, shard_optimizer=True)
    assert sharded.optimizer["m.layers.0.wq"].divisions == (Shard(0, "tp", 4), Shard(0, "dp"))
    assert sharded.optimizer["layers.0.norm.v"].local_shape(mesh, 0) == (4,)
    assert sharded.optimizer["count"].divisions == ()
    assert sharded.tensors == layout.tensors


def test_a_tensor_without_rule_is_named_with_the_nearest_one():
    source = ArraySource({"embed": np.zeros((2, 2)), "layers.7.wp": np.zeros(2)})
    with pytest.raises(UserError, match=r"1 tensors match no placement rule: 'layers.7.wp'.*mean layers.{layer}.wq"):
        place(source, ArraySource({}), Mesh.of(tp=2), RULES)


def test_uneven_divisions_are_refused_with_both_numbers():
    check_even(place(weights(2), ArraySource({}), Mesh.of(tp=2), RULES))
    odd_units = PlacementRule("layers.{layer}.wq", (Shard(0, "tp", 5),))
    check_even(place(weights(2), ArraySource({}), Mesh.of(dp=2), [odd_units, *RULES]))
    with pytest.raises(UserError) as caught:
        check_even(place(weights(2), ArraySource({}), Mesh.of(tp=3), RULES))
    assert str(caught.value).splitlines() == [
        "embed and 1 more: 3 ranks of tp can't share dim 0 equally: it has 10 elements. Allowed: tp 1, 2, 5, 10.",
        "layers.0.wq and 1 more: 3 ranks of tp can't share dim 0 equally: it has 4 units (heads) of 4. "
        "Allowed: tp 1, 2, 4.",
    ]


def test_the_layer_is_the_first_number_of_a_name():
    assert [layer_of(name) for name in ("model.layers.3.experts.7.w1", "lm_head.weight", "h.12.c_attn")] == [
        3,
        None,
        12,
    ]


def test_rules_are_read_from_a_file(tmp_path: Path):
    path = tmp_path / "rules.toml"
    path.write_text(
        """
        [[rule]]
        pattern = "embed"
        cut = [{ dim = 0, axis = "tp" }, { dim = 1, axis = "dp", unit = 4 }]
        stage = "first"
        pad_to = 128

        [[rule]]
        pattern = "layers.{layer}.qkv"
        cut = [{ dim = 0, axis = "tp", unit = 2, parts = [8, 4, 4] }]
        """
    )
    assert read_rules(path) == [
        PlacementRule("embed", (Shard(0, "tp"), Shard(1, "dp", 4)), "first", 128),
        PlacementRule("layers.{layer}.qkv", (Fused(0, "tp", (8, 4, 4), 2),)),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[[rule", "is not TOML"),
        ("x = 1", r"Allowed: tables \[\[rule\]\]"),
        ("rule = [1]", "rule 1: must be a table"),
        ("[[rule]]\npatern = 'a'", "rule 1: unknown key 'patern'.*Did you mean pattern"),
        ("[[rule]]\ncut = []", "needs a pattern"),
        ("[[rule]]\npattern = 'a'\nstage = 'middle'", "Allowed: stage first or last"),
        ("[[rule]]\npattern = 'a'\ncut = [{dim = 0}]", "axis, a text"),
        ("[[rule]]\npattern = 'a'\ncut = [{dim = 0, axis = 'tp', part = 1}]", "unknown key 'part'"),
        ("[[rule]]\npattern = 'a'\ncut = [{dim = 0, axis = 'tp', parts = 1}]", "list of whole numbers"),
        ("[[rule]]\npattern = 'a'\ncut = [0]", "a cut must be a table"),
        ("[[rule]]\npattern = 'a'\ncut = [{dim = -1, axis = 'tp'}]", "rule 1: placement: dim -1"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, fault: str):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=fault):
        read_rules(path)


def test_a_missing_file_is_a_mistake(tmp_path: Path):
    with pytest.raises(UserError, match="no such file"):
        read_rules(tmp_path / "rules.toml")
