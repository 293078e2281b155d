"""The layout document."""

import json
from pathlib import Path

import pytest

from mf_ckpt import Layout
from mf_ckpt.placement.layout import read_layout
from mf_config.layout import Fused, Mesh, Shard, TensorLayout
from mf_config.problems import UserError

LAYOUT = Layout(
    Mesh.of(pp=2, dp=2, tp=2),
    {
        "embed": TensorLayout((5, 4), (Shard(0, "tp"),), (6, 4)),
        "layers.0.qkv": TensorLayout((8, 4), (Fused(0, "tp", (4, 2, 2)),)),
        "layers.1.norm": TensorLayout((4,)),
    },
    {"adam_m.embed": TensorLayout((5, 4), (Shard(0, "tp"), Shard(0, "dp")), (6, 4))},
    {"embed": 0, "adam_m.embed": 0, "layers.0.qkv": 0, "layers.1.norm": 1},
    {"head": "embed"},
)


def test_a_document_says_all_of_a_layout():
    assert Layout.from_json(json.loads(json.dumps(LAYOUT.to_json()))) == LAYOUT


def test_empty_parts_are_left_out():
    data = Layout.whole({"a": (2,)}).to_json()
    assert list(data) == ["format", "mesh", "tensors"]
    assert Layout.from_json(data).tensors == {"a": TensorLayout((2,))}


def test_each_piece_is_stored_once_on_its_stage():
    """Ranks run over pp, then dp, then tp."""
    assert LAYOUT.storing_ranks("embed") == (0, 1)
    assert LAYOUT.storing_ranks("adam_m.embed") == (0, 1, 2, 3)
    assert LAYOUT.storing_ranks("layers.1.norm") == (4,)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"mesch": {}}, "unknown entry 'mesch'. Allowed: .* Did you mean mesh"),
        ({"format": 2}, "format is 2. Allowed: 1"),
        ({"mesh": {"axes": ["tp"], "degrees": [2]}}, "dim 0 over dp. Allowed axes: tp"),
        ({"mesh": {"axes": ["pp", "dp", "tp"], "degrees": [2, 1000, 1000]}}, "Allowed: at most 1000000"),
        ({"tensors": []}, "tensors must be an object"),
        ({"tensors": {"a": {"shape": [2], "placements": [{"kind": "cut"}]}}}, "tensor 'a': placement: kind 'cut'"),
        ({"stages": {"embed": 2}}, "on stage 2. Allowed: stages 0 to 1"),
        ({"stages": {"embed": "0"}}, "stages must map names to whole numbers"),
        ({"ties": {"head": "embedding"}}, "tied to 'embedding'"),
        ({"ties": {"head": 1}}, "ties must map names to names"),
    ],
)
def test_a_damaged_document_is_refused(change: dict[str, object], fault: str):
    with pytest.raises(UserError, match=fault):
        Layout.from_json({**LAYOUT.to_json(), **change})


def test_a_message_names_the_file(tmp_path: Path):
    (tmp_path / "layout.json").write_text("{}")
    with pytest.raises(UserError, match=r"layout\.json: format is None"):
        read_layout(tmp_path)
    (tmp_path / "layout.json").unlink()
    assert read_layout(tmp_path) is None
